/// An encoding of text in units of two or four bytes, which some Windows programs write.
///
/// - Note: Source: Excel's "Unicode Text" is UTF-16LE with a byte order mark; PowerShell 5's `>` writes it, too.
package enum WideEncoding: Sendable, Equatable {
    case utf16(isBigEndian: Bool)
    case utf32

    /// How many bytes are needed to detect the encoding.
    package static let headCount = 4

    /// Nil for other text. No format begins with NUL characters, so two zero bytes, one in each of the first two
    /// characters, identify UTF-16 without a byte order mark. A single one is a fault of the file.
    ///
    /// - Parameter head: The first four bytes, or all of a shorter text.
    package init?(head: [UInt8]) {
        guard head.count >= 2, head.count % 2 == 0 || head.count >= Self.headCount else { return nil }
        let isUTF32 = head.prefix(Self.headCount).count { $0 == 0 } == 3
        if isUTF32 || head.starts(with: [0xFF, 0xFE, 0, 0]) || head.starts(with: [0, 0, 0xFE, 0xFF]) {
            self = .utf32
            return
        }
        switch (head[0], head[1]) {
        case (0xFF, 0xFE): self = .utf16(isBigEndian: false)
        case (0xFE, 0xFF): self = .utf16(isBigEndian: true)
        case (1..., 0) where head.count < Self.headCount || head[3] == 0: self = .utf16(isBigEndian: false)
        case (0, 1...) where head.count < Self.headCount || head[2] == 0: self = .utf16(isBigEndian: true)
        default: return nil
        }
    }

    /// The name that `iconv` knows.
    package var name: String {
        switch self {
        case .utf16(let isBigEndian): isBigEndian ? "UTF-16BE" : "UTF-16LE"
        case .utf32: "UTF-32"
        }
    }
}
