import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct EmitTests {
    private static let identity = CloudEvent.Identity(id: "k", time: 0, keyspace: "shop")

    /// The lines that a rule emits for a document.
    private func lines(_ action: String, _ document: String) async throws -> [String] {
        let rules = try ruleSet(lines: "name: a, when: {}, then: [\(action)]")
        let decision = try await rules.decided(document)
        #expect(decision.error == nil)
        #expect(!decision.isChanged)
        return decision.outside.compactMap { effect in
            guard case .emit(let emit) = effect.kind else { return nil }
            return String(decoding: emit.bytes(Self.identity), as: UTF8.self)
        }
    }

    @Test func eventIsTheDefaultLine() async throws {
        #expect(
            try await lines("emit: {file: a.ndjson}", #"{"_id":"o1","_rev":"1-a","total":1.10}"#) == [
                #"{"specversion":"1.0","id":"k","source":"/shop","type":"changebot.document.changed","subject":"o1","#
                    + #""time":"1970-01-01T00:00:00Z","datacontenttype":"application/json","#
                    + #""data":{"_id":"o1","_rev":"1-a","total":1.10}}"#
            ])
        let named = "emit: {file: a, line: cloudevents, event: {type: paid, source: /s, subject: {jq: .n}}}"
        let line = try #require(try await lines(named, #"{"_id":"o1","n":"x"}"#).first)
        #expect(line.contains(#""source":"/s","type":"paid","subject":"x""#))
    }

    /// A document may have line feeds between its tokens. In strings they are escaped.
    @Test func lineContainsNoLineFeeds() async throws {
        let document = "{ \"_id\":\n\"o\",\r\n\t\"text\": \"a\\n \\\" b\", \"n\": [1.10,\n 12345678901234567890] }"
        let compact = #"{"_id":"o","text":"a\n \" b","n":[1.10,12345678901234567890]}"#
        #expect(try await lines("emit: {file: a, line: document}", document) == [compact])
        #expect(try await lines("emit: {file: a}", document).first?.hasSuffix(#""data":\#(compact)}"#) == true)
    }

    @Test(arguments: [
        ("{jq: '.lines[]'}", #"{"lines":[{"a":1},"b",null,3]}"#, [#"{"a":1}"#, #""b""#, "3"]),
        ("{jq: '{id: ._id, seq: $change.seq}'}", #"{"_id":"x"}"#, [#"{"id":"x","seq":null}"#]),
        ("{jq: empty}", "{}", []), ("{jq: 'null'}", "{}", []),
        ("{kind: order, total: {jq: .t}}", #"{"t":2}"#, [#"{"kind":"order","total":2}"#]),
    ])
    func computedLines(line: String, document: String, expected: [String]) async throws {
        #expect(try await lines("emit: {file: a, line: \(line)}", document) == expected)
    }

    @Test func eachElementGetsItsLine() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {}, then: [{for_each: '.lines[]', emit: {file: a, line: {n: {jq: $item}}}}]")
        let decision = try await rules.decided(#"{"lines":[1,2]}"#)
        #expect(decision.outside.map(\.origin.element) == [0, 1])
    }

    @Test func lineSeesChangesOfEarlierActions() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {n: 0}, then: [{merge: {n: 1}}, {emit: {file: a, line: document}}]")
        let decision = try await rules.decided(#"{"n":0}"#)
        guard case .emit(let emit)? = decision.outside.first?.kind else {
            Issue.record("nothing is emitted")
            return
        }
        #expect(String(decoding: emit.bytes(nil), as: UTF8.self) == #"{"n":1}"#)
    }

    @Test func reportShowsEffects() async throws {
        let rules = try ruleSet(
            "version: 1\nrules: [{name: a, when: {}, then: [{emit: {file: ../out/a.ndjson, line: document}}]}]",
            path: "rules/r.yaml")
        let input = try JSONText("{\"_id\":\n\"x\"}")
        let decision = try #require(await rules.makeDecider().decide(on: [DecisionInput(input)], now: 0).first)
        var writer = JSONWriter()
        DecisionReport(input, decision, names: rules.names).writeEffects(to: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"[{"rule":"a","action":"emit","file":"../out/a.ndjson","line":{"_id":"x"}}]"#)
        #expect(rules.emitTargets == [.file(path: "rules/../out/a.ndjson", nil)])
        #expect(decision.outside.map(\.title) == ["emit to ../out/a.ndjson"])
    }

    @Test func ruleFileTestCanExpectALine() async throws {
        let yaml = """
            version: 1
            rules: [{name: a, when: {}, then: [{emit: {file: a, line: {id: {jq: ._id}}}}]}]
            tests:
              - {name: t, given: {_id: x}, expect: {effects: [{action: emit, file: a, line: {id: x}}]}}
              - {name: u, given: {_id: x}, expect: {effects: [{action: emit, line: {id: y}}]}}
            """
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "r.yaml", bytes: Array(yaml.utf8), shared: shared)
        #expect(file.errors == [] && shared.programs.compile() == [])
        let files = RuleFileSet(files: [file], programs: shared.programs.all, attached: shared.attachments.paths)
        #expect(await files.runTests(now: 0).map(\.hasPassed) == [true, false])
    }

    @Test func targetsAreStdoutOrFiles() throws {
        let rotate = "rotate: {size: 1.5MB}"
        #expect(errors(Self.rule("emit: {file: a, \(rotate)}")).count == 1)
        let rules = try ruleSet(
            lines: "name: a, when: {}, then: [{emit: {file: /x/a, rotate: {size: 100MB, every: hour, keep: 14}}}]",
            "name: b, when: {}, then: [{emit: {file: '-'}}, {emit: {file: /x/a, rotate: {size: 5000B}}}]")
        #expect(
            rules.emitTargets == [
                .standardOutput, .file(path: "/x/a", EmitRotation(size: 100 << 20, every: .hour, keep: 14)),
                .file(path: "/x/a", EmitRotation(size: 5000)),
            ])
    }

    private static func rule(_ action: String) -> String {
        "version: 1\nrules:\n- {name: a, when: {}, then: [\(action)]}\n"
    }

    @Test(arguments: [
        (
            "emit: a",
            "emit must be an object with the keys file, line, event, rotate, not text; write emit: { file: a }"
        ),
        ("emit: {line: document}", "'file' is missing; name the file, or - for stdout: file: ../out/orders.ndjson"),
        ("emit: {file: {jq: .f}}", "'file' can't be computed by jq in this version; write the value itself"),
        ("emit: {file: out/}", "'file' is a folder; name a file in it"),
        (
            "emit: {file: a, line: text}",
            "'line' must be cloudevents (the default), document, an object or { jq: PROGRAM }; write one of them"
        ),
        (
            "emit: {file: a, line: document, event: {type: t}}",
            "'event' is for CloudEvents only; remove it, or write line: cloudevents"
        ),
        ("emit: {file: '-', rotate: {every: day}}", "stdout can't be rotated; remove 'rotate', or name a file"),
        ("emit: {file: a, rotate: {keep: 2}}", "'rotate' needs 'size', 'every' or both; write every: day"),
        ("emit: {file: a, rotate: {every: week}}", "'every' must be hour or day (UTC); write one of them"),
        (
            "emit: {file: a, rotate: {every: day, keep: 0}}",
            "'keep' must be the number of rotated files, at least 1; correct it"
        ),
        ("emit: {file: a, rotate: {size: 0}}", "'size' must be a size such as 5MB or 100MB; correct it"),
        ("emit: {file: a, rotate: {size: 9999999GB}}", "'size' must be a size such as 5MB or 100MB; correct it"),
    ])
    func invalidEmitsAreRefused(action: String, message: String) {
        let found = errors(Self.rule(action))
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(": " + message) == true, "\(found)")
    }

    @Test func mappingWithEmitIsRefused() {
        let found = errors("version: 1\nkind: mapping\nrules: [{name: a, when: {}, then: [{emit: {file: a}}]}]\n")
        #expect(
            found == ["r.yaml:3:43: a mapping can't emit lines: an import only writes documents; remove 'emit'"])
    }
}
