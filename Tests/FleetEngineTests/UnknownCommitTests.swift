import Fleet
import FleetEngine
import PostgreSQL
import TestKit
import Testing

@Suite(.serialized, .limitedParallelism) struct UnknownCommitTests {
    private static let mark = "find-this-text"

    private struct Bench {
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

    @Test(arguments: [false, true]) func appendWithoutAnAnswer(_ isStored: Bool) async throws {
        let bench = try await Bench()
        let term = try #require(try await bench.log.lead())
        _ = try await bench.log.append([], upTo: "0", term)
        bench.relay.when(Self.mark, isStored ? .cutAfter : .cutBefore)
        #expect(await Self.isUnknown { try await bench.log.append([entry(1, id(0))], upTo: "1", term) })
        let next = try #require(try await bench.log.lead())
        #expect(next.sequence == (isStored ? "1" : "0") && next.n == (isStored ? 1 : 0))
        // One that arrives late changes nothing.
        await expectFenced { try await bench.log.append([entry(1, id(0))], upTo: "1", term) }
    }

    @Test(arguments: [false, true]) func commitWithoutAnAnswer(_ isStored: Bool) async throws {
        let bench = try await Bench()
        try await bench.log.fill([id(1), id(1)])
        var claim = try await bench.log.take(1)
        claim = try await bench.log.commit(claim, Outcome(position: 0))
        bench.relay.when(Self.mark, isStored ? .cutAfter : .cutBefore)
        #expect(await Self.isUnknown { try await bench.log.commit(claim, Outcome(position: 1)) })
        let now = try await bench.log.refresh(claim)
        #expect(now.version == claim.version + (isStored ? 1 : 0) && now.position == (isStored ? 1 : 0))
        #expect(try await bench.log.backlog().entries == (isStored ? 1 : 2))
    }

    @Test(arguments: [false, true]) func commitOfSeveralStatementsWithoutAnAnswer(_ isStored: Bool) async throws {
        let bench = try await Bench()
        try await bench.log.fill([id(1)])
        let claim = try await bench.log.take(1)
        var outcome = Outcome(position: 1)
        outcome.dead = [DeadChange(LoggedChange(n: 1, entry: entry(1, id(1))), reason: "bad")]
        bench.relay.when("COMMIT", isStored ? .cutAfter : .cutBefore)
        #expect(await Self.isUnknown { try await bench.log.commit(claim, outcome) })
        #expect(try await bench.log.refresh(claim).version == (isStored ? 1 : 0))
        #expect(try await bench.log.backlog().dead == (isStored ? 1 : 0))
    }

    /// Until then nothing was sent that could be stored.
    @Test func transactionBrokenBeforeItsEndIsNotStored() async throws {
        let bench = try await Bench()
        try await bench.log.fill([id(1)])
        let claim = try await bench.log.take(1)
        var outcome = Outcome(position: 1)
        outcome.dead = [DeadChange(LoggedChange(n: 1, entry: entry(1, id(1))), reason: "bad")]
        bench.relay.when(Self.mark, .cutAfter)
        await #expect {
            try await bench.log.commit(claim, outcome)
        } throws: { error in
            if case WorkLogError.unavailable = error { true } else { false }
        }
        #expect(try await bench.log.commit(claim, outcome).version == 1)
    }

    @Test func lateAnswerIsUnknown() async throws {
        let bench = try await Bench()
        try await bench.log.fill([id(1)])
        let claim = try await bench.log.take(1)
        _ = try await bench.log.next(claim, after: 0, limit: 1)
        bench.relay.when(Self.mark, .swallowAnswers)
        #expect(await Self.isUnknown { try await bench.log.commit(claim, Outcome(position: 1)) })
        #expect(try await bench.log.refresh(claim).version == 1)
    }
}
