import BotState
import Bots
import Delivery
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Totals that are stored as documents, on any gateway.
@Suite(.limitedParallelism) struct CountsTests {
    private static let rules = """
        version: 1
        rules:
          - name: counts
            when: { type: task }
            then:
              - aggregate:
                  into: { jq: '"counts:" + .list' }
                  document: { type: counts, list: { jq: .list } }
                  count: { open: { $not: { complete: true } }, done: { complete: true } }
                  sum: { hours: { jq: .hours } }
        """

    private static func task(
        _ id: String, _ list: String, done: Bool = false, hours: String = "0.1", _ rest: String = ""
    ) -> (id: DocumentID, body: String) {
        (
            DocumentID(id),
            #"{"_id":"\#(id)","type":"task","list":"\#(list)","complete":\#(done),"hours":\#(hours)\#(rest)}"#
        )
    }

    private func expect(
        _ bed: BotTestBed, _ list: String, _ totals: String?, _ comment: Comment = "",
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await bed.stored(DocumentID("counts:" + list)).map { document in
            ["open", "done", "hours"].map { name in
                document.root[name].map { String(decoding: $0.bytes, as: UTF8.self) } ?? "-"
            }.joined(separator: " ")
        }
        #expect(found == totals, comment, sourceLocation: location)
    }

    /// Replaces an existing document.
    private func change(_ bed: BotTestBed, _ task: (id: DocumentID, body: String)) async throws {
        let revision = try #require(try await bed.stored(task.id)?.root["_rev"]?.string)
        try await bed.load([(task.id, task.body.dropLast() + #","_rev":"\#(revision)"}"#)])
    }

    private func delete(_ bed: BotTestBed, _ id: DocumentID) async throws {
        let revision = try #require(try await bed.stored(id)?.root["_rev"]?.string)
        try await bed.load([(id, #"{"_id":"\#(id)","_rev":"\#(revision)","_deleted":true}"#)])
    }

    @Test func totalsFollowChangesInEachRun() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([
                Self.task("t1", "a"), Self.task("t2", "a", done: true, hours: "0.2"), Self.task("t3", "b", hours: "7"),
            ])
            try await bed.runOnce(rules)
            try await expect(bed, "a", "1 1 0.3")
            try await expect(bed, "b", "1 0 7")
            let totalsDocument = try #require(try await bed.stored("counts:a"))
            #expect(totalsDocument.root["type"]?.string == "counts" && totalsDocument.root["list"]?.string == "a")
            // Done, moved, deleted, no longer a task, and new.
            try await change(bed, Self.task("t1", "a", done: true))
            try await change(bed, Self.task("t3", "a", hours: "7"))
            try await bed.runOnce(rules)
            try await expect(bed, "a", "1 2 7.3")
            try await expect(bed, "b", "0 0 0")
            try await delete(bed, "t1")
            try await change(bed, ("t2", #"{"_id":"t2","type":"note","list":"a"}"#))
            try await bed.load([Self.task("t4", "b", hours: "1e-1")])
            try await bed.runOnce(rules)
            try await expect(bed, "a", "1 0 7")
            try await expect(bed, "b", "1 0 0.1")
            #expect(try await bed.runOnce(rules).written == 0)
        }
    }

    @Test func deletedDocumentIsNotCountedEvenIfItsTombstoneIsADeadLetter() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules + Self.failingAtDeletions)
            try await bed.load([Self.task("t1", "a"), Self.task("t2", "a")])
            try await bed.runOnce(rules)
            try await delete(bed, "t1")
            #expect(try await bed.runOnce(rules).deadLetters == 1)
            try await expect(bed, "a", "1 0 0.1")
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let letters = try ledger.deadLetters()
            #expect(letters.map(\.id) == ["t1"], "\(letters)")
        }
    }

    private static let failingAtDeletions = """

          - name: fail
            on: [delete]
            when: { _id: t1 }
            then: [put: { id: x, document: { a: { jq: error("no") } } }]
        """

    @Test func otherMembersOfATotalStay() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([
                ("counts:a", #"{"_id":"counts:a","colour":"red","open":7,"big":12345678901234567890123}"#),
                Self.task("t1", "a"),
            ])
            try await bed.runOnce(rules)
            try await expect(bed, "a", "1 0 0.1")
            let document = try #require(try await bed.stored("counts:a"))
            #expect(document.root["colour"]?.string == "red" && document.root["type"] == nil)
        }
    }

    @Test func totalChangedByAnotherClientIsCorrected() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a"), Self.task("t2", "b")])
            try await bed.runOnce(rules)
            try await change(bed, ("counts:a", #"{"_id":"counts:a","open":99,"mine":1}"#))
            try await delete(bed, "counts:b")
            try await bed.runOnce(rules)
            try await expect(bed, "a", "1 0 0.1")
            try await expect(bed, "b", "1 0 0.1")
            #expect(try await bed.stored("counts:a")?.root["mine"]?.integer == 1)
            // A totals document without contributions may be deleted.
            try await delete(bed, "t2")
            try await bed.runOnce(rules)
            try await expect(bed, "b", "0 0 0")
            try await delete(bed, "counts:b")
            try await bed.runOnce(rules)
            try await expect(bed, "b", nil)
        }
    }

    @Test func lostStateIsRecounted() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a"), Self.task("t2", "b"), Self.task("t3", "b")])
            try await bed.runOnce(rules)
            // Nothing remembers this list: it is empty when the state is lost.
            try await delete(bed, "t1")
            try await bed.runOnce(rules, state: "another")
            try await expect(bed, "a", "0 0 0")
            try await expect(bed, "b", "2 0 0.2")
        }
    }

    /// Regression: a count of all documents did not record totals that are zero.
    @Test func changeOfAnEmptyTotalIsCorrectedAfterTheStateWasLost() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a")])
            try await bed.runOnce(rules)
            try await delete(bed, "t1")
            try await bed.runOnce(rules)
            try await bed.runOnce(rules, state: "another")
            try await change(bed, ("counts:a", #"{"_id":"counts:a","type":"counts","list":"a","open":9}"#))
            try await bed.runOnce(rules, state: "another")
            try await expect(bed, "a", "0 0 0")
        }
    }

    /// The restored state does not know the document with totals that was written since, and the feed has no change left
    /// that names it.
    @Test func restoredStateIsRecounted() async throws {
        try await BotTestBed.with { bed in
            guard !TestEngine.isUsedByAllTests else { return }
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a")])
            try await bed.runOnce(rules)
            try FileManager.default.copyItem(atPath: bed.directory + "/state", toPath: bed.directory + "/copy")
            try await bed.load([Self.task("t2", "b")])
            try await bed.runOnce(rules)
            try await expect(bed, "b", "1 0 0.1")
            try await delete(bed, "t2")
            try await bed.runOnce(rules, state: "copy")
            try await expect(bed, "b", "0 0 0")
            try await expect(bed, "a", "1 0 0.1")
        }
    }

    @Test func changedRuleCountsAllDocuments() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a"), Self.task("t2", "b", done: true)])
            try await bed.runOnce(rules)
            let changed = try bed.rules(Self.rules.replacing("open: { $not: { complete: true } }", with: "open: true"))
            try await bed.runOnce(changed)
            try await expect(bed, "b", "1 1 0.1")
            // Another rule next to it changes nothing.
            let more = try bed.rules(
                Self.rules.replacing("open: { $not: { complete: true } }", with: "open: true")
                    + "\n  - { name: x, when: { type: x }, then: [] }\n")
            #expect(try await bed.runOnce(more).written == 0)
        }
    }

    @Test func changesSkippedByACheckpointAreCounted() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a")])
            try await bed.runOnce(rules)
            try await bed.load([Self.task("t2", "a")])
            let newest = try #require(try await bed.phone.databaseInfo().updateSequence)
            let ledger = try bed.ledger(rules)
            try await ledger.saveCheckpoint(newest, reason: "set by hand")
            ledger.close()
            try await bed.runOnce(rules)
            try await expect(bed, "a", "2 0 0.2")
        }
    }

    @Test func deadLetteredDocumentCountsAsStored() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                Self.rules + "\n  - { name: bad, when: { bad: true }, then: [{ merge: { x: { jq: error } } }] }\n")
            try await bed.load([Self.task("t1", "a"), Self.task("t2", "a")])
            try await bed.runOnce(rules)
            try await change(bed, Self.task("t1", "b", #","bad":true"#))
            try await bed.runOnce(rules)
            try await expect(bed, "a", "1 0 0.1")
            try await expect(bed, "b", "1 0 0.1")
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.deadLetters().map(\.id) == ["t1"])
        }
    }

    /// These rules count documents that hold totals.
    private static let rulesWithTotal =
        rules + """

              - name: all
                when: { type: counts }
                then:
                  - aggregate: { into: total, count: { lists: true }, sum: { open: { jq: .open } } }
            """

    @Test func countsOfCountsAreCountedInTheSameRun() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rulesWithTotal)
            try await bed.load([Self.task("t1", "a"), Self.task("t2", "b"), Self.task("t3", "b")])
            try await bed.runOnce(rules)
            let total = try #require(try await bed.stored("total"))
            #expect(total.root["lists"]?.integer == 2 && total.root["open"]?.integer == 3)
        }
    }

    /// A real gateway may compose an answer before totals are written, and send it afterwards.
    @Test func olderRowOfATotalDoesNotUndoItsContribution() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await bed.load([("counts:a", #"{"_id":"counts:a"}"#)])
            try await delete(bed, "counts:a")
            try await bed.load([Self.task("t1", "a"), Self.task("t2", "b"), Self.task("t3", "b")])
            var address = try #require(URLComponents(string: bed.url.description))
            let relay = try TestRelay(to: try #require(address.port))
            address.port = relay.port
            relay.when("/_changes?", .holdAnswer(until: #""total""#))
            let slow = BotTestBed(
                url: try GatewayURL(try #require(address.string)), settings: bed.settings, directory: bed.directory)
            try await slow.runOnce(try bed.rules(Self.rulesWithTotal)) {
                $0.delivery.intervals.catchUpTotals = .zero
            }
            let total = try #require(try await bed.stored("total"))
            #expect(total.root["lists"]?.integer == 2 && total.root["open"]?.integer == 3)
            await slow.phone.shutdown()
        }
    }

    @Test func rulesThatCountEachOthersDocumentsStop() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: one
                    when: { type: { $in: [task, two] } }
                    then: [{ aggregate: { into: one, document: { type: one }, sum: { n: { jq: .n } } } }]
                  - name: two
                    when: { type: one }
                    then: [{ aggregate: { into: two, document: { type: two }, sum: { n: { jq: .n } } } }]
                """)
            try await bed.load([("t", #"{"_id":"t","type":"task","n":1}"#)])
            try await bed.runOnce(rules)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let deadLetters = try ledger.deadLetters()
            #expect(deadLetters.map(\.reason) == ["rule chain: one → two → one"], "\(deadLetters)")
        }
    }

    @Test func manyChangesOfAListCauseFewWrites() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load((0..<600).map { Self.task("t\($0)", "a") })
            let counters = try await bed.runOnce(rules)
            #expect(counters.written <= 3, "\(counters.written) writes")
            try await expect(bed, "a", "600 0 60")
        }
    }

    @Test func daemonWritesTotalsWhileItFollows() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a")])
            try await bed.following(rules) {
                try await bed.wait(until: "counts:a") { $0["open"]?.integer == 1 }
                try await bed.load([Self.task("t2", "a")])
                try await bed.wait(until: "counts:a") { $0["open"]?.integer == 2 }
            }
        }
    }

    @Test func fixLeavesTotalsToTheRun() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a")])
            #expect(try await bed.fix(rules).written == 0)
            try await expect(bed, "a", nil)
        }
    }

    @Test func dryRunShowsContributions() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a")])
            let shown = Locked<[String]>([])
            try await bed.runOnce(rules) { settings in
                settings.delivery.preview = Preview { report in
                    shown.withLock { $0.append(String(decoding: report.line(), as: UTF8.self)) }
                }
            }
            #expect(shown.withLock { $0 }.contains { $0.contains(#""action":"aggregate","into":"counts:a""#) })
            try await expect(bed, "a", nil)
        }
    }

    @Test func countsWithChannelsAreRefused() async throws {
        try await BotTestBed.withTrouble { bed, _ in
            let rules = try bed.rules(Self.rules)
            let error = await #expect(throws: RunError.self) {
                try await bed.runOnce(rules) { $0.feed.channels = ["x"] }
            }
            #expect(error?.code == .badConfiguration)
        }
    }

    @Test func refusedTotalIsADeadLetter() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1", "a")])
            try gateway.injectFaults(#"{"on":"_bulk_docs","refuse_documents":{"share":1,"status":[403]}}"#)
            try await bed.runOnce(rules)
            var ledger = try bed.ledger(rules)
            #expect(try ledger.deadLetters().map(\.id) == ["counts:a"])
            ledger.close()
            gateway.stopFaults()
            try await bed.runOnce(rules)
            try await expect(bed, "a", "1 0 0.1")
            ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.deadLetters().isEmpty)
        }
    }
}
