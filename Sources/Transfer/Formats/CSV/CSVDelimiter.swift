/// The separator between cells: one ASCII character.
package struct CSVDelimiter: Sendable, Equatable {
    /// The delimiter of RFC 4180.
    package static let comma = CSVDelimiter(byte: UInt8(ascii: ","))

    /// The delimiter that a file's name shows: a tab for `.tsv`, with or without a final `.gz`, else a comma.
    package static func usual(in fileName: String) -> CSVDelimiter {
        InputFormat.ending(of: fileName) == "tsv" ? CSVDelimiter(byte: 0x09) : .comma
    }

    /// Its ASCII code.
    package let byte: UInt8

    private init(byte: UInt8) { self.byte = byte }

    /// Delimiters that spreadsheets write, the most common first.
    static let common = ",;\t|".utf8.map { CSVDelimiter(byte: $0) }

    /// The form that `--delimiter` accepts.
    var name: String { byte == 0x09 ? "tab" : "'\(String(decoding: [byte], as: UTF8.self))'" }

    /// Another common delimiter that occurs in a row without this one; nil if there is none.
    func likelyDelimiter(in row: [UInt8]) -> CSVDelimiter? {
        Self.common.first { $0 != self && row.contains($0.byte) }
    }

    /// Nil for a character that can be part of a column's name or type, a number, or a quoted cell.
    ///
    /// - Parameter text: The character itself, or `tab` (also `\t`).
    package init?(_ text: String) {
        if text == "tab" || text == "\\t" || text == "\t" {
            self.init(byte: 0x09)
            return
        }
        guard text.utf8.count == 1, let byte = text.utf8.first, "!#$%&'()*,/;<=>?@[]^`{|}~ ".utf8.contains(byte) else {
            return nil
        }
        self.init(byte: byte)
    }
}
