import Testing

@testable import Transfer

/// Rows and cells that can't be read name the probable cause, and what to write.
@Suite struct CSVAdviceTests {
    private static let decimalComma = #"merge: { a: { jq: '.a // empty | sub(","; ".") | tonumber' } }"#
    private static let comma = #"jq: '.a // empty | gsub("[^0-9,-]"; "") | sub(","; ".") | tonumber'"#
    private static let point = #"jq: '.a // empty | gsub("[^0-9.-]"; "") | tonumber'"#

    private func reason(_ table: String, delimiter: Character = ",") throws -> String {
        var next = [Array(table.utf8)].makeIterator()
        var source = DocumentSource(
            format: .csv, delimiter: try #require(CSVDelimiter(String(delimiter)))
        ) { next.next() }
        while let item = try source.next() { if case .error(let error) = item { return "\(error)" } }
        return "no error"
    }

    @Test(arguments: [
        ("2,5", "a decimal point instead of the comma, such as 2.5", decimalComma),
        ("-12,50", "a decimal point instead of the comma", decimalComma),
        ("1.000,50", "without separators of thousands", comma), ("1.000.000", "without separators", comma),
        ("1 000", "without separators of thousands", point), ("1\u{A0}000,5", "without separators", comma),
        ("1'000.50", "without separators of thousands", point), ("1,000,000", "without separators", point),
        ("1,000.50", "without separators of thousands", point),
        ("\u{20AC} 5", "without its currency or unit", point), ("5 kg", "without its currency or unit", point),
        ("$1,000.50", "without its currency or unit", point), ("2,5 \u{20AC}", "without its currency", comma),
        ("+5", "without '+'", #"ltrimstr("+") | tonumber"#),
        (" 5", "remove the spaces around it", #"gsub("[^0-9.eE+-]"; "") | tonumber"#),
    ])
    func numberCanBeConverted(cell: String, remedy: String, program: String) throws {
        let reason = try reason("_id,a:number\nx,\"\(cell)\"\n")
        #expect(reason.hasPrefix("2:3: column 'a': the cell is not a number; "))
        #expect(reason.contains(remedy) && reason.contains("(--map): merge: ") && reason.contains(program), "\(reason)")
    }

    /// A program could give another number.
    @Test(arguments: [
        ("1,000", "1000 if the comma separates thousands, 1.0 if decimals"), ("\u{2212}5", "the ASCII character '-'"),
        ("007", "without leading zeros"), (".5", "digits on both sides"), ("5.", "digits on both sides"),
        ("n/a", "leave the cell empty"), ("-", "leave the cell empty"), ("abc", "a number such as 5 or 2.5"),
        ("1.000 kg", "without its currency or unit"), ("12:30", "a number such as"), ("2026-01-01", "a number such as"),
    ])
    func unclearNumberHasNoProgram(cell: String, remedy: String) throws {
        let reason = try reason("_id,a:number\nx,\"\(cell)\"\n")
        #expect(reason.contains(remedy) && reason.hasSuffix("to import text"), "\(reason)")
        #expect(!reason.contains("tonumber"), "\(reason)")
    }

    @Test func nestedColumnsAndStrangeNamesAreQuoted() throws {
        let nested = try reason("_id,p.the price:number\nx,\"2,5\"\n")
        #expect(
            nested.contains(#"merge: { p: { "the price": { jq: '.p["the price"] // empty | sub(","; ".")"#), "\(nested)"
        )
        #expect(try reason("_id,it's:number\nx,\"2,5\"\n").contains(#"'.["it''s"] // empty"#))
    }

    @Test(
        arguments: [
            (
                "_id,a\nx,2,5\n", ",",
                "3 cells where the header has 2; a cell that contains ',' needs quotes, such as \"2,5\""
            ),
            ("_id,a\nx,1,\n", ",", "3 cells where the header has 2; remove the ',' at the end of the row"),
            (
                "_id,a\nx;1\n", ",",
                "1 cell where the header has 2; the header has ',' between its cells, and this row ';'"
            ),
            ("_id,a\nx\n", ",", "1 cell where the header has 2; write ',' for each empty cell, too"),
            ("_id,b;a\nx;2,5,1\n", ",", "';' probably separates the cells: add --delimiter ';'"),
            ("_id\ta,b\nx\t2,5,1\n", ",", "tab probably separates the cells: add --delimiter tab"),
            ("_id;a\nx;1;2\n", ";", "a cell that contains ';' needs quotes, such as \"a;b\""),
        ] as [(String, Character, String)])
    func wrongNumberOfCellsHasACause(table: String, delimiter: Character, part: String) throws {
        let reason = try reason(table, delimiter: delimiter)
        #expect(reason.hasPrefix("2:1: ") && reason.contains(part), "\(reason)")
    }

    @Test(
        arguments: [
            ([0x89, 0x50, 0x4E, 0x47, 0x0D], "this is a picture, not text; import NDJSON"),
            (Array("%PDF-1.4\n".utf8), "this is a PDF file, not text; import NDJSON"),
            (Array("SQLite format 3\0".utf8), "this is an SQLite database, not text; if it is a database of changebot"),
            ([0xFD] + Array("7zXZ\0".utf8), "this is a compressed file, not text; the only compression is gzip"),
        ] as [([UInt8], String)])
    func fileThatIsNotTextIsNamed(bytes: [UInt8], part: String) {
        for format in [nil, InputFormat.csv, .ndjson] {
            guard case .error(let message)? = read(bytes, as: format).last else {
                Issue.record("it is read")
                continue
            }
            #expect(message.hasPrefix("1:1: " + part), "\(message)")
        }
    }
}
