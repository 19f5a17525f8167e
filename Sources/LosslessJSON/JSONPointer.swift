/// A JSON Pointer: the path to a value in a document.
///
/// - Note: Source: RFC 6901.
public struct JSONPointer: Hashable, Sendable {
    /// Reference tokens, unescaped. Empty for the whole document.
    public var tokens: [String]

    /// - Parameter tokens: Unescaped: `~` and `/` stand for themselves.
    public init(tokens: [String]) { self.tokens = tokens }

    /// - Throws: ``JSONPointerError`` if `text` is not empty and does not begin with "/", or has a "~" that is not part
    ///   of "~0" or "~1".
    public init(_ text: String) throws(JSONPointerError) {
        tokens = []
        guard !text.isEmpty else { return }
        guard text.utf8.first == UInt8(ascii: "/") else { throw .missingSlash(text) }
        for token in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            tokens.append(try Self.unescape(token, of: text))
        }
    }

    private static func unescape(_ token: Substring.UTF8View, of text: String) throws(JSONPointerError) -> String {
        var result: [UInt8] = []
        var bytes = token.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "~") else {
                result.append(byte)
                continue
            }
            switch bytes.next() {
            case UInt8(ascii: "0"): result.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): result.append(UInt8(ascii: "/"))
            default: throw .invalidEscape(text)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The pointer to a member or element of this value. The token is not escaped. An element's token is its index.
    public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    /// The pointer to the container of this value. Nil for the whole document.
    public var parent: JSONPointer? { tokens.isEmpty ? nil : JSONPointer(tokens: tokens.dropLast()) }
}

/// Tokens are compared byte by byte, like member names: canonically equivalent strings may name different members.
extension JSONPointer {
    /// Compares UTF-8 bytes, unlike `String`, which compares canonical equivalence.
    public static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.count == right.tokens.count
            && zip(left.tokens, right.tokens).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
    }

    /// Hashes the UTF-8 of the tokens, consistent with `==`.
    public func hash(into hasher: inout Hasher) {
        for token in tokens {
            for byte in token.utf8 { hasher.combine(byte) }
            hasher.combine(0xFF as UInt8)
        }
    }
}

extension JSONPointer: CustomStringConvertible {
    /// The text form of RFC 6901, with "~" and "/" escaped. Empty for the whole document.
    public var description: String {
        var result = ""
        for token in tokens {
            result += "/"
            for character in token.unicodeScalars {
                switch character {
                case "~": result += "~0"
                case "/": result += "~1"
                default: result.unicodeScalars.append(character)
                }
            }
        }
        return result
    }
}

/// Why a text is not a JSON Pointer. Both cases contain the whole text.
public enum JSONPointerError: Error, Equatable, Sendable, CustomStringConvertible {
    case missingSlash(String)
    case invalidEscape(String)

    /// Contains the pointer, which may name members of documents.
    public var description: String {
        switch self {
        case .missingSlash(let text): "'\(text)' is not a JSON Pointer: it must be empty or begin with '/'"
        case .invalidEscape(let text): "'\(text)' is not a JSON Pointer: '~' must be followed by 0 or 1"
        }
    }
}

extension JSONValue {
    /// The value at `pointer` from this one, or nil. Takes the last of duplicate members.
    public func value(at pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value.kind {
            case .object:
                guard let member = value[token] else { return nil }
                value = member
            case .array:
                guard let position = JSONPointer.arrayPosition(token), let element = value.element(position) else {
                    return nil
                }
                value = element
            default: return nil
            }
        }
        return value
    }
}

extension JSONPointer {
    /// An array index: digits without a leading zero (RFC 6901, section 4). Nil for anything else, including "-".
    static func arrayPosition(_ token: String) -> Int? {
        guard token.utf8.allSatisfy({ (0x30...0x39).contains($0) }), token == "0" || !token.hasPrefix("0") else {
            return nil
        }
        return Int(token)
    }
}
