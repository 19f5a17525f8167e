/// The characters of base64 within a JSON string, one after the other: escapes resolved, white space skipped.
struct Base64Digits {
    static let padding = UInt8(ascii: "=")
    /// Given out for a character that is not ASCII, or that no escape should spell here.
    private static let other: UInt8 = 0xFF

    private let document: [UInt8]
    private let end: Int
    /// Where the next character is spelled.
    private(set) var place: Int

    /// - Parameter content: Between the string's quotes. It must be JSON.
    init(_ document: [UInt8], _ content: Range<Int>) {
        self.document = document
        place = content.lowerBound
        end = content.upperBound
    }

    /// The next character that is no white space; nil at the end.
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
