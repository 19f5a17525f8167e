/// Converts UTF-16 to UTF-8, in pieces of any length.
///
/// - Note: Source: Excel's "Unicode Text" is UTF-16LE with a byte order mark; PowerShell 5's `>` writes it, too.
struct UTF16Decoder {
    /// How many bytes are needed to detect the encoding.
    static let headCount = 4

    private let isBigEndian: Bool
    /// The first byte of a code unit whose second byte has not arrived.
    private var half: UInt8?
    /// A high surrogate whose low one has not arrived.
    private var high: UInt16?

    /// Nil if the text is not UTF-16. No format begins with NUL characters, so two zero bytes, one in each of the first
    /// two characters, identify UTF-16 without a byte order mark. A single one is a fault of the file.
    ///
    /// - Parameter head: The first four bytes, or all of a shorter text.
    /// - Throws: `SourceError`: `.encoding` for UTF-32, without a place.
    init?(head: [UInt8]) throws(SourceError) {
        guard head.count >= 2, head.count % 2 == 0 || head.count >= Self.headCount else { return nil }
        let isUTF32 = head.prefix(Self.headCount).count { $0 == 0 } == 3
        if isUTF32 || head.starts(with: [0xFF, 0xFE, 0, 0]) || head.starts(with: [0, 0, 0xFE, 0xFF]) {
            throw SourceError(.encoding(Self.remedy("the text is UTF-32", from: "UTF-32")), at: TextPlace())
        }
        switch (head[0], head[1]) {
        case (0xFF, 0xFE): isBigEndian = false
        case (0xFE, 0xFF): isBigEndian = true
        case (1..., 0) where head.count < Self.headCount || head[3] == 0: isBigEndian = false
        case (0, 1...) where head.count < Self.headCount || head[2] == 0: isBigEndian = true
        default: return nil
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
