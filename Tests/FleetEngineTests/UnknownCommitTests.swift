import Fleet
import FleetEngine
import PostgreSQL
import TestKit
import Testing

@Suite(.serialized, .limitedParallelism) struct UnknownCommitTests {
    private static let mark = "find-this-text"

    private struct TestConnection {
        let bed: TestBed
        let relay: TestRelay
        let log: PostgresWorkLog

        init() async throws {
            bed = try TestBed(leaseTime: .seconds(3))
            relay = try TestRelay(to: bed.server.port)
            log = bed.log(
                "a \(mark)",
                through: try PostgresAddress("postgres://postgres@127.0.0.1:\(relay.port)/postgres?sslmode=disable"))
            try await bed.prepare(log)
        }
    }

    private static func isUnknown<Result>(_ body: () async throws -> Result) async -> Bool {
        do {
            _ = try await body()
            return false
        } catch WorkLogError.unknownCommit { return true } catch { return false }
    }

    @Test(arguments: [false, true]) func unansweredAppendIsStoredOrNot(_ isStored: Bool) async throws {
        let test = try await TestConnection()
        let term = try #require(try await test.log.lead())
        _ = try await test.log.append([], upTo: "0", term)
        test.relay.when(Self.mark, isStored ? .cutAfter : .cutBefore)
        #expect(await Self.isUnknown { try await test.log.append([entry(1, id(0))], upTo: "1", term) })
        let next = try #require(try await test.log.lead())
        #expect(next.sequence == (isStored ? "1" : "0") && next.n == (isStored ? 1 : 0))
        // A late commit changes nothing.
        await expectFenced { try await test.log.append([entry(1, id(0))], upTo: "1", term) }
    }

    /// The leader was killed before it had the answer.
    @Test(arguments: [false, true]) func successorOfAKilledLeaderSkipsAndRepeatsNothing(_ isStored: Bool) async throws {
        let test = try await TestConnection()
        let term = try await test.log.append(
            [entry(1, id(0))], upTo: "1", try #require(try await test.log.lead()))
        test.relay.when(Self.mark, isStored ? .cutAfter : .cutBefore)
        let changes = [entry(2, id(0)), entry(3, id(1))]
        #expect(await Self.isUnknown { try await test.log.append(changes, upTo: "3", term) })
        let successor = try await test.bed.prepared("b")
        try await test.bed.pass(test.bed.leaseTime + .milliseconds(100))
        let next = try #require(try await successor.lead())
        #expect(next.sequence == (isStored ? "3" : "1"))
        let rest = isStored ? [entry(4, id(1))] : changes + [entry(4, id(1))]
        _ = try await successor.append(rest, upTo: "4", next)
        let rows = try await test.bed.run("SELECT n, seq FROM work ORDER BY n")
        #expect(rows == (1...4).map { [.int($0), .text("\($0)")] })
    }

    @Test(arguments: [false, true]) func unansweredCommitIsStoredOrNot(_ isStored: Bool) async throws {
        let test = try await TestConnection()
        try await test.log.fill([id(1), id(1)])
        var claim = try await test.log.take(1)
        claim = try await test.log.commit(claim, PartitionOutcome(position: 0))
        test.relay.when(Self.mark, isStored ? .cutAfter : .cutBefore)
        #expect(await Self.isUnknown { try await test.log.commit(claim, PartitionOutcome(position: 1)) })
        let now = try await test.log.refresh(claim)
        #expect(now.version == claim.version + (isStored ? 1 : 0) && now.position == (isStored ? 1 : 0))
        #expect(try await test.log.backlog().entries == (isStored ? 1 : 2))
    }

    @Test(arguments: [false, true]) func unansweredTransactionIsStoredOrNot(_ isStored: Bool) async throws {
        let test = try await TestConnection()
        try await test.log.fill([id(1)])
        let claim = try await test.log.take(1)
        var outcome = PartitionOutcome(position: 1)
        outcome.dead = [DeadChange(LoggedChange(n: 1, entry: entry(1, id(1))), reason: "bad")]
        test.relay.when("COMMIT", isStored ? .cutAfter : .cutBefore)
        #expect(await Self.isUnknown { try await test.log.commit(claim, outcome) })
        #expect(try await test.log.refresh(claim).version == (isStored ? 1 : 0))
        #expect(try await test.log.backlog().dead == (isStored ? 1 : 0))
    }

    /// Before the end, nothing was sent that could be stored.
    @Test func transactionBrokenBeforeItsEndIsNotStored() async throws {
        let test = try await TestConnection()
        try await test.log.fill([id(1)])
        let claim = try await test.log.take(1)
        var outcome = PartitionOutcome(position: 1)
        outcome.dead = [DeadChange(LoggedChange(n: 1, entry: entry(1, id(1))), reason: "bad")]
        test.relay.when(Self.mark, .cutAfter)
        await #expect {
            try await test.log.commit(claim, outcome)
        } throws: { error in
            if case WorkLogError.unavailable = error { true } else { false }
        }
        #expect(try await test.log.commit(claim, outcome).version == 1)
    }

    @Test func lateAnswerIsUnknown() async throws {
        let test = try await TestConnection()
        try await test.log.fill([id(1)])
        let claim = try await test.log.take(1)
        _ = try await test.log.next(claim, after: 0, limit: 1)
        test.relay.when(Self.mark, .dropAnswers)
        #expect(await Self.isUnknown { try await test.log.commit(claim, PartitionOutcome(position: 1)) })
        #expect(try await test.log.refresh(claim).version == 1)
    }
}
