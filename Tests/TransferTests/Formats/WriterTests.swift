import Testing

@testable import Transfer

/// Documents written one per line, and read back.
@Suite struct DocumentWriterTests {
    @Test func arrayHasOneDocumentPerLine() {
        var output: [UInt8] = []
        var framing = DocumentFraming(isArray: true)
        for document in [#"{"a":1.10}"#, "{\r\n \"b\": \"\\n\"\n}", "{}"] {
            framing.write(Array(document.utf8)[...], to: &output)
        }
        output += framing.closing
        #expect(String(decoding: output, as: UTF8.self) == "[\n{\"a\":1.10},\n{   \"b\": \"\\n\" },\n{}\n]\n")
        #expect(read(output).count == 3)
    }

    @Test func arrayCanBeResumed() {
        var output = Array("[\n{}".utf8)
        var framing = DocumentFraming(isArray: true, count: 1)
        framing.write(Array("{\"a\":1}".utf8)[...], to: &output)
        output += framing.closing
        #expect(read(output) == [document("{}", 2), document(#"{"a":1}"#, 3)])
    }
}
