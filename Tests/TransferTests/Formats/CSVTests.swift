import Compression
import LosslessJSON
import TestKit
import Testing

@testable import Transfer

/// Conversion of documents to a table, and back.
@Suite struct CSVTests {
    private static let quotes = #"write a quote that is part of the cell twice: "a ""b"" c""#
    private static let clash = "names the same member as another column, or a member inside it; rename one of them"

    private static func table(
        _ documents: [String], fields: String? = nil, delimiter: Character = ","
    ) throws -> String {
        let values = try documents.map { try JSONText($0).root }
        var columns = CSVColumns(try fields.map { try CSVFields($0) })
        for value in values { try columns.observe(value) }
        var writer = try CSVWriter(columns, delimiter: try #require(CSVDelimiter(String(delimiter))))
        var output: [UInt8] = []
        writer.writeHeader(to: &output)
        for value in values { try writer.write(value, to: &output) }
        return String(decoding: output, as: UTF8.self)
    }

    // MARK: Writing

    @Test(arguments: [
        ("strings", [#"{"_id":"a","t":"x,y"}"#, #"{"_id":"b"}"#], "_id,t\r\na,\"x,y\"\r\nb,\r\n"),
        ("numbers keep their text", [#"{"n":1.10}"#, #"{"n":-0}"#, "{}"], "n:number\r\n1.10\r\n-0\r\n\"\"\r\n"),
        ("booleans", [#"{"a":true,"b":false}"#], "a:boolean,b:boolean\r\ntrue,false\r\n"),
        ("mixed", [#"{"a":1}"#, #"{"a":"x"}"#, #"{"a":null}"#], "a:json\r\n1\r\n\"\"\"x\"\"\"\r\nnull\r\n"),
        ("empty strings", [#"{"a":""}"#, #"{"a":"x"}"#], "a:json\r\n\"\"\"\"\"\"\r\n\"\"\"x\"\"\"\r\n"),
        ("arrays", [#"{"a":[1, 2]}"#], "a:json\r\n\"[1, 2]\"\r\n"),
        (
            "objects are flattened", [#"{"l":{"id":"i","o":{"n":1}},"z":"z"}"#, #"{"z":"y","l":{"x":"x"}}"#],
            "l.id,l.o.n:number,l.x,z\r\ni,1,,z\r\n,,x,y\r\n"
        ),
        (
            "unless one is empty", [#"{"l":{"a":"b"}}"#, #"{"l":{}}"#], "l:json\r\n\"{\"\"a\"\":\"\"b\"\"}\"\r\n{}\r\n"
        ),
        (
            "or none", [#"{"l":"x"}"#, #"{"l":{"a":1}}"#], "l:json\r\n\"\"\"x\"\"\"\r\n\"{\"\"a\"\":1}\"\r\n"
        ),
        ("names are escaped", [#"{"a.b":"1","c:d":"2","":"3","\\":"4"}"#], "a\\.b,c\\:d,\\e,\\\\\r\n1,2,3,4\r\n"),
        ("quotes where needed", [#"{"a":"\"","b":" x","c":"l\nm"}"#], "a,b,c\r\n\"\"\"\",\" x\",\"l\nm\"\r\n"),
        ("formulas are left alone", [#"{"a":"=1+1"}"#], "a\r\n=1+1\r\n"),
        ("of two members the last counts", [#"{"a":{"x":"1"},"a":{"y":"2"}}"#], "a.x,a.y\r\n,2\r\n"),
        ("half a surrogate pair", [#"{"a":"\ud800"}"#], "a:json\r\n\"\"\"\\ud800\"\"\"\r\n"),
        ("one column with another delimiter in its name", [#"{"a;b":"1"}"#], "\"a;b\"\r\n1\r\n"),
        ("nothing at all", ["{}", "{}"], "_id\r\n\"\"\r\n\"\"\r\n"),
        ("no documents", [], "_id\r\n"),
    ])
    func tablesAreWritten(name: String, documents: [String], table: String) throws {
        #expect(try Self.table(documents) == table, "\(name)")
    }

    /// Regression: attachments with 300 names became 1,812 columns.
    @Test func attachmentsAreOneColumn() throws {
        let documents = (0..<300).map { #"{"_id":"d\#($0)","_attachments":{"p\#($0)":{"stub":true,"length":1}}}"# }
        let table = try Self.table(documents + [#"{"_id":"e","l":{"_attachments":{"x":"y"}}}"#])
        #expect(table.hasPrefix("_id,_attachments:json,l._attachments.x\r\nd0,\"{\"\"p0\"\":{"))
        #expect(
            read(String(table.prefix { $0 != "\r\n" }) + "\r\nd0,\"{\"\"p\"\":1}\",\r\n", as: .csv) == [
                document(#"{"_id":"d0","_attachments":{"p":1}}"#, 2)
            ])
    }

    @Test(arguments: [
        ("a,b", [#"{"b":"2","c":"3","a":"1"}"#], "a,b\r\n1,2\r\n"),
        ("b.x, a", [#"{"a":1,"b":{"y":2,"x":3}}"#, #"{"b":"no object"}"#], "b.x:number,a:number\r\n3,1\r\n,\r\n"),
        ("b.x,a,b.y", [#"{"a":1,"b":{"y":2,"x":3}}"#], "b.x:number,a:number,b.y:number\r\n3,1,2\r\n"),
        ("b", [#"{"b":{"y":2}}"#, #"{"b":{"y":3}}"#], "b:json\r\n\"{\"\"y\"\":2}\"\r\n\"{\"\"y\"\":3}\"\r\n"),
        ("a,none,n.o", [#"{"a":"1"}"#], "a,none,n.o\r\n1,,\r\n"), ("none:number", ["{}"], "none:number\r\n\"\"\r\n"),
        ("a:json", [#"{"a":"1"}"#], "a:json\r\n\"\"\"1\"\"\"\r\n"),
        (#"a\.b,c\,d,\e"#, [#"{"a.b":"1","c,d":"2","":"3"}"#], "a\\.b,\"c,d\",\\e\r\n1,2,3\r\n"),
        ("a.x", [#"{"a":{"x":"1"},"a":{"y":"2"}}"#], "a.x\r\n\"\"\r\n"),
        ("_attachments", [#"{"_attachments":{"p":{}}}"#], "_attachments:json\r\n\"{\"\"p\"\":{}}\"\r\n"),
    ])
    func columnsCanBeChosen(fields: String, documents: [String], table: String) throws {
        #expect(try Self.table(documents, fields: fields) == table)
    }

    @Test func canonicallyEquivalentNamesAreTwoColumns() throws {
        let names = ["\u{E9}", "e\u{301}"]
        let table = try Self.table([#"{"\#(names[0])":"1","\#(names[1])":"2"}"#], fields: names.joined(separator: ","))
        #expect(table.utf8.elementsEqual("\(names[0]),\(names[1])\r\n1,2\r\n".utf8))
    }

    @Test(arguments: ["", "a,", "a,,b", "a,a", "a,a.b", "a.b.c,a.b", "a..b", "a:text", #"a\x"#])
    func invalidFieldsAreRefused(fields: String) {
        #expect(throws: CSVFields.FormatError.self) { try CSVFields(fields) }
    }

    @Test(arguments: [";", "\t", "|"] as [Character]) func otherDelimitersAreAccepted(delimiter: Character) throws {
        let table = try Self.table(
            [#"{"a":"x,y","b":"x\#(delimiter == "\t" ? "\\t" : String(delimiter))y","c":[1,2]}"#], delimiter: delimiter)
        let header = ["a", "b", "c:json"].joined(separator: String(delimiter))
        #expect(table == "\(header)\r\nx,y\(delimiter)\"x\(delimiter)y\"\(delimiter)[1,2]\r\n")
    }

    @Test func deepObjectsAndMapsAreJSON() throws {
        let deep = String(repeating: "{\"a\":", count: 2000) + "1" + String(repeating: "}", count: 2000)
        let table = try Self.table([deep])
        #expect(table.utf8.starts(with: String(repeating: "a.", count: 30).utf8))
        #expect(read(table, as: .csv) == [document(deep, 2)])
        let map = "{\"m\":{" + (0..<1002).map { "\"k\($0)\":1" }.joined(separator: ",") + "}}"
        #expect(try Self.table([map]).hasPrefix("m:json\r\n"))
    }

    @Test func tooManyColumnsAreRefused() throws {
        let wide = try JSONText("{" + (0...CSVColumns.limit).map { "\"k\($0)\":1" }.joined(separator: ",") + "}")
        var columns = CSVColumns()
        #expect(throws: CSVError.tooManyColumns(limit: CSVColumns.limit)) { try columns.observe(wide.root) }
    }

    @Test(arguments: [#"{"b":1}"#, #"{"a":"x"}"#, #"{"o":1}"#, #"{"o":{}}"#, #"{"o":{"y":1}}"#, "[]"])
    func unobservedDocumentIsRefused(other: String) throws {
        var columns = CSVColumns()
        try columns.observe(JSONText(#"{"a":1,"o":{"x":1}}"#).root)
        var writer = try CSVWriter(columns)
        var output: [UInt8] = []
        #expect(throws: CSVError.unexpectedDocument) { try writer.write(JSONText(other).root, to: &output) }
        #expect(output.isEmpty)
    }

    // MARK: Reading

    @Test(arguments: [
        ("a,b\n1,2\n", [document(#"{"a":"1","b":"2"}"#, 2)]),
        ("\u{FEFF}a\r1\r\r2", [document(#"{"a":"1"}"#, 1), document(#"{"a":"2"}"#, 1)]),
        ("\r\na\r\n\r\n\"x\r\ny\"\r\nz", [document(#"{"a":"x\r\ny"}"#, 4), document(#"{"a":"z"}"#, 6)]),
        (
            "a:number,b:boolean,c:json\n1.10,TRUE,\"[1, 2]\"\n2,False,\n,,\n",
            [
                document(#"{"a":1.10,"b":true,"c":[1, 2]}"#, 2), document(#"{"a":2,"b":false}"#, 3),
            ]
        ),
        (
            "l.id,x,l.o.n:number\na,,1\n,y,\n",
            [
                document(#"{"l":{"id":"a","o":{"n":1}}}"#, 2), document(#"{"x":"y"}"#, 3),
            ]
        ),
        ("a:string,b\n\"\",5\" of it\n", [document(#"{"b":"5\" of it"}"#, 2)]),
        ("a", []), ("", []), ("\n\n", []),
    ])
    func rowsAreRead(table: String, expected: [Found]) {
        #expect(read(table, as: .csv) == expected)
    }

    @Test(arguments: [
        (
            "a number", "x,1,true,1",
            "3:1: column 'n': the cell is not a number; write a number such as 5 or 2.5, or take ':number' out of the "
                + "header to import text"
        ),
        (
            "a space beside it", " 1,1,true,1",
            "3:1: column 'n': the cell is not a number; remove the spaces around it, or take ':number' out of the header "
                + "and convert the text with a mapping (--map): merge: { n: { jq: '.n // empty | "
                + #"gsub("[^0-9.eE+-]"; "") | tonumber' } }"#
        ),
        (
            "a quoted one", "1,x,\"yes\",1",
            "3:5: column 'b': the cell is not true or false; write true or false, or take ':boolean' out of the header "
                + "to import text"
        ),
        (
            "JSON", "1,\u{E4},true,{x}",
            "3:10: column 'p\\.q': the cell is not JSON; text needs quotes in JSON, which CSV doubles (\"\"\"text\"\"\"); "
                + "write that, or take ':json' out of the header to import text"
        ),
        ("too many", "1,x,true,1,", "3:1: 5 cells where the header has 4; remove the ',' at the end of the row"),
        (
            "too few", "1,x,true",
            "3:1: 3 cells where the header has 4; write ',' for each empty cell, too; a cell that contains a line break "
                + "needs quotes"
        ),
        ("text behind a quote", "1,\"x\"y,true,1", "3:6: text after the closing quote of a cell; \(quotes)"),
    ])
    func invalidRowIsOneError(name: String, row: String, reason: String) {
        for lineBreak in ["\n", "\r\n"] {
            let rows = ["n:number,s,b:boolean,p\\.q:json", "1,a,true,1", row, "2,\"b\",false,2"]
            #expect(
                read(rows.joined(separator: lineBreak) + lineBreak, as: .csv) == [
                    document(#"{"n":1,"s":"a","b":true,"p.q":1}"#, 2), error(reason, row),
                    document(#"{"n":2,"s":"b","b":false,"p.q":2}"#, 4),
                ], "\(name)")
        }
    }

    @Test func unclosedQuoteCostsOneLine() {
        #expect(
            read("a,b\n1,\"x\n2,y\n3,z\n", as: .csv) == [
                error("2:3: the opening quote of a cell is never closed; close it, or \(Self.quotes)", "1,\"x"),
                document(#"{"a":"2","b":"y"}"#, 3),
                document(#"{"a":"3","b":"z"}"#, 4),
            ])
    }

    @Test func truncatedGzipRowIsNotADocument() {
        let text =
            Array("a,b\r\n".utf8)
            + Array((0..<3000).map { "\($0),\"x\($0 &* 7919)\r\n\"" }.joined(separator: "\r\n").utf8)
        let compressed = Gzip.compress(text)
        for kept in [compressed.count / 2, compressed.count - 20, compressed.count - 9] {
            let found = read(Array(compressed.prefix(kept)), as: .csv, pieces: { 100 })
            // After the rows: the rest of the last row, if any, and the error.
            let rows = found.prefix { if case .document = $0 { true } else { false } }
            let expected = rows.indices.map {
                document("{\"a\":\"\($0)\",\"b\":\"x\($0 &* 7919)\\r\\n\"}", 2 * $0 + 2)
            }
            #expect(Array(rows) == expected && rows.count > 1000 && found.count <= rows.count + 2)
            guard case .error(let message) = found.last else {
                Issue.record("no error")
                continue
            }
            #expect(message.contains("the gzip data is cut short"))
        }
    }

    @Test func invalidUTF8IsError() {
        let found = read(Array("a\n\u{E9}\n".utf8) + [0xFF, 0x0A] + Array("y".utf8), as: .csv)
        #expect(
            found == [
                document("{\"a\":\"\u{E9}\"}", 2), error("3:1: invalid UTF-8", "\u{FFFD}"),
                document(#"{"a":"y"}"#, 4),
            ])
    }

    @Test(arguments: [
        ("a,a", "column 2, 'a', \(Self.clash)"),
        ("a,a.b", "column 2, 'a.b', \(Self.clash)"),
        ("a.b,a:json", "column 2, 'a:json', \(Self.clash)"),
        ("a,,b", "column 2, '', has no name; the empty name is written \\e"),
        (",a", "column 1, '', has no name; the empty name is written \\e"),
        ("a..b", "column 1, 'a..b', is not a path; '\\', '.' and ':' in a name need a '\\' before them"),
        ("a\\x", "column 1, 'a\\x', is not a path; '\\', '.' and ':' in a name need a '\\' before them"),
        ("a\\u0041", "column 1, 'a\\u0041', is not a path; '\\', '.' and ':' in a name need a '\\' before them"),
        ("a\\", "column 1, 'a\\', is not a path; '\\', '.' and ':' in a name need a '\\' before them"),
        ("a:int", "column 1, 'a:int', has an unknown type; it must be one of :string, :number, :boolean, :json"),
        ("a:", "column 1, 'a:', has an unknown type; it must be one of :string, :number, :boolean, :json"),
        (":json", "column 1, ':json', is not a path; '\\', '.' and ':' in a name need a '\\' before them"),
    ])
    func invalidHeaderEndsReading(header: String, reason: String) {
        #expect(read("\(header)\n1,2\n", as: .csv) == [.error("1:1: \(reason)")])
    }

    // MARK: Both ways

    @Test func writtenTablesAreReadBack() throws {
        var generator = RandomDocuments(seed: 70)
        for round in 0..<400 {
            let documents = (0..<generator.random.below(8)).map { _ in generator.document(isRegular: round % 4 > 0) }
            let table = try Self.table(documents)
            let found = read(Array(table.utf8), as: .csv, pieces: { 1 + generator.random.below(50) })
            #expect(found == read(table, as: .csv))
            let rows = found.map { if case .document(let text, _) = $0 { text } else { "\($0)" } }
            #expect(
                try rows.map { canonical(try JSONText($0).root) }
                    == documents.map { canonical(try JSONText($0).root) }.filter { $0 != "{}" }, "\(table)")
        }
    }

    @Test func arbitraryTextDoesNotCrash() {
        var random = SplitMix64(seed: 71)
        for _ in 0..<500 {
            let bytes = (0..<random.below(60)).map { _ in random.pick(Array("a,\"\r\n\\.:1{}ue".utf8) + [0, 0xC3]) }
            let whole = read(bytes, as: .csv)
            #expect(read(bytes, as: .csv, pieces: { 1 }) == whole)
            #expect(read(bytes, as: .csv, limit: 8, pieces: { 1 }) == read(bytes, as: .csv, limit: 8))
        }
    }
}
