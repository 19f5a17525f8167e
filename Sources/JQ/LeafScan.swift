internal import CJQ
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
        while true {
            at = bytes.withUnsafeBufferPointer { bytes in
                Int(cjq_next_leaf(bytes.baseAddress, Int64(bytes.count), Int64(at), &isInString))
            }
            guard at < bytes.count else { return nil }
            let start = at
            guard isInString else {
                while at < bytes.count, Self.isPartOfNumber(bytes[at]) { at += 1 }
                return .number(start..<at)
            }
            if skipEscape() { return .unpairedSurrogate(start..<at) }
        }
    }

    /// Whether the escape sequence is an unpaired surrogate.
    private mutating func skipEscape() -> Bool {
        switch UnicodeEscape(bytes[...], at: at) {
        case .scalar(_, let end)?: at = end
        case .loneSurrogate(_, let end)?:
            at = end
            return true
        case nil: at += 2
        }
        return false
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
