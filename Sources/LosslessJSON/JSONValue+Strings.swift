internal import Glibc

extension JSONValue {
    /// The characters of a string, with escapes resolved. Nil if the value is not a string.
    ///
    /// A lone surrogate becomes U+FFFD, so use it only for display and comparison. Values sent back to a gateway use
    /// ``bytes``.
    public var string: String? {
        kind == .string ? String(decoding: shownCharacters, as: UTF8.self) : nil
    }

    /// The UTF-8 of ``string``. Nil if the value is not a string.
    public var utf8: [UInt8]? {
        guard kind == .string else { return nil }
        return isEscaped ? unescaped(keepingHalves: false) : Array(rawContent)
    }

    /// Whether this is a string with at least one escape, so that ``rawContent`` differs from its characters.
    public var isEscaped: Bool { node.traits.contains(.escaped) }

    /// Whether this is a string without escapes and without bytes outside ASCII.
    public var isPlainASCII: Bool { kind == .string && node.traits.isEmpty }

    /// The bytes between a string's quotes, with escapes unresolved. The value must be a string.
    public var rawContent: ArraySlice<UInt8> {
        let range = range
        return text.bytes[range.lowerBound + 1..<range.upperBound - 1]
    }

    /// Whether this is a string with exactly this text. Never true for a string with a lone surrogate.
    public func isString(_ text: String) -> Bool {
        var text = text
        return text.withUTF8(isString)
    }

    /// Whether this is a string with exactly these characters in UTF-8. Never true for a string with a lone surrogate.
    public func isString(_ characters: UnsafeBufferPointer<UInt8>) -> Bool {
        let node = node
        guard node.kind == .string else { return false }
        guard !node.traits.contains(.escaped) else { return self.characters.elementsEqual(characters) }
        let count = Int(node.end - node.start) - 2
        guard count == characters.count else { return false }
        guard let characters = characters.baseAddress, count > 0 else { return true }
        return text.bytes.withUnsafeBufferPointer { bytes in
            bytes.baseAddress.map { memcmp($0 + Int(node.start) + 1, characters, count) == 0 } ?? false
        }
    }

    /// The form in which strings are compared: the bytes are equal if and only if the strings have equal UTF-16 code
    /// units.
    ///
    /// UTF-8 with escapes resolved. A lone surrogate is the three bytes of its code point (WTF-8), which never occur in
    /// UTF-8. Copied only if there are escapes. Empty if the value is not a string.
    package var characters: ArraySlice<UInt8> {
        guard kind == .string else { return [] }
        return isEscaped ? unescaped(keepingHalves: true)[...] : rawContent
    }

    /// The UTF-8 of ``string``, copied only if there are escapes. Empty if the value is not a string.
    package var shownCharacters: ArraySlice<UInt8> {
        guard kind == .string else { return [] }
        return isEscaped ? unescaped(keepingHalves: false)[...] : rawContent
    }

    /// Whether this is a string without lone surrogates, which a Swift `String` can represent.
    package var isText: Bool {
        guard kind == .string else { return false }
        guard isEscaped else { return true }
        let bytes = characters
        // In UTF-8, ED is never followed by A0 or higher.
        return !zip(bytes, bytes.dropFirst()).contains { $0 == 0xED && $1 >= 0xA0 }
    }

    /// - Parameter keepingHalves: Whether a lone surrogate is kept (as WTF-8) or becomes U+FFFD.
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
