import Fleet
import Locking
import TestKit
import Testing

/// Members on the clock of the machine.
@Suite struct FleetMemberTests {
    /// A feed of one part.
    private struct Feed: LeaderFeed {
        let entries: [FeedEntry]

        func changes(after sequence: String?, limit: Int) async throws -> FeedPart {
            let from = Int(sequence ?? "0") ?? 0
            guard from < entries.count else {
                try await Task.sleep(for: .seconds(60))
                return FeedPart(entries: [], sequence: nil)
            }
            let part = Array(entries[from...].prefix(limit))
            return FeedPart(entries: part, sequence: "\(from + part.count)")
        }

        func savedAnsweredSequence() async throws -> String? { nil }
        func saveAnsweredSequence(_ sequence: String) async throws {}
    }

    private struct Counter: Processor {
        let seen: Monitor<[DocumentKey]>

        func process(
            _ changes: [LoggedChange], _ tenure: Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
        ) async {
            for change in changes where tenure.isValid {
                seen.with { $0.append(change.id) }
                answer(change, .done)
            }
        }
    }

    @Test(.limitedParallelism) func membersProcessAFeedAndReleaseAllLeases() async throws {
        let clock = SystemFleetClock()
        let engine = MemoryEngine(partitions: 8, leaseTime: .seconds(2), time: { clock.now })
        let entries = (1...500).map {
            FeedEntry(sequence: "\($0)", id: DocumentKey("d\($0)"), revision: "1-a")
        }
        let seen = Monitor<[DocumentKey]>([])
        let members = ["a", "b"].map { owner in
            FleetMember(
                log: MemoryWorkLog(engine, owner: owner, link: MemoryLink(clock: clock), clock: clock),
                feed: Feed(entries: entries), processor: Counter(seen: seen))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for member in members { group.addTask { try await member.run() } }
            await seen.wait { $0.count >= 500 }
            for member in members { member.stop() }
            try await group.waitForAll()
        }
        #expect(seen.with { $0 }.sorted() == entries.map(\.id).sorted())
        #expect(engine.isEmpty && engine.checkpoint.sequence == "500")
        #expect((0..<8).allSatisfy { engine.holder(of: $0) == nil })
    }

    /// A link to an engine that fails at some time and then answers no call.
    private struct MortalLink: EngineLink {
        let isDead = Locked(false)

        func call<Result: Sendable>(
            isChange: Bool, _ body: @escaping @Sendable () throws(WorkLogError) -> Result
        ) async throws(WorkLogError) -> Result {
            guard isDead.withLock({ $0 }) else { return try body() }
            throw isChange ? .unknownCommit("dead") : .unavailable("dead")
        }
    }

    /// Regression: it asked whether its last commit was stored until it was killed.
    @Test(.limitedParallelism) func memberThatStopsWithoutAnEngineEndsWithItsLease() async throws {
        let clock = SystemFleetClock()
        let engine = MemoryEngine(partitions: 1, leaseTime: .seconds(2), time: { clock.now })
        let (link, isOver, hasBegun, isAsking) = (MortalLink(), Signal(), Signal(), Signal())
        let entry = FeedEntry(sequence: "1", id: DocumentKey("a"), revision: "1-a")
        let member = FleetMember(
            log: MemoryWorkLog(engine, owner: "a", link: link, clock: clock), feed: Feed(entries: [entry]),
            processor: Slow(isOver: isOver, hasBegun: hasBegun),
            environment: FleetEnvironment(note: { if $0 == .unknownCommit(.partition(0)) { isAsking.raise() } }))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await member.run() }
            try await hasBegun.wait()
            link.isDead.withLock { $0 = true }
            isOver.raise()
            try await isAsking.wait()
            member.stop()
            try await group.waitForAll()
        }
        #expect(!engine.isEmpty)
    }

    /// Answers when the test tells it to.
    private struct Slow: Processor {
        let isOver: Signal
        var hasBegun = Signal()

        func process(
            _ changes: [LoggedChange], _ tenure: Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
        ) async {
            hasBegun.raise()
            try? await isOver.wait()
            for change in changes { answer(change, .done) }
        }
    }

    /// So a random kill rarely counts in full against a slow document.
    @Test(.limitedParallelism) func survivedAttemptIsStoredWithALowerWeight() async throws {
        let clock = SystemFleetClock()
        let totals = Monitor<[Int]>([])
        let engine = MemoryEngine(
            partitions: 1, leaseTime: .seconds(2), time: { clock.now },
            observer: { commit in
                guard case .committed(_, let outcome, _, _) = commit else { return }
                totals.with { $0 += outcome.attempted.map(\.weight) }
            })
        var settings = FleetSettings()
        (settings.isolation.survivalTime, settings.isolation.suspiciousTakeovers) = (.milliseconds(1), 0)
        let isOver = Signal()
        // After a takeover, only changes that are already in the log are suspects.
        let before = MemoryWorkLog(engine, owner: "before", works: false, link: MemoryLink(clock: clock), clock: clock)
        _ = try await before.renew()
        let term = try #require(try await before.lead())
        let entry = FeedEntry(sequence: "1", id: DocumentKey("a"), revision: "1-a")
        _ = try await before.append([entry], upTo: "1", term)
        try await before.leave()
        let member = FleetMember(
            log: MemoryWorkLog(engine, owner: "a", link: MemoryLink(clock: clock), clock: clock),
            feed: Feed(entries: [entry]), processor: Slow(isOver: isOver), settings: settings)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await member.run() }
            await totals.wait { $0.count >= 2 }
            isOver.raise()
            member.stop()
            try await group.waitForAll()
        }
        #expect(totals.with { $0 } == [4, 1])
        #expect(engine.isEmpty)
    }
}
