internal import Encodings

/// Converts UTF-16 to UTF-8, in pieces of any length.
struct UTF16Decoder {
    private let isBigEndian: Bool
    /// The first byte of a code unit whose second byte has not arrived.
    private var half: UInt8?
    /// A high surrogate whose low one has not arrived.
    private var high: UInt16?

    /// Nil if the text is not UTF-16.
    ///
    /// - Parameter head: The first four bytes, or all of a shorter text.
    /// - Throws: `SourceError`: `.encoding` for UTF-32, without a place.
    init?(head: [UInt8]) throws(SourceError) {
        switch WideEncoding(head: head) {
        case .utf16(let isBigEndian): self.isBigEndian = isBigEndian
        case .utf32: throw SourceError(.encoding(Self.remedy("the text is UTF-32", from: "UTF-32")), at: TextPlace())
        case nil: return nil
        }
    }

    /// Says what the text is, and how to convert it.
    static func remedy(_ what: String, from encoding: String) -> String {
        "\(what); convert it with iconv -f \(encoding) -t UTF-8"
    }

    /// - Throws: `SourceError`: `.encoding` at an unpaired surrogate, without a place. Text before it is appended.
    mutating func decode(_ bytes: [UInt8], into text: inout [UInt8]) throws(SourceError) {
        for byte in bytes {
            guard let first = half else {
                half = byte
                continue
            }
            half = nil
            let (upper, lower) = isBigEndian ? (first, byte) : (byte, first)
            try append(UInt16(upper) << 8 | UInt16(lower), to: &text)
        }
    }

    private mutating func append(_ unit: UInt16, to text: inout [UInt8]) throws(SourceError) {
        let scalar: Unicode.Scalar?
        if let high {
            self.high = nil
            let isLow = UTF16.isTrailSurrogate(unit)
            scalar = isLow ? Unicode.Scalar(0x10000 + (UInt32(high) & 0x3FF) << 10 + UInt32(unit) & 0x3FF) : nil
        } else if UTF16.isLeadSurrogate(unit) {
            high = unit
            return
        } else {
            scalar = Unicode.Scalar(unit)
        }
        guard let scalar else { throw Self.isBroken }
        UTF8.encode(scalar).map { text.append(contentsOf: $0) }
    }

    /// Call at the end of the text.
    ///
    /// - Throws: `SourceError`: `.encoding` if half a character remains.
    func finish() throws(SourceError) {
        guard half == nil, high == nil else { throw Self.isBroken }
    }

    private static var isBroken: SourceError {
        SourceError(.encoding("the UTF-16 text has an incomplete character here"), at: TextPlace())
    }
}
