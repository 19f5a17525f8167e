import Testing

@testable import Transfer

/// Documents written one a line.
@Suite struct DocumentWriterTests {
    private static let documents = [#"{"a":1.10}"#, "{\r\n \"b\": \"\\n\"\n}", "{}"]

    @Test func linesAreTheDocumentsWithoutTheirLineBreaks() {
        var output: [UInt8] = []
        for document in Self.documents { NDJSONWriter().write(Array(document.utf8), to: &output) }
        #expect(String(decoding: output, as: UTF8.self) == "{\"a\":1.10}\n{   \"b\": \"\\n\" }\n{}\n")
    }

    @Test func anArrayHasADocumentALine() {
        var output: [UInt8] = []
        var writer = JSONArrayWriter()
        for document in Self.documents { writer.write(Array(document.utf8), to: &output) }
        writer.finish(to: &output)
        #expect(String(decoding: output, as: UTF8.self) == "[\n{\"a\":1.10},\n{   \"b\": \"\\n\" },\n{}\n]\n")
        #expect(read(output).count == 3)
    }

    @Test func anArrayOfNothingIsAnArray() {
        var output: [UInt8] = []
        var writer = JSONArrayWriter()
        writer.finish(to: &output)
        #expect(output == Array("[]\n".utf8))
    }

    @Test func anArrayCanBeGoneOnWith() {
        var output = Array("[\n{}".utf8)
        var writer = JSONArrayWriter(hasElements: true)
        writer.write(Array("{\"a\":1}".utf8), to: &output)
        writer.finish(to: &output)
        #expect(read(output) == [document("{}", 2), document(#"{"a":1}"#, 3)])
    }
}
