import Foundation
import TestKit
import Testing

/// `--before` of `rules try` and `rules explain`.
@Suite(.limitedParallelism) struct EarlierStateTests {
    private static let rules = """
        version: 1
        rules:
          - { name: moved, when: { type: bike }, changed: [station], then: [] }
          - { name: repaired, when: { type: bike, state: broken }, on: [leave], then: [] }

        """

    private func withFiles(_ files: [String: String], _ body: (_ folder: String) async throws -> Void) async throws {
        try await Program.withDirectory { folder in
            for (name, text) in files.merging(["r.yaml": Self.rules], uniquingKeysWith: { first, _ in first }) {
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
            }
            try await body(folder)
        }
    }

    private func explain(_ folder: String, _ document: String, before: String? = nil) async throws -> Program.Result {
        let earlier = before.map { ["--before", folder + "/" + $0] } ?? []
        return try await Program.run(
            ["rules", "explain", folder + "/r.yaml", "--document", folder + "/" + document] + earlier)
    }

    private func tryRules(_ folder: String, _ input: String, before: String, _ more: String...) async throws
        -> Program.Result
    {
        try await Program.run(
            ["rules", "try", folder + "/r.yaml", "--input", folder + "/" + input, "--before", folder + "/" + before]
                + more)
    }

    @Test func explainRefusesAnotherDocument() async throws {
        let files = ["a.json": #"{"_id":"b1","type":"bike"}"#, "b.json": #"{"_id":"b2","type":"bike"}"#]
        try await withFiles(files) { folder in
            let result = try await explain(folder, "a.json", before: "b.json")
            #expect(result.code == 65 && result.output == "")
            let message =
                "\(folder)/b.json: its _id is 'b2', but the document's is 'b1'; give the same document, as it was before\n"
            #expect(result.errors == message)
        }
    }

    @Test func explanationOfLeaveNamesTheMissingMatch() async throws {
        let files = [
            "free.json": #"{"_id":"b1","type":"bike","state":"free"}"#,
            "rented.json": #"{"_id":"b1","type":"bike","state":"rented"}"#,
            "broken.json": #"{"_id":"b1","type":"bike","state":"broken"}"#,
        ]
        try await withFiles(files) { folder in
            let remark = "; `leave` needs a document that matched before, and the rule has not seen it match"
            let never = try await explain(folder, "free.json")
            #expect(never.output.contains("repaired   does not fire: `when` does not hold" + remark), "\(never.output)")
            let other = try await explain(folder, "free.json", before: "rented.json")
            #expect(other.output.contains("repaired   does not fire: `when` does not hold" + remark), "\(other.output)")
            let left = try await explain(folder, "free.json", before: "broken.json")
            #expect(left.output.contains("repaired   fires: the document matched before"), "\(left.output)")
        }
    }

    @Test(arguments: ["_id,type\nb1,bike\n", "_id: b1\ntype: bike\n", "<a/>"])
    func explainSaysThatItReadsJSON(text: String) async throws {
        try await withFiles(["d.csv": text]) { folder in
            let result = try await explain(folder, "d.csv")
            #expect(result.code == 65)
            let message =
                "d.csv:1:1: not JSON: explain reads one document, as a JSON object; for a table or other formats use"
            #expect(result.errors.contains(message), "\(result.errors)")
        }
    }

    @Test func tryRefusesOtherDocumentsAndWarnsOfSome() async throws {
        let bikes = { (ids: [String], station: String) in
            ids.map { #"{"_id":"\#($0)","type":"bike","station":"\#(station)"}"# + "\n" }.joined()
        }
        let files = [
            "now.ndjson": bikes(["b1", "b2"], "x"), "other.ndjson": bikes(["b3"], "y"),
            "more.ndjson": bikes(["b1", "b3"], "y"), "same.ndjson": bikes(["b2", "b1"], "y"),
            "none.ndjson": "{\"type\":\"bike\"}\n", "bad.ndjson": "[1]\n",
        ]
        try await withFiles(files) { folder in
            let other = try await tryRules(folder, "now.ndjson", before: "other.ndjson")
            #expect(other.code == 65)
            let problem = "other.ndjson: none of its documents is in \(folder)/now.ndjson, so --before has no effect"
            #expect(other.errors.contains(problem), "\(other.errors)")
            let more = try await tryRules(folder, "now.ndjson", before: "more.ndjson")
            #expect(more.code == 0)
            #expect(more.errors.contains("warning: not in \(folder)/now.ndjson, so ignored: 'b3'"), "\(more.errors)")
            #expect(try await tryRules(folder, "now.ndjson", before: "more.ndjson", "--quiet").errors == "")
            let same = try await tryRules(folder, "now.ndjson", before: "same.ndjson")
            #expect(same.code == 0 && same.errors == "", "\(same.errors)")
            #expect(same.output.components(separatedBy: #""fired":["moved"]"#).count == 3, "\(same.output)")
            let none = try await tryRules(folder, "now.ndjson", before: "none.ndjson")
            #expect(
                none.code == 65 && none.errors.contains("none.ndjson:1:1: the document has no _id"), "\(none.errors)")
            let bad = try await tryRules(folder, "now.ndjson", before: "bad.ndjson")
            #expect(bad.code == 65 && bad.errors.contains("bad.ndjson:1:"), "\(bad.errors)")
        }
    }

    /// `$change.edge` has the form that it has in a run, and differs as edges differ.
    @Test func testsAndTrialsKnowTheEdge() async throws {
        func bike(_ id: String, _ station: String) -> String {
            #"{"_id":"\#(id)","type":"bike","station":"\#(station)"}"#
        }
        let rules = """
            version: 1
            rules:
              - name: moved
                when: { type: bike }
                changed: [station]
                then: [ put: { id: { jq: '"log." + $change.edge' }, document: { was: { jq: $before.station } } } ]
              - name: all
                when: { type: bike }
                then: [ put: { id: log.x, document: { edge: { jq: $change.edge } } } ]
            tests:
              - name: moved
                before: \(bike("b1", "x"))
                given: \(bike("b1", "y"))
                expect:
                  fired: [moved, all]
                  effects: [ { action: put, document: { was: x } }, { action: put, document: { edge: null } } ]

            """
        let files = [
            "r.yaml": rules, "now.ndjson": bike("b1", "y") + "\n" + bike("b2", "y") + "\n",
            "x.ndjson": bike("b1", "x") + "\n" + bike("b2", "x") + "\n",
            "z.ndjson": bike("b1", "z") + "\n" + bike("b2", "y") + "\n",
        ]
        try await withFiles(files) { folder in
            let test = try await Program.run(["rules", "test", folder + "/r.yaml"])
            #expect(test.code == 0, "\(test.output)")
            func ids(_ before: String) async throws -> [String] {
                let result = try await tryRules(folder, "now.ndjson", before: before)
                return result.output.matches(of: /"id":"(log\.[0-9a-f]{24})"/).map { String($0.1) }
            }
            let first = try await ids("x.ndjson")
            #expect(Set(first).count == 2)
            #expect(try await ids("x.ndjson") == first)
            #expect(try await ids("z.ndjson") == [first[0]])
        }
    }
}
