import Foundation
import TestKit
import Testing

@Suite(.limitedParallelism) struct RulesCommandTests {
    private static let rules = """
        version: 1
        rules:
          - name: shout
            when: { task: { $regex: "!$" } }
            then: [{ merge: { task: { jq: '.task | rtrimstr("!")' } } }]
          - name: gone
            when: { done: true }
            if: .at < $now
            allow: [no-timer]
            then: [delete: {}]
          - name: broken
            when: { broken: true }
            then: [{ merge: { jq: 'error("no")' } }]
        tests:
          - name: a cry is lowered
            given: { _id: t, task: "tea!" }
            expect: { fired: [shout], document: { _id: t, task: tea } }

        """
    /// Without programs, because jq compiles them slowly.
    private static let plainRules = """
        version: 1
        rules:
          - name: shout
            when: { task: { $regex: "!$" } }
            then: [{ merge: { task: tea } }]
        tests:
          - name: a cry is lowered
            given: { _id: t, task: "tea!" }
            expect: { fired: [shout], document: { _id: t, task: tea } }

        """

    private func withFile(_ text: String = plainRules, _ body: (_ folder: String, _ file: String) async throws -> Void)
        async throws
    {
        try await Program.withDirectory { folder in
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            try await body(folder, folder + "/r.yaml")
        }
    }

    @Test func checkCountsRulesAndActions() async throws {
        try await withFile(Self.rules) { _, file in
            let result = try await Program.run(["rules", "check", file])
            #expect(result.code == 0)
            #expect(result.output == "1 file, 3 rules, 1 test: valid, no warnings\n")
            #expect(result.errors == "")
        }
    }

    @Test func fileWithoutRulesIsWarnedOf() async throws {
        try await withFile("version: 1\nrules: []\n") { folder, file in
            for (more, code) in [([], 0), (["--strict"], 65)] as [([String], Int32)] {
                let result = try await Program.run(["rules", "check", file] + more)
                #expect(result.code == code && result.output.contains("valid, 1 warning"), "\(result.output)")
                #expect(result.errors.contains("\(file):2:8: warning: there are no rules in this file"))
            }
            let run = try await Program.run([
                "run", "--once", "--gateway", "embedded:", "--rules", file, "--state", folder + "/state",
            ])
            #expect(run.code == 0 && run.errors.contains("a rule file looks incomplete"), "\(run.errors)")
            #expect(run.errors.contains("there are no rules in this file"), "\(run.errors)")
        }
    }

    @Test func checkReportsErrors() async throws {
        try await withFile("version: 1\nrules: [{name: a, when: {}, if: '.a ==', then: [mrege: {}]}]\n") { _, file in
            let result = try await Program.run(["rules", "check", file])
            #expect(result.code == 65)
            #expect(result.errors.contains("\(file):2:49: 'mrege' is not known to this version: did you mean 'merge'?"))
            #expect(result.errors.contains("\(file):2:39: not a jq program: "))
            #expect(result.output == "")
        }
        #expect(try await Program.run(["rules", "check", "/none.yaml"]).code == 66)
        #expect(try await Program.run(["rules", "check"]).code == 64)
    }

    @Test func warningsAreErrorsOnlyIfStrict() async throws {
        try await withFile("version: 1\nrules: [{name: a, when: {x: 1}, then: [merge: {y: 2}]}]\n") { _, file in
            let result = try await Program.run(["rules", "check", file])
            #expect(result.code == 0)
            #expect(result.errors.hasPrefix("\(file):2:"))
            #expect(result.errors.contains(": warning: "))
            #expect(result.output.hasSuffix("valid, 1 warning\n"))
            #expect(try await Program.run(["rules", "check", "--strict", file]).code == 65)
            let strict = try await Program.run(["rules", "check", file], environment: ["CHANGEBOT_STRICT": "1"])
            #expect(strict.code == 65)
        }
    }

    @Test func warningsHaveTheFormOfTheLog() async throws {
        try await withFile("version: 1\nrules: [{name: a, when: {x: 1}, then: [merge: {y: 2}]}]\n") { _, file in
            let json = try await Program.run(["rules", "check", file, "--log-format", "json"])
            #expect(json.code == 0)
            #expect(json.errors.hasPrefix("{") && json.errors.contains("[fires-again]"), "\(json.errors)")
            let quiet = try await Program.run(["rules", "check", file, "--quiet"])
            #expect(quiet.code == 0 && quiet.errors == "" && quiet.output == "", "\(quiet.errors)")
            let strict = try await Program.run(["rules", "check", file, "--quiet", "--strict"])
            #expect(strict.code == 65 && strict.errors.contains("[fires-again]"), "\(strict.errors)")
            let test = try await Program.run(["rules", "test", file, "--quiet", "--log-format", "json"])
            #expect(test.code == 0 && test.errors == "" && test.output == "", "\(test.errors)")
        }
    }

    @Test func ruleTestsPassOrShowTheDifference() async throws {
        try await withFile { folder, file in
            let passed = try await Program.run(["rules", "test", file])
            #expect(passed.code == 0)
            #expect(passed.output == "ok    a cry is lowered\n1 test, all passed\n")
            let wrong = Self.plainRules.replacing("{ _id: t, task: tea }", with: "{ _id: t, task: milk }")
            try Data(wrong.utf8).write(to: URL(fileURLWithPath: file))
            let failed = try await Program.run(["rules", "test", file])
            #expect(failed.code == 1)
            #expect(failed.output.contains("FAIL  \(file):7: a cry is lowered\n"))
            #expect(failed.output.contains("-   \"task\": \"milk\""), "\(failed.output)")
            #expect(failed.output.contains("+   \"task\": \"tea\""))
            #expect(failed.output.hasSuffix("1 test, 1 failed\n"))
            let quiet = try await Program.run(["rules", "test", file, "--quiet"])
            #expect(quiet.code == 1 && quiet.output == "")
            #expect(quiet.errors.hasPrefix("FAIL  \(file):7: a cry is lowered\n"), "\(quiet.errors)")
            #expect(quiet.errors.contains("+   \"task\": \"tea\""), "\(quiet.errors)")
        }
    }

    @Test func tryPrintsOneObjectForEachDocument() async throws {
        try await withFile(Self.rules) { folder, file in
            let lines = [
                #"{"_id":"a","task":"tea!","n":1.10}"#, "", #"{"task":"tea"}"#,
                #"{"_id":"c","_rev":"1-a","done":true,"at":5}"#, #"{"_id":"d","broken":true}"#,
            ]
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: folder + "/in.ndjson"))
            let result = try await Program.run(["rules", "try", file, "--input", folder + "/in.ndjson", "--now", "10"])
            #expect(result.code == 0)
            #expect(
                result.output == """
                    {"id":"a","fired":["shout"],"patch":[{"op":"replace","path":"/task","value":"tea"}],"attachments":[],"deleted":false,"effects":[],"error":null}
                    {"id":null,"fired":[],"patch":[],"attachments":[],"deleted":false,"effects":[],"error":null}
                    {"id":"c","fired":["gone"],"patch":[],"attachments":[],"deleted":true,"effects":[],"error":null}
                    {"id":"d","fired":[],"patch":[],"attachments":[],"deleted":false,"effects":[],"error":"rule 'broken': merge: the program fails: no"}

                    """)
        }
    }

    /// A program's result is unknown before it runs.
    @Test func tryReportsAnIncompleteBlob() async throws {
        let rules = """
            version: 1
            rules:
              - name: computed
                when: { type: task }
                then: [ merge: { jq: '.changes' } ]

            """
        let sha1 = "sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8="
        let blob = #"{"@type":"blob","content_type":"image/png","digest":"\#(sha1)","length":6}"#
        let stub = #"{"content_type":"image/png","digest":"\#(sha1)","length":6,"stub":true}"#
        let stubs = #""_attachments":{"blob_/image":\#(stub)}"#
        let lines = [
            #"{"_id":"a","type":"task","image":\#(blob),\#(stubs),"changes":{"image":null}}"#,
            #"{"_id":"b","type":"task","changes":{"photo":\#(blob)}}"#,
            // The blob is moved, another member is changed, and the blob was already invalid.
            #"{"_id":"c","type":"task","image":\#(blob),\#(stubs),"changes":{"image":null,"photo":\#(blob)}}"#,
            #"{"_id":"d","type":"task","image":\#(blob),\#(stubs),"changes":{"image":{"caption":"x"}}}"#,
            #"{"_id":"e","type":"task","image":\#(blob),"changes":{"n":1}}"#,
        ]
        try await withFile(rules) { folder, file in
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: folder + "/in.ndjson"))
            let result = try await Program.run(["rules", "try", file, "--input", folder + "/in.ndjson"])
            #expect(result.code == 0 && result.output.split(separator: "\n").count == 5)
            let half = "incomplete Couchbase Lite blob"
            #expect(
                result.errors.split(separator: "\n").map(String.init) == [
                    "warning: 'a': \(half): /image: the attachment 'blob_/image' remains, but its blob is gone",
                    "warning: 'b': \(half): /photo: the blob has no attachment 'blob_/photo'",
                ])
            let quiet = try await Program.run(["rules", "try", file, "--input", folder + "/in.ndjson", "--quiet"])
            #expect(quiet.code == 0 && quiet.errors.isEmpty)
        }
    }

    @Test func badLineIsNamedAndOthersAreShown() async throws {
        try await withFile { folder, file in
            try Data("{\"_id\":\"a\"}\n{\"_id\":}\n[1]\n{\"_id\":\"b\"}\n".utf8).write(
                to: URL(fileURLWithPath: folder + "/in.ndjson"))
            let result = try await Program.run(["rules", "try", file, "--input", folder + "/in.ndjson"])
            #expect(result.code == 65)
            #expect(result.errors.contains("\(folder)/in.ndjson:2:8: not JSON: expected a value, found '}'"))
            #expect(result.errors.contains("\(folder)/in.ndjson:3:1: a document must be an object"))
            #expect(result.output.split(separator: "\n").count == 2)
            #expect(try await Program.run(["rules", "try", file, "--input", folder + "/none"]).code == 66)
        }
    }

    /// Every format that import reads.
    @Test(arguments: [
        ("in.ndjson", "{\"_id\":\"a\",\"task\":\"tea!\"}\n", []), ("in.json", #"[{"_id":"a","task":"tea!"}]"#, []),
        ("in.json", "{\n\"_id\":\"a\",\n\"task\":\"tea!\"}", []),
        ("answer.json", #"{"rows":[{"doc":{"_id":"a","task":"tea!"}}]}"#, []), ("in.csv", "_id,task\na,tea!\n", []),
        ("in.txt", "_id;task\na;tea!\n", ["--format", "csv", "--delimiter", ";"]),
        ("in.csv", "_id\ttask\na\ttea!\n", ["--delimiter", "tab"]),
        ("in", #"{"_id":"a","task":{"$symbol":"tea!"}}"#, ["--format", "ejson"]),
    ])
    func tryReadsTheFormatsOfImport(name: String, text: String, options: [String]) async throws {
        try await withFile { folder, file in
            let input = folder + "/" + name
            try Data(text.utf8).write(to: URL(fileURLWithPath: input))
            let result = try await Program.run(["rules", "try", file, "--input", input] + options)
            #expect(result.code == 0, "\(result.errors)")
            #expect(result.output.hasPrefix(#"{"id":"a","fired":["shout"],"#), "\(result.output)")
        }
    }

    @Test func tryRefusesADelimiterWithoutATable() async throws {
        try await withFile { folder, file in
            try Data("{}".utf8).write(to: URL(fileURLWithPath: folder + "/in.ndjson"))
            let run = ["rules", "try", file, "--input", folder + "/in.ndjson", "--delimiter"]
            let noTable = try await Program.run(run + [";"])
            #expect(noTable.code == 64 && noTable.errors.contains("--format csv"), "\(noTable.errors)")
            let noDelimiter = try await Program.run(run + ["ab", "--format", "csv"])
            #expect(noDelimiter.code == 64 && noDelimiter.errors.contains("--delimiter"), "\(noDelimiter.errors)")
        }
    }

    @Test func environmentIsReadWhereItApplies() async throws {
        try await withFile(Self.rules) { folder, file in
            let document = folder + "/d.json"
            try Data(#"{"_id":"a","done":true,"at":20}"#.utf8).write(to: URL(fileURLWithPath: document))
            let later = try await Program.run(
                ["rules", "explain", file, "--document", document],
                environment: ["CHANGEBOT_NOW": "30", "CHANGEBOT_RULE": "gone"])
            #expect(later.output.hasPrefix("gone   fires"), "\(later.output)")
            let wrong = try await Program.run(
                ["rules", "explain", file, "--document", document], environment: ["CHANGEBOT_NOW": "soon"])
            #expect(wrong.code == 64 && wrong.errors.contains("CHANGEBOT_NOW='soon'"), "\(wrong.errors)")
            // Only for tables.
            let tried = try await Program.run(
                ["rules", "try", file, "--input", document],
                environment: ["CHANGEBOT_DELIMITER": ";", "CHANGEBOT_NOW": "10"])
            #expect(tried.code == 0 && tried.output.contains(#""fired":[]"#), "\(tried.errors)")
        }
    }

    @Test func explainNamesTheFailedClause() async throws {
        try await withFile(Self.rules) { folder, file in
            try Data(#"{"_id":"a","task":"tea","done":true,"at":20}"#.utf8).write(
                to: URL(fileURLWithPath: folder + "/d.json"))
            let result = try await Program.run(
                [
                    "rules", "explain", file, "--document", folder + "/d.json", "--now", "10", "--rule", "shout",
                    "--rule", "gone",
                ])
            #expect(result.code == 0)
            #expect(result.output.contains("shout   does not fire: `when` does not hold"))
            #expect(result.output.contains(#"task: { $regex: "!$" }"#))
            #expect(result.output.contains(#"✗  "tea""#))
            #expect(result.output.contains("gone   does not fire: `if` is not true"))
            let unknown = try await Program.run(
                ["rules", "explain", file, "--document", folder + "/d.json", "--rule", "shuot"])
            #expect(unknown.code == 64 && unknown.errors.contains("did you mean 'shout'?"), "\(unknown.errors)")
        }
    }

    @Test(
        arguments: [
            (
                "two.ndjson", "{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n", 65,
                "FILE:2:1: a second document begins; explain takes one document"
            ),
            ("list.json", "[{\"_id\":\"a\"}]", 65, "FILE:1:1: this is a list of documents; explain takes one document"),
            ("number.json", "5", 65, "FILE:1:1: a document must be an object"),
            ("empty.json", " \n", 65, "FILE:2:1: there is no document; write one JSON object"),
            ("bad.json", "{\"_id\":}", 65, "FILE:1:8: not JSON: expected a value, found '}'"),
            ("none.json", nil, 66, "FILE does not exist; correct the path"),
        ] as [(String, String?, Int32, String)])
    func explainTakesOneDocument(name: String, text: String?, code: Int32, message: String) async throws {
        try await withFile { folder, file in
            let document = folder + "/" + name
            if let text { try Data(text.utf8).write(to: URL(fileURLWithPath: document)) }
            let result = try await Program.run(["rules", "explain", file, "--document", document])
            #expect(result.code == code && result.output == "")
            #expect(result.errors.contains(message.replacing("FILE", with: document)), "\(result.errors)")
        }
    }

    @Test func folderIsNoDocumentAndMayHaveNoRules() async throws {
        try await withFile { folder, file in
            let document = try await Program.run(["rules", "explain", file, "--document", folder])
            #expect(document.code == 66)
            #expect(document.errors.contains("is a folder; name a file in it"), "\(document.errors)")
            let empty = folder + "/empty"
            try FileManager.default.createDirectory(atPath: empty + "/sub", withIntermediateDirectories: true)
            try Data(Self.plainRules.utf8).write(to: URL(fileURLWithPath: empty + "/sub/r.yaml"))
            let check = try await Program.run(["rules", "check", empty])
            #expect(check.code == 66)
            #expect(check.errors.hasPrefix("\(empty): has no rule files (*.yaml, "), "\(check.errors)")
        }
    }

    @Test(arguments: ["r.yaml", "r.json"]) func emptyFileIsReportedAsEmpty(name: String) async throws {
        try await withFile { folder, _ in
            let file = folder + "/" + name
            try Data(" \n".utf8).write(to: URL(fileURLWithPath: file))
            let check = try await Program.run(["rules", "check", file])
            #expect(check.code == 65)
            #expect(
                check.errors
                    == "\(file):1:1: the file is empty; a rule file begins with 'version: 1' and has 'rules:'\n")
        }
    }

    @Test func shippedRulesHaveNoWarningsAndPassTheirTests() async throws {
        let check = try await Program.run(["rules", "check", "--strict", Program.rules])
        #expect(check.code == 0, "\(check.errors)")
        let test = try await Program.run(["rules", "test", Program.rules])
        #expect(test.code == 0, "\(test.output)")
        #expect(test.output.hasSuffix("all passed\n") && !test.output.hasPrefix("no tests"))
    }

    @Test func printedSchemaIsTheShippedOne() async throws {
        let shipped = try String(contentsOfFile: Program.root + "/assets/rule-file.schema.json", encoding: .utf8)
        #expect(try await Program.run(["rules", "schema"]).output == shipped)
    }
}
