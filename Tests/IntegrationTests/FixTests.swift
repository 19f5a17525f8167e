import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

@Suite(.limitedParallelism) struct FixTests {
    private static let rules = """
        version: 1
        rules:
          - name: complete-missing
            when: { type: task, complete: { $exists: false } }
            then: [{ merge: { complete: false } }]
          - name: shout
            when: { type: task, task: { $regex: "!" } }
            then: [{ merge: { task: { jq: '.task | gsub("!"; "")' }, at: { jq: "$now | todate" } } }]
        """

    private func documents(_ count: Int) -> [(id: DocumentID, body: String)] {
        (0..<count).map { number in
            let complete = number % 3 == 0 ? "" : #","complete":true"#
            let task = number % 5 == 0 ? "tea!" : "tea"
            let id = "t\(String(repeating: "0", count: 6 - "\(number)".count))\(number)"
            return (
                DocumentID(id),
                #"{"_id":"\#(id)","n":12345678901234567890123,"type":"task","task":"\#(task)"\#(complete)}"#
            )
        }
    }

    @Test func documentsAreFixedOnceAndThirdPassWritesNothing() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load(documents(1_200))
            let shown = try await bed.preview(rules)
            let wrong = (0..<1_200).count { number in number % 3 == 0 || number % 5 == 0 }
            #expect(shown.count == wrong)
            let done = try await bed.fix(rules)
            #expect(done.changes >= 1_200)
            #expect(done.written == shown.count)
            #expect(done.deadLetters == 0)
            #expect(try await bed.fix(rules).written == 0)
            #expect(try await bed.fix(rules, state: "another").written == 0)
            #expect(try await bed.preview(rules, state: "none").isEmpty)
            let fixed = try #require(try await bed.stored("t000015"))
            #expect(fixed.root["task"]?.string == "tea")
            #expect(fixed.root["at"]?.string == "2026-11-20T10:00:00Z")
            #expect(fixed.root["complete"]?.bool == false)
            #expect(fixed.root["n"]?.bytes.elementsEqual("12345678901234567890123".utf8) == true)
        }
    }

    @Test func previewShowsEachDocumentAndWritesNothing() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load(documents(3))
            let before = try await bed.stored("t000000")?.root["_rev"]?.string
            let shown = try await bed.preview(rules)
            #expect(shown.count == 1)
            let line = try JSONText(try #require(shown.first)).root
            #expect(line["id"]?.string == "t000000")
            #expect(line["revision"]?.string == before)
            #expect(line["fired"]?.elements.map { $0.string } == ["complete-missing", "shout"])
            #expect(
                line["patch"].map { String(decoding: $0.bytes, as: UTF8.self) }
                    == #"[{"op":"replace","path":"/task","value":"tea"},{"op":"add","path":"/complete","value":false},{"op":"add","path":"/at","value":"2026-11-20T10:00:00Z"}]"#
            )
            #expect(try await bed.stored("t000000")?.root["_rev"]?.string == before)
            #expect(!FileManager.default.fileExists(atPath: bed.directory + "/fix"))
        }
    }

    @Test func limitChangesTheFirstDocumentsOnly() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load(documents(40))
            #expect(try await bed.fix(rules) { $0.changeLimit = 4 }.written == 4)
            // A rule fires on 0, 3, 5 and 6 first.
            #expect(try await bed.stored("t000006")?.root["complete"]?.bool == false)
            #expect(try await bed.stored("t000009")?.root["complete"] == nil)
            #expect(try await bed.fix(rules) { $0.changeLimit = 0 }.written == 0)
        }
    }

    @Test func selectorAndRuleNamesLimitThePass() async throws {
        try await BotTestBed.with { bed in
            _ = try bed.rules(Self.rules)
            try await bed.load(documents(31))
            let files = try RuleFileSet.load(paths: [bed.directory + "/rules.yaml"])
            let filter = try DocumentFilter(#"{"_id": {"$gte": "t000030"}}"#, name: "--selector")
            let one = try await bed.fix(try files.ruleSet(only: ["shout"], filter: filter))
            #expect(one.written == 1)
            #expect(one.rules.fired == ["shout": 1])
            #expect(try await bed.stored("t000030")?.root["complete"] == nil)
            #expect(throws: RuleFilesError.self) { try files.ruleSet(only: ["shuot"]) }
        }
    }

    @Test func rerunAfterAnyKillGivesTheSameResult() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load(documents(800))
            for _ in 0..<4 {
                let pass = Task { try await bed.fix(rules) { $0.limits.documents = 20 } }
                let first = try #require(try await bed.phone.databaseInfo().updateSequence)
                var answer = try await bed.phone.changes(
                    ChangesRequest(since: first, feed: .longpoll(timeout: .seconds(1))))
                _ = try await answer.next()
                pass.cancel()
                _ = await pass.result
            }
            try await bed.fix(rules)
            #expect(try await bed.preview(rules, state: "none").isEmpty)
            let stored = try await bed.phone.allDocs(keys: documents(800).map(\.id))
            let revisions = stored.map { lookup -> Int? in
                if case .found(let revision, _) = lookup { revision.generation } else { nil }
            }
            let expected = (0..<800).map { $0 % 3 == 0 || $0 % 5 == 0 ? 2 : 1 }
            #expect(revisions == expected)
        }
    }

    @Test func deletedDocumentsLeaveTombstones() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                "version: 1\nrules: [{name: gone, when: {complete: true}, then: [{delete: {}}]}]\n")
            try await bed.load(documents(10))
            #expect(try await bed.fix(rules).written == 6)
            #expect(try await bed.stored("t000001") == nil)
            #expect(try await bed.stored("t000003") != nil)
            #expect(try await bed.fix(rules).written == 0)
        }
    }

    @Test func tooManyErrorsStopThePass() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                "version: 1\nrules: [{name: bad, when: {type: task}, then: [{patch: [{op: remove, path: /none}]}]}]\n")
            try await bed.load(documents(50))
            let failure = await #expect(throws: RunError.self) {
                try await bed.fix(rules) { $0.errorLimit = .count(10) }
            }
            #expect(failure?.code == .tooManyErrors)
            #expect(try await bed.fix(rules, state: "all").deadLetters == 50)
        }
    }
}
