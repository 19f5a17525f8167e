import Compression
import Foundation
import Testing

@testable import Transfer

/// Tables as Excel writes them, and concatenated ones.
@Suite struct SpreadsheetTests {
    @Test(arguments: ["sep=;\r\n", "\"sep=;\"\n", "\u{FEFF}sep=;\r\n", "SEP=;\r\n", "\"Sep=;\"\n"])
    func firstLineNamesTheDelimiter(first: String) {
        #expect(
            read(first + "a;b\r\n1,5;x\r\n", as: .csv) == [document(#"{"a":"1,5","b":"x"}"#, 3)])
    }

    /// Regression: the message was "can't detect the format".
    @Test(arguments: [("x.tsv", "tab"), ("x.TSV.gz", "tab"), ("x.csv", "','"), ("-", "','"), ("tsv", "','")])
    func nameOfTheFileShowsTheDelimiter(name: String, delimiter: String) {
        #expect(CSVDelimiter.usual(in: name).name == delimiter)
    }

    @Test(arguments: [InputFormat.csv, nil])
    func workbooksAreRefused(format: InputFormat?) {
        let remedy =
            ", not text; in Excel, save the sheet as the type 'CSV UTF-8', or run "
            + "soffice --headless --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76' FILE; unpack an archive"
        #expect(
            read([0x50, 0x4B, 3, 4, 20, 0, 6, 0], as: format) == [
                .error("1:1: this is a workbook or a ZIP archive" + remedy)
            ])
        #expect(
            read([0xD0, 0xCF, 0x11, 0xE0, 0xA1], as: format) == [
                .error("1:1: this is a workbook or another Office file" + remedy)
            ])
        #expect(read("PK,x\n1,2\n", as: .csv) == [document(#"{"PK":"1","x":"2"}"#, 2)])
    }

    /// Regression: a NUL in the first cell made the program read the table as UTF-16, without documents.
    @Test(arguments: [
        ("a\0,b\n1,2\n", "1:2: the header: "), ("\0a,b\n1,2\n", "1:1: the header: "),
        ("\0\0,b\n1,2\n", "1:1: the header: "),
    ])
    func nulInTheHeaderIsRefused(text: String, place: String) {
        guard case .error(let message)? = read(text, as: .csv).last else {
            Issue.record("it is read")
            return
        }
        #expect(message.hasPrefix(place + "a NUL character outside quotes"), "\(message)")
    }

    @Test func nulInARowIsAnErrorOfTheRow() {
        let message =
            "2:4: a NUL character outside quotes; the file is damaged or not text: remove it, or quote the cell"
        #expect(
            read("a,b\n1,x\0\n2,\"y\0\"\n", as: .csv) == [
                error(message, "1,x\0"), document(#"{"a":"2","b":"y\u0000"}"#, 3),
            ])
    }

    @Test func delimiterLineMayNameTabOrComma() {
        #expect(read("sep=\t\na\tb\n1\t2\n", as: .csv) == [document(#"{"a":"1","b":"2"}"#, 3)])
        #expect(read("sep=,\na,b\n1,2\n", as: .csv) == [document(#"{"a":"1","b":"2"}"#, 3)])
    }

    @Test func delimiterLineWithLetterIsRefused() {
        #expect(
            read("sep=x\na\n", as: .csv) == [
                .error("1:1: the line names an invalid delimiter; remove it")
            ])
    }

    @Test func headerOfRejectedRowsNamesTheDelimiter() throws {
        var next = [Array("sep=;\r\na;b\r\n1;2\r\n".utf8)].makeIterator()
        var source = DocumentSource(format: .csv) { next.next() }
        _ = try source.next()
        #expect(source.header == Array("sep=;\na;b".utf8))
    }

    @Test func emptyColumnsAtTheEndAreIgnored() {
        #expect(
            read("a,b,,\r\n1,2,,\r\n3,4\r\n5,6,\"\",\r\n7,8,9,\r\n", as: .csv) == [
                document(#"{"a":"1","b":"2"}"#, 2), document(#"{"a":"3","b":"4"}"#, 3),
                document(#"{"a":"5","b":"6"}"#, 4),
                error(
                    "5:1: 4 cells where the header has 2; a cell that contains ',' needs quotes, such as \"2,5\"; if "
                        + "another character separates the cells, name it with --delimiter", "7,8,9,"),
            ])
    }

    @Test(arguments: [";", ",", "\t"])
    func rowsWithoutContentAreSkipped(delimiter: String) {
        let rows = ["; ;", "a:number;b", ";", "1; ", "", ";;;", " ; ", "\t;", "\"\";\"\"", "\" \";", "2;x", ";", " "]
        let table = rows.map { $0.replacingOccurrences(of: ";", with: delimiter) }.joined(separator: "\r\n")
        var next = [Array(table.utf8)].makeIterator()
        var source = DocumentSource(format: .csv, delimiter: CSVDelimiter(delimiter) ?? .comma) { next.next() }
        var found: [String] = []
        while let item = try? source.next() {
            switch item {
            case .document(let row): found.append(String(decoding: row.bytes, as: UTF8.self))
            case .error(let error): found.append("\(error)")
            }
        }
        #expect(found.count == 3 && found[0] == #"{"a":1,"b":" "}"# && found[2] == #"{"a":2,"b":"x"}"#, "\(found)")
        #expect(found[1].contains("column 'a': the cell is not a number"))
    }

    @Test(arguments: [true, false], [true, false])
    func utf16IsRead(isBigEndian: Bool, hasMark: Bool) {
        let bytes = Self.utf16("a\tb\r\n\u{E4}\t\u{1F34E}\r\n", isBigEndian: isBigEndian, hasMark: hasMark)
        let expected = [document("{\"a\\tb\":\"\u{E4}\\t\u{1F34E}\"}", 2)]
        for length in [1, 3, 1 << 20] {
            let found = read(bytes, as: .csv, pieces: { length })
            #expect(found.count == expected.count)
        }
        let document = Self.utf16("{\"a\":\"\u{1F34E}\"}\n{}", isBigEndian: isBigEndian, hasMark: hasMark)
        for input in [document, Gzip.compress(document)] {
            for length in [1, 5, 1 << 20] {
                #expect(
                    read(input, as: .ndjson, pieces: { length }) == [
                        .document("{\"a\":\"\u{1F34E}\"}", line: 1), .document("{}", line: 2),
                    ])
            }
        }
    }

    @Test func truncatedUTF16IsError() {
        let bytes = Self.utf16("{}\n\u{1F34E}", isBigEndian: false, hasMark: true)
        for kept in [bytes.count - 1, bytes.count - 2] {
            #expect(
                read(Array(bytes.prefix(kept)), as: .ndjson).contains(
                    .error("2:1: the UTF-16 text has an incomplete character here")), "\(kept)")
        }
    }

    @Test func utf32IsRefused() {
        let message = "1:1: the text is UTF-32; convert it with iconv -f UTF-32 -t UTF-8"
        #expect(read([0xFF, 0xFE, 0, 0, 0x7B, 0, 0, 0], as: .ndjson) == [.error(message)])
        #expect(read([0x7B, 0, 0, 0, 0x7D, 0, 0, 0]) == [.error(message)])
    }

    @Test func windows1252IsRefusedInOneLine() {
        let bytes = Array("a,b\r\n1,x\r\n2,".utf8) + [0xE4, 0x0D, 0x0A]
        #expect(
            read(bytes, as: .csv) == [
                .error(
                    "3:1: the table is not UTF-8 but probably Windows-1252, which Excel uses for CSV; "
                        + "convert it with iconv -f WINDOWS-1252 -t UTF-8")
            ])
        guard case .error(let message) = read([0x61, 0xE4, 0x2C, 0x62, 0x0A], as: .csv).first else {
            Issue.record("the header is accepted")
            return
        }
        #expect(message.contains("iconv -f WINDOWS-1252 -t UTF-8"))
    }

    @Test func headerOfConcatenatedTableIsSkipped() {
        for mark in ["", "\u{FEFF}"] {
            #expect(
                read("\u{FEFF}a,b\r\n1,2\r\n\(mark)a,b\r\n3,4\r\n", as: .csv) == [
                    document(#"{"a":"1","b":"2"}"#, 2), document(#"{"a":"3","b":"4"}"#, 4),
                ])
        }
        #expect(
            read("a,b\r\n1,2\r\n\u{FEFF}b,a\r\n3,4\r\n", as: .csv) == [
                document(#"{"a":"1","b":"2"}"#, 2),
                .error("3:1: another table begins here, with other columns; import each file separately"),
            ])
    }

    @Test func byteOrderMarksBetweenDocumentsAreSkipped() {
        let mark = "\u{FEFF}"
        let expected = [document(#"{"a":1}"#, 1), document("{}", 2), document("{}", 2)]
        #expect(read("\(mark){\"a\":1}\n\(mark){}\(mark){}\n", as: .ndjson) == expected)
        #expect(read("\(mark)[{\"a\":1}]\n\(mark)[{},{}]\n", as: .json) == expected)
    }

    private static func utf16(_ text: String, isBigEndian: Bool, hasMark: Bool) -> [UInt8] {
        ((hasMark ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit in
            let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return isBigEndian ? bytes : bytes.reversed()
        }
    }
}
