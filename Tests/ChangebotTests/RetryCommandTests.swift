import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@Suite(.limitedParallelism) struct RetryCommandTests {
    private static let broken = """
          - name: needs-place
            when: { type: task, done: { $exists: false } }
            then: [{ patch: [{ op: remove, path: /place }, { op: add, path: /done, value: true }] }]

        """
    private static let repaired = """
          - name: needs-place
            when: { type: task, done: { $exists: false } }
            then: [{ merge: { done: true } }]

        """

    private func task(_ id: String, _ more: String = "") -> String { #"{"_id":"\#(id)","type":"task"\#(more)}"# }

    /// Three tasks with dead letters.
    private func deadLettered(_ body: (CommandTestBed) async throws -> Void) async throws {
        try await CommandTestBed.with([task("a"), task("b"), task("c")], rules: Self.broken) { bed in
            #expect(try await bed.runOnce().code == 1)
            try await body(bed)
        }
    }

    @Test func correctedRulesSettleAllDeadLetters() async throws {
        try await deadLettered { bed in
            try bed.write(rules: Self.repaired)
            let retry = try await bed.retry("--summary", bed.folder + "/summary.json")
            #expect(retry.code == 0, "\(retry.errors)")
            #expect(retry.output == "")
            #expect(retry.errors.contains("3 of 3 dead letters are settled"))
            #expect(try bed.deadLetters().isEmpty)
            for id in ["a", "b", "c"] as [DocumentID] {
                #expect(try await bed.document(id)?.root["done"]?.bool == true)
            }
            let summary = try String(contentsOfFile: bed.folder + "/summary.json", encoding: .utf8)
            #expect(summary.contains(#""written":3"#))
            #expect(try await bed.retry().errors.contains("no dead letters"))
        }
    }

    @Test func retryReadsCurrentDocuments() async throws {
        try await deadLettered { bed in
            // One is repaired, one was done by another client, one fails again.
            try await bed.put([task("a", #","place":1"#), task("b", #","done":false"#)])
            let before = try bed.deadLetters()[2].root
            let retry = try await bed.retry()
            #expect(retry.code == 1)
            #expect(retry.errors.contains("2 of 3 dead letters are settled"))
            let deadLetters = try bed.deadLetters()
            #expect(deadLetters.count == 1)
            let deadLetter = try #require(deadLetters.first).root
            #expect(deadLetter["number"]?.integer == 3)
            #expect(deadLetter["id"]?.string == "c")
            #expect(deadLetter["reason"]?.string == before["reason"]?.string)
            #expect(deadLetter["sequence"].map { Array($0.bytes) } == before["sequence"].map { Array($0.bytes) })
            #expect(try await bed.document("a")?.root["done"]?.bool == true)
            #expect(try await bed.document("b")?.root["done"]?.bool == false)
        }
    }

    @Test func onlyNamedDeadLettersAreRetried() async throws {
        try await deadLettered { bed in
            try bed.write(rules: Self.repaired)
            #expect(try await bed.retry("1", "c").code == 0)
            #expect(try bed.deadLetterIDs() == ["b"])
            #expect(try await bed.document("b")?.root["done"] == nil)
            #expect(try await bed.retry("nobody").code == 66)
        }
    }

    @Test func severalDeadLettersOfADocumentBecomeOneOrNone() async throws {
        try await deadLettered { bed in
            try await bed.put([task("a", #","n":2"#)])
            #expect(try await bed.runOnce().code == 1)
            #expect(try bed.deadLetterIDs() == ["a", "b", "c", "a"])
            try await bed.put([task("a", #","n":3"#)])
            #expect(try await bed.retry().code == 1)
            let deadLetters = try bed.deadLetters()
            #expect(deadLetters.map { $0.root["number"]?.integer } == [1, 2, 3])
            #expect(deadLetters[0].root["revision"]?.string?.hasPrefix("3-") == true)
        }
    }

    @Test func deadLettersOfDeletedDocumentsAreDropped() async throws {
        try await deadLettered { bed in
            try await bed.put([#"{"_id":"a","_deleted":true}"#])
            #expect(try await bed.retry("a").code == 0)
            #expect(try bed.deadLetterIDs() == ["b", "c"])
        }
    }

    @Test func rulesForDeletionsDecideTombstones() async throws {
        let rules = """
              - name: tell
                on: [delete]
                when: { _id: { $regex: "^a" } }
                then: [{ put: { id: { jq: "error(\\"no\\")" }, document: { gone: true } } }]

            """
        try await CommandTestBed.with([task("a"), task("b")], rules: rules) { bed in
            try await bed.put([#"{"_id":"a","_deleted":true}"#, #"{"_id":"b","_deleted":true}"#])
            #expect(try await bed.runOnce().code == 1)
            #expect(try bed.deadLetterIDs() == ["a"])
            try bed.write(rules: rules.replacingOccurrences(of: #"{ jq: "error(\"no\")" }"#, with: "told"))
            let retry = try await bed.retry()
            #expect(retry.code == 0, "\(retry.errors)")
            #expect(try bed.deadLetters().isEmpty)
            #expect(try await bed.document("told")?.root["gone"]?.bool == true)
        }
    }

    @Test func rulesForDeletionsSeeTheMembersOfTombstones() async throws {
        let rules = """
              - name: tell
                on: [delete]
                when: { type: task }
                then: [{ put: { id: { jq: "error(.deletedBy)" }, document: { gone: true } } }]

            """
        try await CommandTestBed.with([task("a"), task("b")], rules: rules) { bed in
            try await bed.put([
                #"{"_id":"a","_deleted":true,"type":"task","deletedBy":"amy"}"#, #"{"_id":"b","_deleted":true}"#,
            ])
            #expect(try await bed.runOnce().code == 1)
            #expect(try bed.deadLetterIDs() == ["a"])
            // It fires again, and fails again.
            #expect(try await bed.retry().code == 1)
            #expect(try bed.deadLetterIDs() == ["a"])
            try bed.write(rules: rules.replacingOccurrences(of: "error(.deletedBy)", with: ".deletedBy"))
            let retry = try await bed.retry()
            #expect(retry.code == 0, "\(retry.errors)")
            #expect(try bed.deadLetters().isEmpty)
            #expect(try await bed.document("amy")?.root["gone"]?.bool == true)
        }
    }

    @Test func worksDuringARun() async throws {
        try await deadLettered { bed in
            try bed.write(rules: Self.repaired)
            let bot = try bed.startDaemon()
            try await bed.put([task("d")])
            try await bed.wait(for: "d") { $0["done"] != nil }
            let retry = try await bed.retry()
            #expect(retry.code == 0, "\(retry.errors)")
            #expect(try bed.deadLetters().isEmpty)
            bot.signal(SIGTERM)
            #expect(await bot.wait() == 0)
        }
    }

    @Test func writesOfARetryAreNotDecidedAgain() async throws {
        // Each decision would change the document.
        let restless = """
              - name: follow
                when: { type: task }
                then: [{ merge: { jq: "{last: ._rev}" } }]

            """
        try await deadLettered { bed in
            try bed.write(rules: restless)
            #expect(try await bed.retry("a").code == 0)
            let revision = try await bed.document("a")?.root["_rev"]?.string
            #expect(revision?.hasPrefix("2-") == true)
            #expect(try await bed.runOnce().code == 0)
            #expect(try await bed.document("a")?.root["_rev"]?.string == revision)
        }
    }

    @Test func dryRunShowsAndChangesNothing() async throws {
        try await deadLettered { bed in
            try bed.write(rules: Self.repaired)
            let dry = try await bed.retry("--dry-run")
            #expect(dry.code == 0, "\(dry.errors)")
            #expect(dry.output.split(separator: "\n").count == 3)
            #expect(try bed.deadLetters().count == 3)
            #expect(try await bed.document("a")?.root["done"] == nil)
        }
    }

    @Test func deadLettersOfAnotherDatabaseAreKept() async throws {
        try await deadLettered { bed in
            try await Program.withGateway { url in
                let retry = try await Program.run([
                    "dead-letters", "retry", "--gateway", url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
                ])
                #expect(retry.code == 66)
                #expect(retry.errors.contains("no state for the database at \(url)"), "\(retry.errors)")
                #expect(retry.errors.contains(bed.url), "\(retry.errors)")
            }
            #expect(try bed.deadLetters().count == 3)
        }
    }

    @Test func onlyDeadLettersThatMatchTheFilterAreRetried() async throws {
        try await deadLettered { bed in
            try bed.write(rules: Self.repaired)
            let none = try await bed.retry("--rule", "other")
            #expect(none.code == 0)
            #expect(none.errors.contains("no dead letters match these filters"))
            #expect(try await bed.retry("a", "--rule", "needs-place").code == 64)
            let retry = try await bed.retry("--rule", "needs-place", "--since", "1h")
            #expect(retry.code == 0, "\(retry.errors)")
            #expect(retry.errors.contains("3 of 3 dead letters are settled"))
            #expect(try bed.deadLetters().isEmpty)
        }
    }

    /// Regression: it was dropped, and the command reported it as settled.
    @Test func deadLetterOfASkippedRuleStaysIfItFailsAgain() async throws {
        let skipped = Self.broken.replacing("then:", with: "on_error: skip\n    then:")
        try await CommandTestBed.with([task("a")], rules: skipped) { bed in
            #expect(try await bed.runOnce().code == 1)
            for _ in 0..<2 {
                let retry = try await bed.retry()
                #expect(retry.code == 1, "\(retry.errors)")
                #expect(retry.errors.contains("none of 1 dead letter could be settled"))
                #expect(try bed.deadLetters().map { $0.root["number"]?.integer } == [1])
            }
        }
    }

    /// Regression: a dead letter that stays with another reason was no longer counted.
    @Test func deadLettersThatFailForAnotherReasonAreNotSettled() async throws {
        try await deadLettered { bed in
            try bed.write(rules: Self.broken.replacing("op: remove, path: /place", with: "op: remove, path: /spot"))
            let retry = try await bed.retry("--reason", "/place")
            #expect(retry.code == 1, "\(retry.errors)")
            #expect(retry.errors.contains("0 of 3 dead letters are settled"), "\(retry.errors)")
        }
    }

    @Test func unreachableGatewayLosesNoDeadLetter() async throws {
        try await Program.withDirectory { folder in
            let bed = try await Program.withGateway { url in
                let bed = CommandTestBed(url: url, folder: folder)
                try bed.write(rules: Self.broken)
                try await bed.put([task("a")])
                #expect(try await bed.runOnce().code == 1)
                return bed
            }
            #expect(try await bed.retry().code == 69)
            #expect(try bed.deadLetters().count == 1)
        }
    }
}
