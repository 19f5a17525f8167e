import TestKit
import Testing

@testable import Fleet

@Suite struct PartitionWindowTests {
    /// - Parameter attempts: The weight of another process's attempts.
    private func change(_ n: Int64, _ id: String, attempts: Int = 0, isParked: Bool = false) -> LoggedChange {
        LoggedChange(
            n: n, entry: FeedEntry(sequence: "\(n)", id: DocumentKey(id), revision: "r\(n)"),
            isolatedAttempts: attempts == 0 ? IsolatedAttempts() : IsolatedAttempts().adding("other", attempts),
            isParked: isParked)
    }

    private func fail() { Issue.record("not alone") }

    private func window(_ changes: [LoggedChange]) -> PartitionWindow {
        var window = PartitionWindow(position: 0, settings: FleetSettings())
        window.isSettled = true
        window.add(changes)
        return window
    }

    private func together(_ batch: PartitionWindow.Batch?) -> [LoggedChange] {
        guard case .together(let changes) = batch else { return [] }
        return changes
    }

    @Test func positionWaitsForTheOldest() {
        var window = window([change(1, "a"), change(2, "b"), change(4, "c")])
        let batch = together(window.take(atMost: 9))
        #expect(batch.map(\.n) == [1, 2, 4])
        window.answer(batch[2], .done)
        window.answer(batch[1], .done)
        #expect(window.outcome.position == 0)
        window.answer(batch[0], .done)
        #expect(window.outcome.position == 4 && window.count == 0)
    }

    @Test func documentIsNeverProcessedTwiceAtOnce() {
        var window = window([change(1, "a")])
        let first = together(window.take(atMost: 9))
        window.add([change(2, "a"), change(3, "a")])
        #expect(window.take(atMost: 9) == nil)
        window.answer(first[0], .done)
        let second = together(window.take(atMost: 9))
        #expect(second.map(\.n) == [3])
        window.answer(second[0], .done)
        #expect(window.outcome.position == 3)
    }

    private func look(_ n: Int64, _ id: String, _ kind: FeedEntry.Kind, isParked: Bool = false) -> LoggedChange {
        LoggedChange(n: n, entry: FeedEntry(kind, DocumentKey(id)), isParked: isParked)
    }

    @Test func recheckReplacesNoChange() {
        var window = window([change(1, "a"), look(2, "b", .uncounted), look(3, "a", .due), look(4, "b", .due)])
        let batch = together(window.take(atMost: 9))
        #expect(batch.map(\.n) == [3, 4] && batch.map(\.entry.kind) == [.changed, .due])
        #expect(batch[0].entry.revision == "r1")
        // A change does not make a recount unnecessary: the rules may skip the change.
        #expect(batch.map(\.mustBeCounted) == [false, true])
        window.add([look(5, "a", .uncounted)])
        window.answer(batch[0], .parked(.seconds(1), "slow"))
        // It is decided with its content at that time, and counted.
        #expect(window.outcome.parked.map(\.change.n) == [5])
        #expect(window.outcome.parked.map(\.change.entry.revision) == ["r1"])
        window.stored()
        window.add([look(6, "a", .due, isParked: true), change(7, "a", isParked: true)])
        #expect(window.outcome.joined.map(\.n) == [7])
        window.answer(batch[1], .done)
        #expect(window.outcome.position == 7)
        // A recount does not wait, and does not affect the parked change.
        window.stored()
        window.add([look(8, "a", .uncounted, isParked: true)])
        let count = together(window.take(atMost: 9))
        #expect(count.map(\.n) == [8])
        window.add([change(9, "a", isParked: true)])
        #expect(window.outcome.joined.map(\.n) == [9])
        for count in count { window.answer(count, .parked(.seconds(1), "slow")) }
        #expect(window.outcome.position == 9 && window.outcome.unparked.isEmpty && window.outcome.parked.isEmpty)
    }

    @Test func laterChangesJoinTheParkedOne() {
        var window = window([change(1, "a")])
        let first = together(window.take(atMost: 9))
        window.add([change(2, "a")])
        window.answer(first[0], .parked(.seconds(1), "slow"))
        window.add([change(3, "a"), change(4, "b", isParked: true)])
        let outcome = window.outcome
        #expect(outcome.position == 4)
        #expect(outcome.parked.map(\.change.n) == [2] && outcome.parked.map(\.change.firstPosition) == [1])
        #expect(outcome.joined.map(\.n) == [3, 4])
    }

    @Test func failedDocumentIsIsolatedAndThenParked() {
        var window = window([change(1, "a"), change(2, "b")])
        let batch = together(window.take(atMost: 9))
        window.answer(batch[0], .failed("no"))
        window.add([change(3, "c")])
        #expect(window.take(atMost: 9) == nil)
        window.answer(batch[1], .done)
        guard case .alone(let alone, let attempt) = window.take(atMost: 9) else { return fail() }
        #expect(attempt == Attempt(n: 1, id: DocumentKey("a"), isParked: false, weight: 4))
        #expect(window.take(atMost: 9) == nil)
        window.answer(alone, .failed("no"))
        #expect(window.outcome.parked.map(\.change.isolatedAttempts.total) == [4])
        #expect(together(window.take(atMost: 9)).map(\.n) == [3])
    }

    @Test func abandonedAttemptDoesNotCount() {
        var window = window([change(1, "a", attempts: 16)])
        for _ in 0..<3 {
            guard case .alone(let alone, let attempt) = window.take(atMost: 9) else {
                return fail()
            }
            #expect(attempt.isolatedAttempts(of: "this").total == 20)
            window.answer(alone, .postponed)
        }
        #expect(!window.needsCommit(0))
    }

    /// Regression: the position did not move until something else happened.
    @Test func documentWithTooManyAttemptsIsDead() {
        var window = window([change(1, "a", attempts: 20), change(2, "b")])
        #expect(together(window.take(atMost: 9)).isEmpty || window.outcome.position == 1)
        #expect(window.outcome.dead.map(\.change.n) == [1])
        #expect(window.outcome.dead.map(\.change.attempts) == [5])
        #expect(window.outcome.position == 1)
    }

    /// Regression: an engine that failed repeatedly caused dead letters.
    @Test func processThatRetriesHasSurvivedEarlierAttempts() {
        var stored = IsolatedAttempts()
        for _ in 0..<30 {
            // The log leaves out this process's own attempts.
            var first = change(1, "a")
            first.isolatedAttempts = stored.without(["this"])
            var window = window([first])
            window.isolateChanges(upTo: 1)
            guard case .alone(_, let attempt) = window.take(atMost: 9) else { return fail() }
            stored = attempt.isolatedAttempts(of: "this")
        }
        #expect(stored.total == 4)
    }

    /// Right after an outage of the engine, some members have not rejoined.
    @Test func documentIsNotDeadWhileCrashedMembersMayReturn() {
        var window = PartitionWindow(position: 0, settings: FleetSettings())
        let first = change(1, "a", attempts: 20)
        window.add([first])
        #expect(window.take(atMost: 9) == nil)
        let parked = window.outcome.parked
        #expect(window.outcome.dead.isEmpty && window.outcome.position == 1)
        #expect(parked.map(\.delay) == [FleetSettings().isolation.settlingTime])
        #expect(parked.map(\.change.isolatedAttempts) == [first.isolatedAttempts] && parked.map(\.change.parks) == [1])
        window.stored()
        window.isSettled = true
        window.addDue(parked.map(\.change))
        #expect(window.take(atMost: 9) == nil)
        #expect(window.outcome.dead.map(\.change.attempts) == [5])
    }

    /// How many processes a document crashes before it is dead-lettered.
    private func deaths(isSurvivedForSomeTime: Bool) -> Int {
        var (stored, deaths) = (IsolatedAttempts(), 0)
        while true {
            var first = change(1, "a")
            first.isolatedAttempts = stored
            var window = window([first])
            window.isolateChanges(upTo: 1)
            guard case .alone(_, let attempt) = window.take(atMost: 9) else {
                #expect(window.outcome.dead.map(\.change.n) == [1])
                return deaths
            }
            let last = isSurvivedForSomeTime ? window.survivedAttempt ?? attempt : attempt
            stored = last.isolatedAttempts(of: "process \(deaths)")
            deaths += 1
        }
    }

    /// Both are dead-lettered, but the one that is more likely innocent later.
    @Test func documentThatCrashesProcessesIsDeadAfterFiveOrTwentyAttempts() {
        #expect(deaths(isSurvivedForSomeTime: false) == 5)
        #expect(deaths(isSurvivedForSomeTime: true) == 20)
    }

    @Test(arguments: [(Verdict.failed("no"), [16]), (.postponed, [])])
    func survivedAttemptCountsInFullOnceItFails(verdict: Verdict, parked: [Int]) {
        var window = window([change(1, "a", attempts: 12)])
        guard case .alone(let alone, _) = window.take(atMost: 9) else { return fail() }
        #expect(window.survivedAttempt?.isolatedAttempts(of: "this").total == 13)
        window.survive()
        #expect(window.survivedAttempt == nil)
        window.answer(alone, verdict)
        #expect(window.outcome.parked.map(\.change.isolatedAttempts.total) == parked)
        // A change that was not attempted does not count.
        if case .alone(_, let attempt) = window.take(atMost: 9) {
            #expect(attempt.isolatedAttempts(of: "this").total == 16)
        }
    }

    /// Regression: it was decided again, after the later change.
    @Test func changeCoveredByTheParkedOneIsNotRetried() {
        var window = PartitionWindow(position: 0, settings: FleetSettings())
        window.addDue([LoggedChange(n: 5, entry: change(5, "a").entry, firstPosition: 2, parks: 1)])
        let due = together(window.take(atMost: 9))
        window.add([change(2, "a", isParked: true)])
        window.answer(due[0], .done)
        window.stored()
        window.add([change(5, "a")])
        #expect(window.take(atMost: 9) == nil)
        #expect(window.outcome.position == 5)
    }

    @Test func crashSuspectsAreIsolated() {
        var window = PartitionWindow(position: 0, settings: FleetSettings())
        window.isolateChanges(upTo: 2)
        window.add([change(1, "a"), change(2, "b"), change(3, "c")])
        for n in Int64(1)...2 {
            guard case .alone(let alone, _) = window.take(atMost: 9) else { return fail() }
            #expect(alone.n == n)
            window.answer(alone, .done)
        }
        #expect(together(window.take(atMost: 9)).map(\.n) == [3])
    }

    /// Regression: the second one came first, and both waited for ever.
    @Test func waitingSuspectStaysFirst() {
        var window = window([change(1, "a", attempts: 1), change(2, "b", attempts: 1)])
        for _ in 0..<3 {
            guard case .alone(let alone, _) = window.take(atMost: 9) else { return fail() }
            #expect(alone.n == 1)
            window.answer(alone, .postponed)
        }
    }

    /// Any order of answers keeps each document in order and the position before any open change, and answers
    /// everything.
    @Test(arguments: UInt64(1)...50) func answersInAnyOrderLeaveNoGap(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var window = PartitionWindow(position: 0, settings: FleetSettings())
        var running: [LoggedChange] = []
        var last: [DocumentKey: Int64] = [:]
        var next: Int64 = 1
        while window.outcome.position < 300 {
            if next <= 300, random.chance(2) {
                window.add([change(next, "d\(random.below(8))")])
                next += 1
            }
            switch window.take(atMost: 1 + random.below(3)) {
            case .together(let changes): running += changes
            case .alone(let change, _):
                #expect(running.isEmpty)
                running = [change]
            case nil: break
            }
            guard !running.isEmpty, random.chance(2) else { continue }
            let change = running.remove(at: random.below(running.count))
            #expect(change.n > last[change.id] ?? 0)
            let verdict: Verdict =
                random.chance(9) ? .failed("no") : random.chance(9) ? .postponed : .done
            if verdict == .done { last[change.id] = change.n }
            window.answer(change, verdict)
            #expect(running.allSatisfy { $0.n > window.outcome.position })
        }
        #expect(window.runningCount == running.count)
    }
}
