extension JSONValue {
    /// The characters of a string, escapes resolved; nil if the value is not a string.
    ///
    /// A lone surrogate escape becomes U+FFFD: for display and comparison only. What goes back to a gateway is made of
    /// ``bytes``.
    public var string: String? {
        utf8.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The UTF-8 of a string, escapes resolved; nil if the value is not a string.
    public var utf8: [UInt8]? {
        guard kind == .string else { return nil }
        return isEscaped ? unescaped(keepingHalves: false) : Array(rawContent)
    }

    /// A string with at least one escape: ``rawContent`` is not its characters.
    public var isEscaped: Bool { node.traits.contains(.escaped) }

    /// A string without escapes and without bytes outside ASCII.
    public var isPlainASCII: Bool { kind == .string && node.traits.isEmpty }

    /// What stands between a string's quotes, escapes not resolved.
    public var rawContent: ArraySlice<UInt8> {
        let range = range
        return text.bytes[range.lowerBound + 1..<range.upperBound - 1]
    }

    /// Whether this is a string of exactly these characters, given as UTF-8. A string with a lone surrogate is none.
    public func isString(_ characters: some Collection<UInt8>) -> Bool {
        guard kind == .string else { return false }
        return self.characters.elementsEqual(characters)
    }

    /// Whether this is a string of exactly this text.
    public func isString(_ text: String) -> Bool {
        guard kind == .string else { return false }
        var text = text
        return text.withUTF8 { characters.elementsEqual($0) }
    }

    /// What strings are compared by: two have the same bytes here exactly if they have the same code units.
    ///
    /// UTF-8 with escapes resolved, but a lone surrogate is the three bytes of its code point (WTF-8), which no UTF-8 text
    /// has. Copied only if there are escapes to resolve. Empty for what is not a string.
    package var characters: ArraySlice<UInt8> {
        guard kind == .string else { return [] }
        return isEscaped ? unescaped(keepingHalves: true)[...] : rawContent
    }

    /// Whether this is a string that text can hold: one without lone surrogates.
    package var isText: Bool {
        guard kind == .string else { return false }
        guard isEscaped else { return true }
        let bytes = characters
        // In UTF-8 no byte from A0 on follows ED.
        return !zip(bytes, bytes.dropFirst()).contains { $0 == 0xED && $1 >= 0xA0 }
    }

    /// - Parameter keepingHalves: Whether a lone surrogate stays what it is (WTF-8), or becomes U+FFFD.
    private func unescaped(keepingHalves: Bool) -> [UInt8] {
        var result: [UInt8] = []
        let content = rawContent
        result.reserveCapacity(content.count)
        var at = content.startIndex
        while at < content.endIndex {
            guard content[at] == UInt8(ascii: "\\") else {
                result.append(content[at])
                at += 1
                continue
            }
            switch content[at + 1] {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                switch UnicodeEscape(content, at: at) {
                case .scalar(let scalar, let end)?:
                    result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                    at = end
                case .loneSurrogate(let unit, let end)? where keepingHalves:
                    result += [0xED, UInt8(0x80 | unit >> 6 & 0x3F), UInt8(0x80 | unit & 0x3F)]
                    at = end
                case .loneSurrogate(_, let end)?:
                    result.append(contentsOf: UTF8.encodedReplacementCharacter)
                    at = end
                case nil: at += 2
                }
                continue
            case let byte: result.append(byte)
            }
            at += 2
        }
        return result
    }
}
