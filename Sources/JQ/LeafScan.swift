internal import LosslessJSON

/// Finds the numbers of a JSON text, and the unpaired surrogates in its strings.
struct LeafScan {
    enum Leaf {
        case number(Range<Int>)
        /// An escape sequence, from its backslash.
        case unpairedSurrogate(Range<Int>)
    }

    private let bytes: [UInt8]
    private var at = 0
    private var isInString = false

    /// - Parameter bytes: Checked JSON.
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
            let start = at
            switch UnicodeEscape(bytes[...], at: at) {
            case .scalar(_, let end)?: at = end
            case .loneSurrogate(_, let end)?:
                at = end
                return .unpairedSurrogate(start..<end)
            case nil: at += 2
            }
        default: at += 1
        }
        return nil
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
