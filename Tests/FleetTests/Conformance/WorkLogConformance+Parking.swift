import Fleet
import Testing

extension WorkLogConformance {
    /// Parks the first change of partition 0 for a third of the lease.
    private static func park(_ log: any WorkLog, _ claim: Claim) async throws -> Claim {
        var outcome = PartitionOutcome(position: 1)
        let change = LoggedChange(
            n: 1, entry: entry(1, id(0)), isolatedAttempts: IsolatedAttempts(text: "x:1"), parks: 1)
        outcome.parked = [ParkedChange(change, delay: log.leaseTime / 3, reason: "slow")]
        return try await log.commit(claim, outcome)
    }

    static let parking = [
        WorkLogConformance("a parked change is returned when it is due") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0)])
            let claim = try await park(log, try await log.take(0))
            #expect(try await log.due(claim, limit: 9).isEmpty)
            #expect(try await log.next(claim, after: 0, limit: 9).isEmpty)
            try await bed.pass(log.leaseTime / 2)
            let due = LoggedChange(
                n: 1, entry: entry(1, id(0)), isolatedAttempts: IsolatedAttempts(text: "x:1"), parks: 1)
            #expect(try await log.due(claim, limit: 9) == [due])
            let pending = try await log.pendingWork(
                [ReadPosition(claim: claim, readUpTo: 1)], within: .milliseconds(10))
            #expect(pending == [PendingWork(partition: 0, hasChanges: false, hasDue: true)])
            #expect(try await log.backlog().parts[0].parked == 1)
        },
        WorkLogConformance("a later change joins the parked one and keeps its time") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(0, 1), id(0)])
            var claim = try await park(log, try await log.take(0))
            let later = try await log.next(claim, after: 1, limit: 9)
            #expect(later.map(\.isParked) == [false, true])
            var outcome = PartitionOutcome(position: 3)
            outcome.joined = [try #require(later.last)]
            claim = try await log.commit(claim, outcome)
            #expect(try await log.due(claim, limit: 9).isEmpty)
            try await bed.pass(log.leaseTime / 2)
            let due = LoggedChange(
                n: 3, entry: entry(3, id(0)), isolatedAttempts: IsolatedAttempts(text: "x:1"), firstPosition: 1,
                parks: 1)
            #expect(try await log.due(claim, limit: 9) == [due])
            // A change older than the parked one has no effect.
            outcome.joined = [LoggedChange(n: 2, entry: entry(2, id(0), "old"))]
            claim = try await log.commit(claim, outcome)
            #expect(try await log.due(claim, limit: 9) == [due])
        },
        WorkLogConformance("several changes of a document join in one commit") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(0), id(0)])
            var claim = try await park(log, try await log.take(0))
            var outcome = PartitionOutcome(position: 3)
            outcome.joined = try await log.next(claim, after: 1, limit: 9)
            claim = try await log.commit(claim, outcome)
            try await bed.pass(log.leaseTime / 2)
            #expect(try await log.due(claim, limit: 9).map(\.n) == [3])
        },
        WorkLogConformance("a change without a parked one to join is parked and due at once") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(0)])
            var claim = try await park(log, try await log.take(0))
            var outcome = PartitionOutcome(position: 2)
            outcome.unparked = [id(0)]
            outcome.joined = try await log.next(claim, after: 1, limit: 9)
            claim = try await log.commit(claim, outcome)
            let due = try await log.due(claim, limit: 9)
            #expect(due.map(\.n) == [2] && due.map(\.firstPosition) == [2])
        },
        WorkLogConformance("a parked change is replaced, counted and removed") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0)])
            var claim = try await park(log, try await log.take(0))
            var outcome = PartitionOutcome(position: 1)
            outcome.attempted = [
                Attempt(n: 1, id: id(0), isParked: true, others: IsolatedAttempts(text: "x:4"), weight: 1)
            ]
            claim = try await log.commit(claim, outcome)
            try await bed.pass(log.leaseTime / 2)
            #expect(try await log.due(claim, limit: 9).map(\.isolatedAttempts.total) == [4])
            outcome = PartitionOutcome(position: 1)
            let change = LoggedChange(n: 1, entry: entry(1, id(0)), parks: 2)
            outcome.parked = [ParkedChange(change, delay: .zero, reason: "slow")]
            claim = try await log.commit(claim, outcome)
            #expect(try await log.due(claim, limit: 9) == [change])
            outcome = PartitionOutcome(position: 1)
            outcome.unparked = [id(0)]
            claim = try await log.commit(claim, outcome)
            #expect(try await log.due(claim, limit: 9).isEmpty)
            #expect(try await log.backlog().parts[0].parked == 0)
        },
        WorkLogConformance("the oldest due changes come first") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(0, 1)])
            var outcome = PartitionOutcome(position: 2)
            outcome.parked = [(1, id(0), 40), (2, id(0, 1), 20)].map { n, id, delay in
                ParkedChange(
                    LoggedChange(n: n, entry: entry(Int(n), id), parks: 1), delay: .milliseconds(delay),
                    reason: "slow")
            }
            let claim = try await log.commit(try await log.take(0), outcome)
            try await bed.pass(.milliseconds(100))
            #expect(try await log.due(claim, limit: 9).map(\.n) == [2, 1])
            #expect(try await log.due(claim, limit: 1).map(\.n) == [2])
        },
    ]

    static let losses = [
        WorkLogConformance("lost commits void all leases, and no lease is granted for a time") { bed in
            guard let loseCommits = bed.loseCommits else { return }
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            try await first.fill([id(0)])
            let before = try await first.incarnation()
            let claim = try await first.take(0)
            let term = try #require(try await first.lead())
            try await loseCommits()
            let lost = try await first.append([entry(2, id(0))], upTo: "2", term)
            _ = try await first.commit(claim, PartitionOutcome(position: 1))
            try await loseCommits()
            #expect(try await first.incarnation() != before)
            await expectFenced { try await first.append([], upTo: "2", lost) }
            await expectFenced { try await first.append([], upTo: "1", term) }
            await expectFenced { try await first.commit(claim, PartitionOutcome(position: 1)) }
            #expect(try await second.renew().free.isEmpty)
            #expect(try await second.lead() == nil)
            #expect(try await second.claim([0, 1], atMost: 2).isEmpty)
            try await bed.pass(first.leaseTime + .milliseconds(100))
            let next = try #require(try await second.lead())
            #expect(next.n == 1 && next.sequence == "1")
            let again = try await second.take(0)
            #expect(again.position == 0)
            #expect(try await second.next(again, after: 0, limit: 9).map(\.n) == [1])
        }
    ]
}
