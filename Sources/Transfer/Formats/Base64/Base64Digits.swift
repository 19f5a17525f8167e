/// The base64 characters of a JSON string one by one, with escapes resolved and white space skipped.
struct Base64Digits {
    static let padding = UInt8(ascii: "=")
    /// Stands for a non-ASCII character, or an escape that can't be base64.
    private static let other: UInt8 = 0xFF

    private let document: [UInt8]
    private let end: Int
    /// The offset of the next character in the document.
    private(set) var place: Int

    /// - Parameter content: The range between the string's quotes; must be checked JSON.
    init(_ document: [UInt8], _ content: Range<Int>) {
        self.document = document
        place = content.lowerBound
        end = content.upperBound
    }

    /// The next character that is not white space; nil at the end.
    mutating func next() -> UInt8? {
        while place < end {
            let byte = document[place]
            let character = byte == UInt8(ascii: "\\") ? escaped() : byte
            if byte != UInt8(ascii: "\\") { place += 1 }
            if character == 0x20 || character == 0x09 || character == 0x0A || character == 0x0D { continue }
            return character
        }
        return nil
    }

    private mutating func escaped() -> UInt8 {
        let kind = document[place + 1]
        guard kind == UInt8(ascii: "u") else {
            place += 2
            return switch kind {
            case UInt8(ascii: "/"): UInt8(ascii: "/")
            case UInt8(ascii: "n"): 0x0A
            case UInt8(ascii: "r"): 0x0D
            case UInt8(ascii: "t"): 0x09
            default: Self.other
            }
        }
        let digits = String(decoding: document[place + 2..<place + 6], as: UTF8.self)
        place += 6
        return UInt16(digits, radix: 16).flatMap { $0 < 0x80 ? UInt8($0) : nil } ?? Self.other
    }
}
