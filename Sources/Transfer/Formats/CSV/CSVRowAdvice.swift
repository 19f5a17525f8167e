/// What to do about a row of a table with too many or too few cells.
struct CSVRowAdvice {
    private let delimiter: CSVDelimiter
    /// The row with the names.
    private let header: [UInt8]

    init(delimiter: CSVDelimiter, header: [UInt8]) {
        self.delimiter = delimiter
        self.header = header
    }

    /// - Parameters:
    ///   - bytes: The row's text.
    ///   - columns: The number of columns in the header.
    func remedy(for record: CSVRecord, _ bytes: [UInt8], columns: Int) -> String {
        let name = delimiter.name
        let count = record.cells.count
        if let other = CSVDelimiter.common.first(where: { separates($0, bytes) }) {
            return "\(other.name) probably separates the cells: add --delimiter \(other.name)"
        }
        if count > columns, record.cells.dropFirst(columns).allSatisfy(\.range.isEmpty) {
            return "remove the \(name) at the end of the row"
        }
        if count > columns {
            return "a cell that contains \(name) needs quotes, such as \"\(delimiter.example)\"; if another character "
                + "separates the cells, name it with --delimiter"
        }
        if let other = CSVDelimiter.common.first(where: { $0 != delimiter && $0.count(in: bytes) == columns - 1 }) {
            return "the header has \(name) between its cells, and this row \(other.name): write \(name)"
        }
        return "write \(name) for each empty cell, too; a cell that contains a line break needs quotes"
    }

    /// Whether another delimiter occurs equally often in the header and in the row.
    private func separates(_ other: CSVDelimiter, _ row: [UInt8]) -> Bool {
        let count = other.count(in: header)
        return other != delimiter && count > 0 && other.count(in: row) == count
    }
}

extension CSVDelimiter {
    /// A cell that contains it.
    fileprivate var example: String {
        byte == UInt8(ascii: ",") ? "2,5" : "a\(byte == 0x09 ? "…" : String(decoding: [byte], as: UTF8.self))b"
    }

    fileprivate func count(in text: [UInt8]) -> Int { text.count { $0 == byte } }
}
