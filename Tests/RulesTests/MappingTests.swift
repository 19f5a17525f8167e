import LosslessJSON
import Testing

@testable import Rules

@Suite struct MappingTests {
    private static let onlyTasks = "- {name: a, when: {type: task}, if: .n != 1, then: [merge: {b: 1}]}"

    @Test(arguments: [
        ("", [#"{"_id":"d","type":"list"}"#]), ("otherwise: pass", [#"{"_id":"d","type":"list"}"#]),
        ("otherwise: drop", []),
        ("otherwise: reject", ["no rule of the mapping matches it (otherwise: reject)"]),
    ])
    func otherwiseDecidesUnmatchedDocuments(line: String, expected: [String]) async throws {
        let found = try await map(
            Self.onlyTasks, slurp: line, #"{"_id":"d","type":"list"}"#, #"{"_id":"t","type":"task"}"#,
            #"{"_id":"d","type":"list"}"#)
        #expect(found == [expected, [#"{"_id":"t","type":"task","b":1}"#], expected])
    }

    /// A false `if` makes a document unmatched. A rule that changes nothing does not.
    @Test func firingMakesADocumentMatched() async throws {
        let found = try await map(
            Self.onlyTasks, slurp: "otherwise: drop", #"{"_id":"t","type":"task","n":1}"#,
            #"{"_id":"t","type":"task","b":1}"#)
        #expect(found == [[], [#"{"_id":"t","type":"task","b":1}"#]])
    }

    @Test func otherwiseAffectsTheHash() throws {
        let hashes = try ["", "otherwise: pass", "otherwise: drop", "otherwise: reject"].map { line in
            try ruleFileSet("version: 1\nkind: mapping\n\(line)\nrules:\n\(Self.onlyTasks)").ruleSet().hash
        }
        #expect(hashes[0] == hashes[1] && Set(hashes).count == 3)
    }

    /// The mapped documents as JSON texts, or the error's description.
    private func map(_ rules: String, slurp: String = "", slurps: [String: [UInt8]] = [:], _ documents: String...)
        async throws -> [[String]]
    {
        let set = try ruleFileSet("version: 1\nkind: mapping\n\(slurp)\nrules:\n\(rules)")
        let mapper = Mapping(try set.ruleSet(slurps: slurps), slurps: slurps).makeMapper()
        return await mapper.map(documents.map { Array($0.utf8) }, now: 1_795_168_800).map { result in
            result.error.map { [$0.description] } ?? result.documents.map(\.document.string)
        }
    }

    @Test(arguments: [
        // Unmatched documents stay unchanged.
        ("- {name: a, when: {type: x}, then: [merge: {b: 1}]}", #"{"_id":"d", "n":1.10}"#, [#"{"_id":"d", "n":1.10}"#]),
        // Reserved members may be written.
        (
            "- {name: a, when: {}, then: [merge: {_id: {jq: '\"t.\" + ._id'}, _rev: null, _partition: null}]}",
            #"{"_id":"d","_rev":"1-a","_partition":"p","n":1.10}"#, [#"{"_id":"t.d","n":1.10}"#]
        ),
        ("- {name: a, when: {}, then: [merge: {jq: '{_id: .id, id: null}'}]}", #"{"id":"d"}"#, [#"{"_id":"d"}"#]),
        (
            "- {name: a, when: {}, then: [patch: [{op: move, from: /id, path: /_id}]]}", #"{"id":"d"}"#,
            [#"{"_id":"d"}"#]
        ),
        // The whole document may be replaced.
        (
            "- {name: a, when: {}, then: [patch: [{op: replace, path: '', value: {_id: {jq: ._id}, t: 1.10}}]]}",
            #"{"_id":"d","x":1}"#, [#"{"_id":"d","t":1.10}"#]
        ),
        (
            "- {name: a, when: {}, then: [patch: [{op: move, from: /doc, path: ''}]]}", #"{"doc":{"_id":"d"}}"#,
            [#"{"_id":"d"}"#]
        ),
        // Each output of a put is a document, before the original one.
        (
            "- {name: a, when: {}, then: [put: {document: {jq: '.l[] | {_id: ., _rev: \"1-a\"}'}}, merge: {l: null}]}",
            #"{"_id":"d","l":["x","y"]}"#,
            [#"{"_id":"x","_rev":"1-a"}"#, #"{"_id":"y","_rev":"1-a"}"#, #"{"_id":"d"}"#]
        ),
        // The document is dropped, but its puts stay. Later rules do not see it.
        (
            "- {name: a, when: {}, then: [put: {id: x, document: {}}, delete: {}]}\n- {name: b, when: {}, then: [put: {id: y, document: {}}]}",
            #"{"_id":"d"}"#, [#"{"_id":"x"}"#]
        ),
        ("- {name: a, when: {}, then: [delete: {}]}", "{}", []),
        // One pass from top to bottom: a rule does not see changes of later rules, and no rule runs again.
        (
            "- {name: a, when: {b: 1}, then: [merge: {a: 1}]}\n- {name: b, when: {}, then: [merge: {b: 1}]}",
            #"{"_id":"d"}"#, [#"{"_id":"d","b":1}"#]
        ),
        ("- {name: up, when: {}, then: [merge: {n: {jq: '.n + 1'}}]}", #"{"_id":"d","n":1}"#, [#"{"_id":"d","n":2}"#]),
        // The original document may take the id of a document that was put.
        (
            "- {name: a, when: {}, then: [put: {document: {jq: .}}, delete: {}]}", #"{"_id":"d"}"#, [#"{"_id":"d"}"#]
        ),
    ])
    func mappingProducesDocuments(rules: String, document: String, expected: [String]) async throws {
        #expect(try await map(rules, document) == [expected])
    }

    @Test(arguments: [
        (
            "- {name: a, when: {}, then: [merge: {_id: null}]}\n- {name: b, when: {}, then: []}", #"{"_id":"d"}"#,
            "no '_id' that is text (after a, b)"
        ),
        ("- {name: a, when: {type: x}, then: []}", "{}", "no '_id' that is text (no rule fired for it)"),
        ("- {name: a, when: {}, then: []}", #"{"_id":""}"#, "no '_id' that is text (after a)"),
        ("- {name: a, when: {}, then: []}", #"{"_id":7}"#, "no '_id' that is text"),
        (
            "- {name: a, when: {}, then: [put: {id: d, document: {}}]}", #"{"_id":"d"}"#,
            "two documents with the '_id' 'd' (after a)"
        ),
        (
            "- {name: a, when: {}, then: [put: {document: {jq: '{_id: \"x\"}, {_id: \"x\"}'}}]}", #"{"_id":"d"}"#,
            "two documents with the '_id' 'x'"
        ),
        (
            "- {name: a, when: {}, then: [put: {document: {jq: '{_id: 7}'}}]}", #"{"_id":"d"}"#,
            "neither the rule's 'id' nor the document's '_id'"
        ),
        (
            "- {name: a, when: {}, then: [patch: [{op: replace, path: '', value: 7}]]}", #"{"_id":"d"}"#,
            "the document becomes 7, which is not an object"
        ),
        (
            "- {name: a, when: {}, then: [merge: {x: {jq: .n}}]}", #"{"_id":"d","n":12345678901234567890}"#,
            "jq can't hold exactly"
        ),
        ("- {name: a, when: {}, then: []}", "[]", "a document must be an object"),
        ("- {name: a, when: {}, then: []}", "{", "not JSON"),
    ])
    func invalidResultsAreRejected(rules: String, document: String, reason: String) async throws {
        let results = try await map(rules, document, #"{"_id":"next"}"#)
        #expect(results[0].count == 1 && results[0][0].contains(reason), "\(results)")
        #expect(results.count == 2)
    }

    @Test func repeatedPutIsOmittedUntilItChanges() async throws {
        let results = try await map(
            "- {name: a, when: {}, then: [put: {document: {_id: l, n: {jq: .n}}}, delete: {}]}",
            #"{"n":1}"#, #"{"n":1}"#, #"{"n":2}"#, #"{"n":1}"#, #"{"n":1}"#)
        let (one, two) = (#"{"_id":"l","n":1}"#, #"{"_id":"l","n":2}"#)
        #expect(results == [[one], [], [two], [one], []])
    }

    @Test func putIsForgottenWhenTheDocumentItselfIsMapped() async throws {
        let results = try await map(
            "- {name: a, when: {type: t}, then: [put: {document: {_id: l}}]}", #"{"_id":"1","type":"t"}"#,
            #"{"_id":"l"}"#, #"{"_id":"2","type":"t"}"#)
        #expect(results.map(\.count) == [2, 1, 2])
    }

    @Test func onlyRecentPutsAreRemembered() async throws {
        var recent = RecentPuts()
        func put(_ id: Int) throws -> Bool {
            recent.isNew(MappedDocument(id: "\(id)", document: try JSONText("{}"), attachments: [:]))
        }
        for id in 0..<10_000 { #expect(try put(id)) }
        #expect(try !put(9_999) && !put(6_000))
        #expect(try put(0))
    }

    @Test func attachmentsAreKeptUnlessALaterRuleRemovesThem() async throws {
        let set = try ruleFileSet(
            """
            version: 1
            kind: mapping
            rules:
              - {name: a, when: {}, then: [attach: {name: i, file: \(#filePath), content_type: text/plain}]}
              - {name: b, when: {gone: true}, then: [merge: {_attachments: null}]}
              - {name: c, when: {own: true}, then: [merge: {_attachments: {i: {data: aGk=, digest: null}}}]}
            """)
        let mapper = Mapping(try set.ruleSet(), slurps: [:]).makeMapper()
        let texts = [#"{"_id":"d"}"#, #"{"_id":"d","gone":true}"#, #"{"_id":"d","own":true}"#]
        let results = await mapper.map(texts.map { Array($0.utf8) }, now: 0)
        #expect(results.map { $0.documents[0].attachments.count } == [1, 0, 0])
        let body = try #require(results[0].documents.first).body
        #expect(body.segments().count == 3)
        #expect(results[2].documents[0].document.string.contains(#""data":"aGk=""#))
    }

    @Test func programsReadSlurpedDocuments() async throws {
        let users = Array(#"[{"_id":"u1","name":"amy"},{"_id":"u2","name":"ben"}]"#.utf8)
        let rules = """
            - name: a
              when: {}
              if: 'any($users[]; ._id == "u1")'
              then: [merge: {owner: {jq: '.owner as $o | first($users[] | select(._id == $o)).name'}}]
            """
        let results = try await map(
            rules, slurp: "slurp: [users]", slurps: ["users": users], #"{"_id":"d","owner":"u2"}"#,
            #"{"_id":"e","owner":"u3"}"#)
        #expect(results == [[#"{"_id":"d","owner":"ben"}"#], [#"{"_id":"e","owner":"u3"}"#]])
    }

    @Test(arguments: [
        ([:], "r.yaml:3:9: the mapping needs the data of $users; add --slurp users=FILE"),
        (
            ["users": "[]", "others": "[]"],
            "--slurp others: no mapping has this name in its 'slurp' list (known: users)"
        ),
        (["users": "{}"], "--slurp users: the data must be a list of documents"),
        (["users": "[1"], "--slurp users: the data is not JSON"),
        (
            ["users": "[12345678901234567890]"],
            "--slurp users: the data can't be used: the result depends on the number 1"
        ),
        (["users": #"["\ud800"]"#], "--slurp users: the data can't be used"),
    ])
    func slurpedDataMustExistAndBeValid(slurps: [String: String], expected: String) throws {
        let set = try ruleFileSet("version: 1\nkind: mapping\nslurp: [users]\nrules: []\n")
        let error = #expect(throws: RuleFilesError.self) {
            try set.ruleSet(slurps: slurps.mapValues { Array($0.utf8) })
        }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
        #expect(error?.kind == (expected.contains("users: the data") ? .invalid : .usage))
    }

    @Test func hashCoversRulesAndSlurpedData() throws {
        func hash(_ head: String, _ data: String) throws -> String {
            let set = try ruleFileSet("version: 1\nkind: mapping\nslurp: [u]\nrules: [\(head)]\n")
            let slurps = ["u": Array(data.utf8)]
            return Mapping(try set.ruleSet(slurps: slurps), slurps: slurps).hash
        }
        let rule = "{name: a, when: {}, then: []}"
        #expect(try hash(rule, "[]") == hash("{then: [], when: {}, name: a}", "[]"))
        #expect(try hash(rule, "[]") != hash(rule, "[1]"))
        #expect(try hash(rule, "[]") != hash("", "[]"))
    }
}

/// Rule files from a text, for tests without a disk.
func ruleFileSet(_ yaml: String, path: String = "r.yaml") throws -> RuleFileSet {
    let shared = RuleReading.Shared()
    let file = RuleFile(path: path, bytes: Array(yaml.utf8), shared: shared)
    let errors = file.errors + shared.programs.compile()
    guard errors.isEmpty else { throw RuleFilesError(kind: .invalid, errors: errors) }
    return RuleFileSet(files: [file], programs: shared.programs.all, attached: shared.attachments.paths)
}
