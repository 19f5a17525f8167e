import LosslessJSON
import Testing

/// Generated documents with known content.
@Suite struct OracleTests {
    @Test func generatedDocumentIsReadBack() throws {
        var generator = RandomJSON(seed: 1)
        for _ in 0..<1000 {
            let model = generator.document()
            let text = generator.text(model)
            #expect(Model(try JSONText(text).root) == model)
        }
    }

    @Test func jsonCReadsTheSame() throws {
        var generator = RandomJSON(seed: 2)
        for _ in 0..<1000 {
            let model = generator.document()
            let text = generator.text(model)
            #expect(JSONC.acceptsStrictly(text))
            #expect(SmallJSON(text) == model.small)
        }
    }

    /// Texts that json-c's strict mode accepts and the scanner refuses.
    @Test(arguments: [
        "[NaN]", "[Infinity]", "[-Infinity]", "{'a':1}", "[00]", "[5.]", "[\"\u{01}\"]", "[\"a\nb\"]",
    ])
    func scannerIsStricterThanJSONC(text: String) {
        #expect(JSONC.acceptsStrictly(Array(text.utf8)), "json-c has changed its mind")
        #expect(!scan(text.utf8).isSuccess)
        #expect(SmallJSON(text.utf8) == nil)
    }

    @Test(arguments: [[0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]])
    func scannerIsStricterThanJSONCAboutUTF8(sequence: [UInt8]) {
        let text = [0x22] + sequence + [0x22]
        #expect(JSONC.acceptsStrictly(text), "json-c has changed its mind")
        #expect(!scan(text).isSuccess)
        #expect(SmallJSON(text) == nil)
    }
}
