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
