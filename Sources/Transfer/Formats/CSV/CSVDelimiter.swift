/// What stands between the cells of a table's rows: one ASCII character.
package struct CSVDelimiter: Sendable, Equatable {
    package static let comma = CSVDelimiter(byte: UInt8(ascii: ","))

    package let byte: UInt8

    private init(byte: UInt8) { self.byte = byte }

    /// Those that spreadsheets write.
    private static let common = Array(",;\t|".utf8)

    /// As `--delimiter` takes it.
    var name: String { byte == 0x09 ? "tab" : "'\(String(decoding: [byte], as: UTF8.self))'" }

    /// The one that stands in a row which this one does not separate; nil if there is none.
    func probable(in row: [UInt8]) -> CSVDelimiter? {
        Self.common.first { $0 != byte && row.contains($0) }.map { CSVDelimiter(byte: $0) }
    }

    /// - Parameter text: The character itself, or `tab` (also `\t`). Nil for what can be part of a column's name or type,
    ///   of a number, or of a quoted cell.
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
