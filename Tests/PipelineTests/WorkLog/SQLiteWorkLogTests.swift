import Fleet
import GatewayClient
import Locking
import TestKit
import Testing

@testable import Pipeline

@Suite struct SQLiteConformanceTests {
    @Test(arguments: WorkLogConformance.rules) func keeps(_ rule: WorkLogConformance) async throws {
        try await SQLiteLogTestBed.with { bed in
            let isSaved = Locked(false)
            try await rule.check(
                WorkLogTestBed(
                    member: { try await bed.member($0) }, pass: { bed.pass($0) },
                    loseCommits: {
                        if isSaved.withLock({ $0 }) { try await bed.restore() }
                        isSaved.withLock { $0 = true }
                        try await bed.save()
                    }))
        }
    }
}

/// Random calls to a log in a file and to one in memory have the same answers.
@Suite struct SQLiteDifferentialTests {
    @Test(arguments: 1...16) func bothAnswerTheSame(_ seed: UInt64) async throws {
        try await SQLiteLogTestBed.with(leaseTime: DifferentialWorld.leaseTime) { bed in
            let world = try await DifferentialWorld(
                seed: seed,
                DifferentialTestBed(
                    member: { try await bed.member($0, works: $1, partitions: DifferentialWorld.partitions) },
                    pass: { bed.pass($0) }, save: { try await bed.save() }, restore: { try await bed.restore() },
                    dead: { try bed.dead() }))
            try await world.compare(steps: 500)
        }
    }
}

@Suite struct SQLiteWorkLogTests {
    @Test func whoHasTheStateAloneTakesAtOnceWhatOthersLeft() async throws {
        try await SQLiteLogTestBed.with { bed in
            let first = try await bed.member("a")
            try await first.fill([id(0)])
            let old = try await first.take(0)
            _ = try await first.lead()
            let second = try await bed.member("b")
            #expect(try await second.lead() == nil)
            try await second.beginAlone()
            #expect(try await second.lead()?.n == 1)
            let claim = try await second.take(0)
            #expect(claim.takeovers == 1)
            #expect(try await second.next(claim, after: 0, limit: 9).map(\.n) == [1])
            await expectFenced { try await first.commit(old, Outcome(position: 1)) }
        }
    }

    @Test func tablesOfTheFirstVersionAreUpgraded() async throws {
        try await SQLiteLogTestBed.with { bed in
            try await bed.member("a").fill([id(0)])
            try await bed.ledger.write { session in
                for table in ["work", "parked"] {
                    try session.execute("ALTER TABLE \(table) DROP COLUMN tries")
                    try session.execute("ALTER TABLE \(table) ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0")
                }
                try session.execute("UPDATE fleet SET version = 1")
            }
            let log = try await bed.member("b")
            let claim = try await log.take(0)
            #expect(try await log.next(claim, after: 0, limit: 9).map(\.tries) == [Tries()])
            #expect(try await bed.member("b").renew().leases == [claim.lease])
        }
    }

    @Test func aDeadChangeIsADeadLetter() async throws {
        try await SQLiteLogTestBed.with { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0)])
            var outcome = Outcome(position: 1)
            outcome.dead = [DeadChange(LoggedChange(n: 1, entry: entry(1, id(0)), attempts: 5), reason: "why\u{0}")]
            _ = try await log.commit(try await log.take(0), outcome)
            let letter = try #require(try bed.ledger.deadLetters().first)
            #expect(letter.id.text == id(0).text && letter.reason == "why\u{0}" && letter.attempts == 5)
        }
    }

    /// Once the table grew without end.
    @Test func deadChangesWithoutADeadLetterAreForgottenInTheEnd() async throws {
        try await SQLiteLogTestBed.with { bed in
            let log = try await bed.member("a")
            var claim = try await log.take(0)
            func bury(_ places: ClosedRange<Int>) async throws {
                var outcome = Outcome(position: 0)
                outcome.dead = places.map { n in
                    DeadChange(LoggedChange(n: Int64(n), entry: entry(n, id(0, n % 20)), attempts: 5), reason: "why")
                }
                claim = try await log.commit(claim, outcome)
            }
            try await bury(1...10)
            let numbers = try bed.ledger.deadLetters().compactMap(\.filing?.number)
            // All but the first.
            try await bed.ledger.drop(Array(numbers.dropFirst()))
            try await bury(11...1_009)
            #expect(try bed.dead().map(\.change.n) == [1] + (10...1_009))
        }
    }

    @Test func aCheckpointThatIsSetMovesTheLog() async throws {
        try await SQLiteLogTestBed.with { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(1)])
            try await bed.ledger.saveCheckpoint(try #require(SequenceID("1")))
            #expect(try await log.backlog().entries == 2)
            try await bed.ledger.saveCheckpoint(try #require(SequenceID("7")), reason: "set")
            #expect(try await log.backlog().entries == 0)
            let term = try #require(try await log.lead())
            #expect(term.sequence == "7" && term.n == 2)
            #expect(try await log.append([entry(8, id(0))], upTo: "8", term).n == 3)
            try await bed.ledger.resetCheckpoint(reason: "reset")
            #expect(try await log.lead()?.sequence == nil)
        }
    }

    @Test func aRunWithoutALogForgetsIt() async throws {
        try await SQLiteLogTestBed.with { bed in
            try await bed.ledger.leaveLog()
            let log = try await bed.member("a")
            try await log.fill([id(0)])
            try await bed.ledger.leaveLog()
            let next = try await bed.member("b", partitions: 8)
            #expect(try await next.backlog().entries == 0)
            #expect(try await next.lead()?.sequence == nil)
        }
    }

    @Test func anotherNumberOfPartitionsIsRefused() async throws {
        try await SQLiteLogTestBed.with { bed in
            _ = try await bed.member("a")
            let error = await #expect(throws: StateError.self) { try await bed.member("a", partitions: 8) }
            #expect(error?.description.contains("use --partitions 4, or start once without --role") == true)
        }
    }

    @Test func newsComeWithTheChange() async throws {
        try await SQLiteLogTestBed.with { bed in
            let log = try await bed.member("a")
            let claim = try await log.take(0)
            async let news = log.news([Interest(claim: claim, readUpTo: 0)], within: .seconds(60))
            try await log.fill([id(0)])
            #expect(try await news == [News(partition: 0, hasChanges: true, hasDue: false)])
        }
    }

    /// What is stored is known, whatever becomes of the task.
    @Test func aCallThatIsCancelledIsCarriedOut() async throws {
        try await SQLiteLogTestBed.with { bed in
            let log = try await bed.member("a")
            let term = try #require(try await log.lead())
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await log.append([entry(1, id(0))], upTo: "1", term)
            }
            #expect(try await task.value.n == 1)
        }
    }

    @Test func theLogIsThereAfterARestart() async throws {
        try await withDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { try await $0.workLog(partitions: 1).fill([id(0), id(1)]) }
            try await bed.using { ledger in
                let log = try await ledger.workLog(partitions: 1)
                #expect(try await log.next(try await log.take(0), after: 0, limit: 9).map(\.n) == [1, 2])
            }
        }
    }
}
