/// A kind of file that is not UTF-8 text, recognized by its first bytes. For messages about files of the wrong kind.
package enum FileSignature: Sendable, CaseIterable {
    case archive, oldWorkbook, pdf, png, jpeg, gif, webp, gzip, bzip2, xz, zstandard, sevenZip, sqlite, program

    /// Nil if the bytes do not begin like such a file.
    ///
    /// - Parameter head: The beginning of the file.
    package init?(_ head: some Collection<UInt8>) {
        guard let kind = Self.allCases.first(where: { $0.bytes.count <= head.count && $0.agrees(with: head) }) else {
            return nil
        }
        self = kind
    }

    /// Whether these first bytes are too few to recognize a file, but may be the beginning of a signature.
    package static func needsMore(than head: some Collection<UInt8>) -> Bool {
        allCases.contains { head.count < $0.bytes.count && $0.agrees(with: head) }
    }

    /// What the file is, with an article.
    package var name: String {
        switch self {
        case .archive: "a workbook or a ZIP archive"
        case .oldWorkbook: "a workbook or another Office file"
        case .pdf: "a PDF file"
        case .png, .jpeg, .gif, .webp: "a picture"
        case .gzip: "a gzip file"
        case .bzip2, .xz, .zstandard, .sevenZip: "a compressed file"
        case .sqlite: "an SQLite database"
        case .program: "a program"
        }
    }

    /// Whether the bytes that both have are the same.
    private func agrees(with head: some Collection<UInt8>) -> Bool {
        zip(bytes, head).allSatisfy { expected, byte in expected.map { $0 == byte } ?? true }
    }

    /// Nil stands for any byte.
    private var bytes: [UInt8?] {
        switch self {
        case .archive: [0x50, 0x4B, 0x03, 0x04]
        case .oldWorkbook: [0xD0, 0xCF, 0x11, 0xE0]
        case .pdf: Array("%PDF-".utf8)
        case .png: [0x89] + Array("PNG".utf8)
        case .jpeg: [0xFF, 0xD8, 0xFF]
        case .gif: Self.pattern("GIF8?a")
        case .webp: Self.pattern("RIFF????WEBP")
        case .gzip: [0x1F, 0x8B]
        case .bzip2: Array("BZh91AY&SY".utf8)
        case .xz: [0xFD] + Array("7zXZ".utf8)
        case .zstandard: [0x28, 0xB5, 0x2F, 0xFD]
        case .sevenZip: Array("7z".utf8) + [0xBC, 0xAF]
        case .sqlite: Array("SQLite format 3".utf8) + [0]
        case .program: [0x7F] + Array("ELF".utf8)
        }
    }

    /// A question mark stands for any byte.
    private static func pattern(_ text: String) -> [UInt8?] { text.utf8.map { $0 == UInt8(ascii: "?") ? nil : $0 } }
}
