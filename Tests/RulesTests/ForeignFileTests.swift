import Testing

@testable import Rules

/// Files of another kind in the place of rules.
@Suite struct ForeignFileTests {
    @Test(arguments: [
        (
            "r.ndjson", #"{"_id":"a","type":"x"}"#,
            "these are documents, not rules; to see what rules do with them: changebot rules try RULES --input r.ndjson; "
                + "to write them: changebot import r.ndjson"
        ),
        ("r.ndjson", #"{"a":1}"# + "\n" + #"{"a":2}"#, "these are documents, not rules"),
        ("r.json", #"{"_id":"a"}"# + "\n" + #"{"_id":"b"}"#, "these are documents, not rules"),
        ("r.json", #"[{"_id":"a"}]"#, "these are documents, not rules"),
        ("r.csv", "_id,type\na,b\n", "these are documents, not rules"),
        (
            "c.yaml", "version: 1\nbots:\n  - {name: a, rules: r.yaml}\n",
            "this is a configuration file, not a rule file; run it with changebot run --config c.yaml, check it with "
                + "changebot config check --config c.yaml"
        ),
        ("c.yaml", "version: 1\ngateway: http://h/d\nrules: r.yaml\n", "this is a configuration file, not a rule file"),
    ])
    func foreignFileGivesOneError(path: String, text: String, message: String) {
        let found = errors(text, path: path)
        #expect(found.count == 1 && found.first?.hasPrefix("\(path):1:1: \(message)") == true, "\(found)")
    }

    /// Regression: the messages were about control characters and UTF-8.
    @Test(
        arguments: [
            (Array("PK\u{3}\u{4}\0".utf8), "this is a workbook or a ZIP archive, not YAML or JSON; name a rule file"),
            (
                Array("%PDF-1.4\n".utf8),
                "this is a PDF file, not YAML or JSON; name a rule file, saved as text in UTF-8"
            ),
            ([0x89] + Array("PNG\r\n".utf8), "this is a picture, not YAML or JSON"),
            ([0x1F, 0x8B, 8, 0], "this is a gzip file, not YAML or JSON; decompress it with gunzip"),
            (
                [0xFF, 0xFE, 0x76, 0],
                "this is text in UTF-16LE; save it as UTF-8, or convert it with iconv -f UTF-16LE -t"
            ),
            ([0, 0x76, 0, 0x65], "this is text in UTF-16BE"), ([0x76, 0, 0, 0], "this is text in UTF-32"),
        ] as [([UInt8], String)])
    func fileThatIsNotTextIsNamed(bytes: [UInt8], message: String) {
        for path in ["r.yaml", "b.xlsx", "r.json"] {
            let file = RuleFile(path: path, bytes: bytes)
            #expect(file.errors.count == 1 && !file.isReadable)
            #expect(file.errors.first?.description.hasPrefix("\(path):1:1: \(message)") == true, "\(file.errors)")
        }
    }

    /// Mistakes in rules are reported as such.
    @Test(arguments: [
        "version: 1\ngateway: x\nrules:\n  - {name: a, when: {}, then: []}\n", "rules: []\n", "- name: a\n",
        "version: 1\n_id: a\nrules: []\n",
    ])
    func mistakesInRulesAreNotForeign(text: String) {
        let found = errors(text)
        #expect(!found.isEmpty && !found.contains { $0.contains("these are") || $0.contains("this is") }, "\(found)")
    }
}
