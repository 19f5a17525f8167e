import DocumentFlow
import Fleet
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import Pipeline

/// One process with `--role` and without an engine: it reads the feed into a log in the file of its state.
@Suite(.limitedParallelism, .disabled(if: TestEngine.isUsedByAllTests)) struct OwnLogTests {
    private static func ids(_ prefix: String, _ count: Int) -> [DocumentID] {
        (1...count).map { DocumentID("\(prefix)\($0)") }
    }

    private static func apples(_ prefix: String, _ count: Int) -> [(id: DocumentID, body: String)] {
        (1...count).map { task("\(prefix)\($0)", "apple") }
    }

    private static func isDone(_ document: JSONValue) -> Bool { document["done"]?.bool == true }

    /// Runs for as long as `body` takes, then stops gracefully.
    @discardableResult
    private static func sharing(
        _ bed: BotTestBed, _ rules: RuleSet, partitions: Int = 1,
        configure: @escaping (inout BotSettings) -> Void = { _ in }, _ body: @Sendable @escaping () async throws -> Void
    ) async throws -> RunCounters {
        try await bed.following(rules) { settings in
            settings.sharing = Sharing(role: .auto, partitions: partitions)
            configure(&settings)
        } _: {
            try await body()
        }
    }

    private static func waiting(_ bed: BotTestBed, _ rules: RuleSet) throws -> Int {
        let ledger = try bed.ledger(rules)
        defer { ledger.close() }
        return try ledger.read {
            try $0.value(Int.self, "SELECT (SELECT COUNT(*) FROM work) + (SELECT COUNT(*) FROM parked)") ?? 0
        }
    }

    private static func revisions(_ bed: BotTestBed, _ ids: [DocumentID]) async throws -> Set<Substring?> {
        var found: Set<Substring?> = []
        for lookup in try await bed.phone.allDocs(keys: ids) {
            if case .found(let revision, _) = lookup {
                found.insert(revision.text.prefix(2))
            } else {
                found.insert(nil)
            }
        }
        return found
    }

    @Test(arguments: [1, 8]) func aLargeBacklogIsWorkedOff(_ partitions: Int) async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(EngineTestBed.apples)
            try await bed.load(Self.apples("a", 3000))
            try await Self.sharing(bed, rules, partitions: partitions) {
                try await bed.wait(until: Self.ids("a", 3000), Self.isDone)
            }
            #expect(try await Self.revisions(bed, Self.ids("a", 3000)) == ["2-"])
            #expect(try await bed.runOnce(rules).written == 0)
        }
    }

    @Test func itContinuesWithAndWithoutALog() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(EngineTestBed.apples)
            for round in 0..<3 {
                try await bed.load(Self.apples("with\(round)-", 20))
                let counters = try await Self.sharing(bed, rules) {
                    try await bed.wait(until: Self.ids("with\(round)-", 20), Self.isDone)
                }
                // The checkpoint may be one answer of the feed behind.
                #expect(counters.written == 20 && counters.changes <= 80, "\(counters.changes)")
                try await bed.load(Self.apples("without\(round)-", 20))
                #expect(try await bed.runOnce(rules).written == 20)
            }
        }
    }

    @Test func chainsOfRulesAndDeletionsGoThroughTheLog() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: first
                    when: { type: task }
                    then: [ { put: { id: { jq: '"second." + ._id' }, document: { type: step } } } ]
                  - name: second
                    when: { type: step }
                    then: [ { put: { id: { jq: '"third." + ._id' }, document: { type: last } } } ]
                  - name: gone
                    on: [delete]
                    when: {}
                    then: [ { put: { id: { jq: '"gone." + ._id' }, document: { type: trace } } } ]
                """)
            try await Self.sharing(bed, rules) {
                try await bed.load(Self.apples("a", 20))
                try await bed.wait(until: (1...20).map { DocumentID("third.second.a\($0)") }) { _ in true }
                let revision = try #require(try await bed.stored(DocumentID("a1"))?.root["_rev"]?.string)
                let tombstone = #"{"_id":"a1","_rev":"\#(revision)","_deleted":true}"#
                try await bed.load([(id: DocumentID("a1"), body: tombstone)])
                try await bed.wait(until: DocumentID("gone.a1")) { _ in true }
            }
        }
    }

    /// The log names only the revision of a deletion. Sync Gateway 4 keeps no members.
    @Test func deletionsAreDecidedWithTheMembersOfTheirTombstones() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: gone
                    on: [delete]
                    when: { type: task }
                    then: [ { put: { id: { jq: '"by." + .deletedBy' }, document: { type: trace } } } ]
                  - name: any
                    on: [delete]
                    when: {}
                    then: [ { put: { id: { jq: '"gone." + ._id' }, document: { type: trace } } } ]
                """)
            try await bed.load(Self.apples("a", 2))
            try await Self.sharing(bed, rules) {
                var keepsMembers = false
                for (id, members) in [("a1", #","type":"task","deletedBy":"amy""#), ("a2", "")] {
                    let revision = try #require(try await bed.stored(DocumentID(id))?.root["_rev"]?.string)
                    let tombstone = #"{"_id":"\#(id)","_rev":"\#(revision)","_deleted":true\#(members)}"#
                    try await bed.load([(id: DocumentID(id), body: tombstone)])
                    let leaves = try await bed.phone.openRevisions(of: DocumentID(id))
                    if case .found(let leaf)? = leaves.first, leaf.root["type"] != nil { keepsMembers = true }
                    try await bed.wait(until: DocumentID("gone.\(id)")) { _ in true }
                }
                if keepsMembers { try await bed.wait(until: DocumentID("by.amy")) { _ in true } }
            }
        }
    }

    @Test func aRuleThatFailsLeavesADeadLetter() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: broken
                    when: { type: task, task: broken }
                    then: [{ merge: { x: { jq: error } } }]
                  - name: apples
                    when: { type: task, task: apple, done: { $exists: false } }
                    then: [ { merge: { done: true } } ]
                """)
            try await bed.load([task("b", "broken")] + Self.apples("a", 50))
            try await Self.sharing(bed, rules) { try await bed.wait(until: Self.ids("a", 50), Self.isDone) }
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.deadLetters().map(\.id.text) == ["b"])
        }
    }

    /// The state knows it, as without a log. Nothing is suspected only because the process was killed.
    @Test func aRevisionThatKilledTheProcessIsADeadLetter() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(EngineTestBed.apples)
            try await bed.load(Self.apples("a", 50))
            try await Self.sharing(bed, rules) { try await bed.wait(until: Self.ids("a", 50), Self.isDone) }
            try await bed.load([task("poison", "apple")] + Self.apples("b", 50))
            let revision = try #require(try await bed.stored("poison")?.root["_rev"]?.string)
            let ledger = try bed.ledger(rules)
            for _ in 0..<InterruptedDecisions.limit {
                _ = try await ledger.noteInterruptions([("poison", RevisionID(revision))])
                // As a process does that is killed.
                let log = try await ledger.workLog(partitions: 1)
                _ = try await log.claim([0], atMost: 1)
            }
            ledger.close()
            try await Self.sharing(bed, rules) { try await bed.wait(until: Self.ids("b", 50), Self.isDone) }
            let after = try bed.ledger(rules)
            defer { after.close() }
            #expect(try after.deadLetters().map(\.id) == ["poison"])
        }
    }

    /// What is down holds up only its own documents, and what waits for it is in the log.
    @Test func theLogKeepsWhatWaitsForAReceiver() async throws {
        // Nil while it is down; else the documents that it was told of.
        let told = Monitor<Set<String>?>(nil)
        let receiver = try TestReceiver { request, _ in
            told.with { $0?.insert(request.documentID) != nil } ? .answer(204) : .answer(503)
        }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: tell
                    when: { type: order }
                    then: [ { webhook: { url: \(receiver.url) } } ]
                  - name: apples
                    when: { type: task, task: apple, done: { $exists: false } }
                    then: [ { merge: { done: true } } ]
                """)
            let orders = (1...10).map { (id: DocumentID("o\($0)"), body: #"{"_id":"o\#($0)","type":"order"}"#) }
            try await bed.load(orders)
            @Sendable func hasten(_ settings: inout BotSettings) {
                settings.delivery.outsideBackoff.base = .milliseconds(20)
                settings.delivery.outsideBackoff.cap = .milliseconds(200)
            }
            try await Self.sharing(bed, rules, configure: hasten) {
                try await bed.load(Self.apples("a", 500))
                try await bed.wait(until: Self.ids("a", 500), Self.isDone)
            }
            #expect(try Self.waiting(bed, rules) >= 10)
            told.with { $0 = [] }
            try await Self.sharing(bed, rules, configure: hasten) {
                await told.wait { $0?.count == 10 }
            }
            #expect(try await bed.runOnce(rules).webhooksSent == 0)
        }
    }

    @Test func rulesThatCountWorkInALogOfOneProcess() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(CountsModel.rules)
            let model = CountsModel(phone: bed.phone, tasks: 40)
            var random = SplitMix64(seed: 5)
            for _ in 0..<60 { try await model.edit(&random) }
            let seed = random
            for round in 0..<2 {
                try await Self.sharing(bed, rules) {
                    var random = seed
                    for _ in 0..<(40 + round) { try await model.edit(&random) }
                    while try await !model.faults().isEmpty { try await Task.sleep(for: .milliseconds(20)) }
                }
            }
            try await bed.runOnce(rules)
            try await model.check("")
        }
    }

    @Test func aCheckpointThatIsSetAgainRepeats() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(EngineTestBed.apples)
            try await bed.load(Self.apples("a", 50))
            try await Self.sharing(bed, rules) { try await bed.wait(until: Self.ids("a", 50), Self.isDone) }
            let ledger = try bed.ledger(rules)
            try await ledger.saveCheckpoint(.start, reason: "set")
            ledger.close()
            let counters = try await Self.sharing(bed, rules) {
                try await bed.load(Self.apples("b", 1))
                try await bed.wait(until: Self.ids("b", 1), Self.isDone)
            }
            #expect(counters.changes >= 51 && counters.written == 1)
        }
    }

    @Test func aResetOfTheDatabaseStartsAgain() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(EngineTestBed.apples)
            try await bed.load(Self.apples("a", 50))
            try await Self.sharing(bed, rules) { try await bed.wait(until: Self.ids("a", 50), Self.isDone) }
            let mark = try await bed.phone.localDocument("changebot.changebot")
            try await bed.phone.saveLocalDocument(
                "changebot.changebot", body: Array(#"{"identity":"another"}"#.utf8), revision: mark?.revision)
            let counters = try await Self.sharing(bed, rules) {
                try await bed.load(Self.apples("b", 1))
                try await bed.wait(until: Self.ids("b", 1), Self.isDone)
            }
            #expect(counters.changes >= 51)
        }
    }
}
