import GatewayClient
import Locking
import TestKit
import Testing

@testable import BotState

/// Orders to pause and resume rules.
@Suite(.limitedParallelism) struct LedgerPausedRuleTests {
    private func sequence(_ text: String) throws -> SequenceID { try #require(SequenceID(text)) }

    private func rule(_ ledger: Ledger, _ name: String = "a") throws -> PausedRule? {
        try ledger.pausedRules().first { $0.name == name }
    }

    private func write(_ revision: String) -> OwnWrite {
        OwnWrite(id: "d", revision: RevisionID(revision), content: nil)
    }

    @Test func orderIsKeptUntilItIsDone() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            #expect(try ledger.pausedRules().isEmpty && ledger.lastOrder() == 0)
            try await ledger.saveCheckpoint(try sequence("5"))
            #expect(try await ledger.pause(["b", "a"]) == [.paused, .paused])
            #expect(try await ledger.pause(["a"]) == [.alreadyPaused])
            #expect(try ledger.pausedRules().map(\.name) == ["a", "b"])
            let paused = try #require(try rule(ledger))
            #expect(paused.isPaused && paused.lastWrite == nil)
            #expect(try paused.since == sequence("5"))
            #expect(try await ledger.resume(["a", "c"], skips: false) == [.resumed, .notPaused])
            #expect(try await ledger.resume(["a"], skips: false) == [.alreadyResumed])
            let resumed = try #require(try rule(ledger))
            #expect(try !resumed.isPaused && resumed.since == sequence("5") && resumed.order > paused.order)
            try await ledger.noteCaughtUp(resumed)
            #expect(try ledger.pausedRules().map(\.name) == ["b"])
            #expect(try await ledger.resume(["b"], skips: true) == [.skipped])
            #expect(try ledger.pausedRules().isEmpty)
            #expect(try ledger.lastOrder() == 5)
        }
    }

    /// The bot replaces the checkpoint at the time of the order by the sequence where it begins without the rule.
    @Test func missedChangesBeginWhereTheBotTakesUpTheOrder() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.saveCheckpoint(try sequence("5"))
            _ = try await ledger.pause(["a"])
            try await ledger.recordOwnWrites([write("1-a")])
            try await ledger.notePaused(try ledger.pausedRules(), from: try sequence("7"))
            #expect(try rule(ledger)?.since == sequence("7"))
            let last = try #require(try rule(ledger)?.lastWrite)
            try await ledger.recordOwnWrites([write("2-b")])
            let revisions = ["1-a", "2-b", "3-c"].map { (id: DocumentID("d"), revision: RevisionID($0)) }
            #expect(try await ledger.wrote(revisions, upToWrite: last) == [true, false, false])
            #expect(try await ledger.wrote(revisions, upToWrite: 0) == [false, false, false])
            // The next start is not the beginning.
            try await ledger.notePaused(try ledger.pausedRules(), from: try sequence("9"))
            #expect(try rule(ledger)?.since == sequence("7"))
            // It has not made up for its changes when it is paused again.
            _ = try await ledger.resume(["a"], skips: false)
            let resumed = try #require(try rule(ledger))
            #expect(try await ledger.pause(["a"]) == [.paused])
            try await ledger.notePaused(try ledger.pausedRules(), from: try sequence("12"))
            #expect(try rule(ledger)?.since == sequence("7"))
            // The pass of the earlier order ends.
            try await ledger.noteReached(try sequence("99"), by: resumed)
            #expect(try rule(ledger)?.since == sequence("7"))
            try await ledger.noteCaughtUp(resumed)
            #expect(try rule(ledger)?.isPaused == true)
            try await ledger.notePausedFromBeginning(["a"])
            #expect(try rule(ledger)?.since == nil && rule(ledger)?.lastWrite == last)
        }
    }

    /// Between the orders, a run left the rule out, and saved checkpoints.
    @Test func ruleThatIsPausedAgainBeforeTheBotNoticesMissesNothing() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.saveCheckpoint(try sequence("5"))
            _ = try await ledger.pause(["a", "b"])
            let read = try ledger.pausedRules()
            // Other orders before the bot has recorded these.
            _ = try await ledger.resume(["a"], skips: false)
            _ = try await ledger.pause(["a"])
            try await ledger.notePaused(read, from: try sequence("7"))
            #expect(try rule(ledger)?.since == sequence("7"))
            try await ledger.saveCheckpoint(try sequence("8"))
            _ = try await ledger.resume(["b"], skips: true)
            _ = try await ledger.pause(["b"])
            // The run notices that the rule is paused, as before.
            try await ledger.notePaused(try ledger.pausedRules(), from: nil)
            #expect(try rule(ledger, "b")?.since == sequence("8") && rule(ledger, "b")?.lastWrite == 0)
            try await ledger.saveCheckpoint(try sequence("9"))
            try await ledger.notePaused(try ledger.pausedRules(), from: try sequence("9"))
            #expect(try rule(ledger)?.since == sequence("7") && rule(ledger, "b")?.since == sequence("8"))
        }
    }

    @Test func resetDatabaseIsReadFromItsBeginning() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.saveCheckpoint(try sequence("5"))
            _ = try await ledger.pause(["a", "b"])
            _ = try await ledger.resume(["b"], skips: false)
            try await ledger.startOver(identity: "new", at: .start, reason: "reset")
            #expect(try ledger.pausedRules().map(\.name) == ["a"])
            #expect(try rule(ledger)?.isPaused == true && rule(ledger)?.since == nil)
        }
    }

    @Test func rulesOfTheLastStartAreKnown() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            #expect(try ledger.knownRules() == nil)
            let rules = KnownRuleNames(all: ["b", "a\0", "n"], counting: ["n"], following: ["b"])
            for _ in 0..<2 {
                try await ledger.note(knownRules: rules)
                #expect(try ledger.knownRules() == rules)
            }
        }
    }

    /// A run that holds the state notices an order without looking every few seconds.
    @Test func commandWakesTheRun() async throws {
        try await LedgerTestBed.withLedgers { bed, ledger in
            let looks = Monitor(0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await ledger.whileOrdered {
                        looks.with { $0 += 1 }
                        return try ledger.pausedRules().isEmpty
                    }
                }
                await looks.wait { $0 > 0 }
                let command = try #require(
                    try bed.engine.map { try EngineState.openExisting($0, directory: "", access: .shared) }
                        ?? bed.openExisting(.shared))
                defer { command.close() }
                _ = try await command.pause(["a"])
                try await group.waitForAll()
            }
            #expect(try ledger.pausedRules().map(\.name) == ["a"])
        }
    }
}
