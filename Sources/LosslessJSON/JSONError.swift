/// The first place where a text is not JSON.
public struct JSONError: Error, Equatable, Sendable {
    /// Only ``unexpectedEnd`` can be fixed by more bytes.
    public enum Reason: Equatable, Sendable {
        /// The text ends inside a value. More bytes may make it valid, so a stream continues reading.
        case unexpectedEnd
        case unexpectedByte(UInt8, expected: Expectation)
        case invalidUTF8
        case controlCharacterInString(UInt8)
        case invalidEscape
        case tooDeep(limit: Int)
        case tooLong(limit: Int)
    }

    /// What the grammar allows at the offending byte. The raw value is the wording for messages.
    public enum Expectation: String, Equatable, Sendable {
        case value = "a value"
        case memberName = "a member name in double quotes"
        case memberNameOrEnd = "a member name in double quotes or '}'"
        case colon = "':'"
        case commaOrEndOfObject = "',' or '}'"
        case commaOrEndOfArray = "',' or ']'"
        case valueOrEndOfArray = "a value or ']'"
        case digit = "a digit"
        case literal = "true, false or null"
        case endOfText = "the end of the text"
        case completeRow = "a row with its sequence or id"
    }

    /// Contains at most one byte of the text.
    public let reason: Reason
    /// The index of the offending byte in the scanned text, or the text's length if it ended too early.
    public let offset: Int

    /// - Parameter offset: Index of the offending byte in the scanned text.
    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// Line and column of the error in `text`, both from 1. Lines end at line feeds, columns count Unicode scalars.
    /// Takes time proportional to ``offset``.
    public func position(in text: Span<UInt8>) -> (line: Int, column: Int) {
        var line = 1
        var column = 1
        for index in 0..<min(offset, text.count) {
            let byte = text[index]
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return (line, column)
    }
}

extension JSONError: CustomStringConvertible {
    /// What is wrong, with at most one byte of the text, so that it is safe to log.
    public var description: String {
        switch reason {
        case .unexpectedEnd: "the text ends inside a value"
        case .unexpectedByte(let byte, let expected): "expected \(expected.rawValue), found \(Self.name(of: byte))"
        case .invalidUTF8: "invalid UTF-8"
        case .controlCharacterInString(let byte): "unescaped control character \(Self.name(of: byte)) in a string"
        case .invalidEscape: "invalid escape sequence in a string"
        case .tooDeep(let limit): "nested deeper than \(limit) levels"
        case .tooLong(let limit): "longer than \(limit) bytes"
        }
    }

    private static func name(of byte: UInt8) -> String {
        if (0x21..<0x7F).contains(byte) { return "'\(Character(Unicode.Scalar(byte)))'" }
        let hex = String(byte, radix: 16, uppercase: true)
        return "byte 0x" + (hex.count == 1 ? "0" : "") + hex
    }
}
