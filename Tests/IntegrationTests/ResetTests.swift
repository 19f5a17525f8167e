import BotState
import Bots
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

/// The database has been replaced: by a reset, a restore, or another machine.
@Suite(.limitedParallelism) struct ResetTests {
    private static let rules = BotTestBed.doneRules

    private static func task(_ id: String) -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"task"}"#)
    }

    private func mark(_ bed: BotTestBed) async throws -> String? {
        try await bed.phone.localDocument("changebot.changebot").map { String(decoding: $0.body, as: UTF8.self) }
    }

    /// Makes the database look as after a reset or restore: with another mark.
    private func replaceMark(_ bed: BotTestBed) async throws {
        while true {
            let mark = try await bed.phone.localDocument("changebot.changebot")
            do {
                try await bed.phone.saveLocalDocument(
                    "changebot.changebot", body: Array(#"{"identity":"another"}"#.utf8), revision: mark?.revision)
                return
            } catch  where error.code == .conflict {
                // In the meantime, a running bot has written its mark.
            }
        }
    }

    @Test func runWritesItsMarkAndCheckpointCopy() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1")])
            try await bed.runOnce(rules)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let mark = try #require(try await mark(bed))
            let identity = try #require(try ledger.databaseIdentity())
            #expect(identity.utf8.count == 32)
            #expect(mark.contains(identity))
            #expect(mark.contains(rules.hash))
            #expect(mark.contains("\"checkpoint\":" + (try #require(try ledger.checkpoint()).sequence.description)))
        }
    }

    @Test func newStateContinuesAtTheCheckpointCopy() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load((0..<20).map { Self.task("t\($0)") })
            // The second run decides what the first has written.
            for _ in 0..<2 { try await bed.runOnce(rules, state: "old") }
            try await bed.load([Self.task("new")])
            let counters = try await bed.runOnce(rules, state: "new")
            #expect(counters.written == 1)
            #expect(counters.changes < 20)
        }
    }

    @Test func checkpointCopyOfOtherRulesIsIgnored() async throws {
        try await BotTestBed.with { bed in
            try await bed.load([Self.task("t1")])
            try await bed.runOnce(try bed.rules(Self.rules), state: "old")
            let others = try bed.rules(Self.rules.replacingOccurrences(of: "done", with: "finished"))
            #expect(try await bed.runOnce(others, state: "new").written == 1)
        }
    }

    @Test func explicitStartOverridesTheCheckpointCopy() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1")])
            try await bed.runOnce(rules, state: "old")
            let counters = try await bed.runOnce(rules, state: "new") { $0.feed.since = .beginning }
            #expect(counters.changes >= 1)
        }
    }

    @Test func resetIsDetectedAtTheStart() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load((0..<5).map { Self.task("t\($0)") })
            for _ in 0..<2 { try await bed.runOnce(rules) }
            #expect(try await bed.runOnce(rules).changes == 0)
            try await replaceMark(bed)
            let counters = try await bed.runOnce(rules)
            #expect(counters.changes >= 5)
            #expect(counters.written == 0)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.databaseIdentity() == "another")
            #expect(try ledger.checkpointHistory().contains { $0.reason?.contains("reset") == true })
        }
    }

    /// A backup also contains the mark, as it was at the time of the backup.
    @Test func restoredDatabaseIsDetectedByItsOlderMark() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1")])
            try await bed.runOnce(rules)
            let backup = try #require(try await bed.phone.localDocument("changebot.changebot"))
            let ledger = try bed.ledger(rules)
            // After the backup, more marks were written.
            try await ledger.noteMark(generation: (backup.writes ?? 0) + 3)
            ledger.close()
            let counters = try await bed.runOnce(rules)
            #expect(counters.changes >= 1)
            let after = try bed.ledger(rules)
            defer { after.close() }
            #expect(try after.checkpointHistory().contains { $0.reason?.contains("restored") == true })
        }
    }

    @Test func resetStopsARunIfConfigured() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1")])
            try await bed.runOnce(rules)
            try await replaceMark(bed)
            let failure = await #expect(throws: RunError.self) {
                try await bed.runOnce(rules) { $0.onReset = .stop }
            }
            #expect(failure?.code == .databaseReset)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.checkpoint()?.sequence != .start)
        }
    }

    @Test func resetIsDetectedWhileFollowing() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1")])
            try await bed.following(rules, configure: { $0.checkInterval = .milliseconds(50) }) {
                try await bed.wait(until: "t1") { $0["done"]?.bool == true }
                // Without the new mark, no change after the old checkpoint would ever be seen.
                while true {
                    let mark = try await self.mark(bed)
                    if mark?.contains("another") != true {
                        // CouchDB accepts a local document with any revision, so the bot may have overwritten this mark
                        // with its own.
                        try await self.replaceMark(bed)
                    } else if mark?.contains("checkpoint") == true {
                        break
                    }
                    try await bed.load([Self.task("t-\(UUID().uuidString)")])
                }
            }
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.databaseIdentity() == "another")
        }
    }

    /// Regression: the gateway was restarted with another database, and later with the first one again. The checkpoint
    /// of one was saved for the other, and changes were lost.
    @Test func otherDatabaseAfterAnOutageIsDetectedBeforeItIsRead() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let rules = try bed.rules(Self.rules)
            try await bed.load([Self.task("t1")])
            try await bed.following(rules, configure: { $0.checkInterval = .seconds(3600) }) {
                try await bed.wait(until: "t1") { $0["done"]?.bool == true }
                try await replaceMark(bed)
                try embedded.injectFaults(#"{"status":502,"on":"_changes","times":1}"#)
                for id in ["t2", "t3"] as [DocumentID] {
                    try await bed.load([Self.task(id.text)])
                    // Not through the feed, which would use up the fault.
                    while try await bed.phone.document(id)?.root["done"]?.bool != true {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
            }
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.databaseIdentity() == "another")
        }
    }

    /// Regression: it ended with 0, although the database was empty.
    @Test func resetDuringAOneShotRunIsDetectedAtItsEnd() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let rules = try bed.rules(Self.rules)
            try await bed.load((0..<5).map { Self.task("t\($0)") })
            try embedded.injectFaults(#"{"reset":true,"on":"_bulk_docs","times":1}"#)
            let failure = await #expect(throws: RunError.self) {
                try await bed.runOnce(rules) { $0.onReset = .stop }
            }
            #expect(failure?.code == .databaseReset)
        }
    }

    @Test func resetDuringAPassIsDetectedAtItsEnd() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let rules = try bed.rules(Self.rules)
            try await bed.load((0..<5).map { Self.task("t\($0)") })
            try embedded.injectFaults(#"{"reset":true,"on":"_bulk_docs","times":1}"#)
            let failure = await #expect(throws: RunError.self) { try await bed.fix(rules) }
            #expect(failure?.code == .databaseReset)
            #expect(failure?.description.contains("run it again") == true)
        }
    }

    /// A user may have access to documents, but not to local documents.
    @Test func runContinuesWithoutAMark() async throws {
        let server = try ScriptedServer(local: .init(status: 403, body: #"{"error":"Forbidden","reason":"no"}"#)) {
            request, _ in
            request.path == "/todo/_changes"
                ? ScriptedServer.feed([ScriptedServer.row(1)], last: 1) : ScriptedServer.written(request)
        }
        try await withDirectory { directory in
            let counters = try await server.runOnce(directory).counters
            #expect(counters.written == 1)
        }
    }
}
