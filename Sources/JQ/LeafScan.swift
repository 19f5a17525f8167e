/// Finds the numbers of a JSON text, and the halves of surrogate pairs in its strings.
struct LeafScan {
    enum Leaf {
        case number(Range<Int>)
        /// An escape sequence, from its backslash.
        case halfOfPair(Range<Int>)
    }

    private let bytes: [UInt8]
    private var at = 0
    private var isInString = false

    /// `bytes` must be checked JSON.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> Leaf? {
        while at < bytes.count {
            if isInString {
                if let half = nextInString() { return half }
                continue
            }
            switch bytes[at] {
            case UInt8(ascii: "\""):
                isInString = true
                at += 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let start = at
                while at < bytes.count, Self.isPartOfNumber(bytes[at]) { at += 1 }
                return .number(start..<at)
            default: at += 1
            }
        }
        return nil
    }

    private mutating func nextInString() -> Leaf? {
        switch bytes[at] {
        case UInt8(ascii: "\""):
            isInString = false
            at += 1
        case UInt8(ascii: "\\"):
            guard let unit = codeUnit(at: at) else {
                at += 2
                return nil
            }
            let start = at
            at += 6
            guard 0xD800...0xDFFF ~= unit else { return nil }
            if unit < 0xDC00, let low = codeUnit(at: at), 0xDC00...0xDFFF ~= low {
                at += 6
                return nil
            }
            return .halfOfPair(start..<start + 6)
        default: at += 1
        }
        return nil
    }

    /// The code unit of `\uXXXX`; nil if something else stands at `index`.
    private func codeUnit(at index: Int) -> UInt16? {
        guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u")
        else { return nil }
        return UInt16(String(decoding: bytes[index + 2..<index + 6], as: UTF8.self), radix: 16)
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
