import Fleet
import Testing

extension WorkLogConformance {
    static let working = [
        WorkLogConformance("a commit moves the position and deletes the changes below") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(1), id(0, 1), id(0)])
            let claim = try await log.take(0)
            let stored = try await log.commit(claim, PartitionOutcome(position: 3))
            #expect(stored.position == 3 && stored.version == claim.version + 1)
            #expect(try await log.next(stored, after: 0, limit: 10).map(\.n) == [4])
            #expect(try await log.refresh(claim) == stored)
            let backlog = try await log.backlog()
            #expect(backlog.parts.map(\.entries) == [1, 1, 0, 0])
            #expect(backlog.parts[0].owner == "a" && backlog.parts[1].owner == nil)
        },
        WorkLogConformance("reading continues after a place, up to a limit") { bed in
            let log = try await bed.member("a")
            try await log.fill(Array(repeating: id(0), count: 5))
            let claim = try await log.take(0)
            #expect(try await log.next(claim, after: 1, limit: 3).map(\.n) == [2, 3, 4])
            #expect(try await log.next(claim, after: 5, limit: 3).isEmpty)
        },
        WorkLogConformance("a commit that is not based on the last one is fenced") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(0)])
            let claim = try await log.take(0)
            _ = try await log.commit(claim, PartitionOutcome(position: 1))
            await expectFenced { try await log.commit(claim, PartitionOutcome(position: 2)) }
            #expect(try await log.refresh(claim).position == 1)
        },
        WorkLogConformance("a position never goes back") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(0)])
            let claim = try await log.commit(try await log.take(0), PartitionOutcome(position: 2))
            await expectFenced { try await log.commit(claim, PartitionOutcome(position: 1)) }
            #expect(try await log.refresh(claim) == claim)
        },
        WorkLogConformance("a member that lost a partition can't change it") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            try await first.fill([id(0), id(0)])
            let old = try await first.take(0)
            try await bed.pass(first.leaseTime + .milliseconds(100))
            let new = try await second.take(0)
            #expect(new.takeovers == 1)
            var outcome = PartitionOutcome(position: 2)
            outcome.dead = [DeadChange(LoggedChange(n: 1, entry: entry(1, id(0))), reason: "why")]
            let late = outcome
            await expectFenced { try await first.commit(old, late) }
            await expectFenced { try await first.next(old, after: 0, limit: 1) }
            await expectFenced { try await first.due(old, limit: 1) }
            #expect(try await first.renew().leases.isEmpty)
            #expect(try await second.refresh(new) == new)
            let backlog = try await second.backlog()
            #expect(backlog.dead == 0 && backlog.entries == 2 && backlog.takeovers == 1)
            #expect(try await first.backlog().fencedCommits == 1)
        },
        WorkLogConformance("takeovers count until the position moves") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0)])
            for count in 0..<3 {
                let claim = try await bed.member("\(count)").take(0)
                #expect(claim.takeovers == count)
                try await bed.pass(log.leaseTime + .milliseconds(100))
            }
            let claim = try await log.take(0)
            let still = try await log.commit(claim, PartitionOutcome(position: 0))
            #expect(still.takeovers == 3)
            #expect(try await log.commit(still, PartitionOutcome(position: 1)).takeovers == 0)
        },
        WorkLogConformance("the last commit releases the partition") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            try await first.fill([id(0)])
            let claim = try await first.take(0)
            var outcome = PartitionOutcome(position: 1)
            outcome.releases = true
            _ = try await first.commit(claim, outcome)
            await expectFenced { try await first.refresh(claim) }
            let next = try await second.take(0)
            #expect(next.position == 1 && next.takeovers == 0)
        },
        WorkLogConformance("isolated attempts are counted before they begin") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0)])
            for (owner, count) in [("b", 4), ("c", 8)] {
                let gone = try await bed.member(owner)
                let claim = try await gone.take(0)
                let others =
                    try await gone.next(claim, after: 0, limit: 1).first?.isolatedAttempts ?? IsolatedAttempts()
                #expect(others.total == count - 4)
                var outcome = PartitionOutcome(position: 0)
                outcome.attempted = [Attempt(n: 1, id: id(0), isParked: false, others: others, weight: 4)]
                _ = try await gone.commit(claim, outcome)
                try await bed.pass(log.leaseTime + .milliseconds(100))
            }
            #expect(try await log.next(try await log.take(0), after: 0, limit: 1).first?.isolatedAttempts.total == 8)
        },
        WorkLogConformance("isolated attempts of current members do not count") { bed in
            let (log, other) = (try await bed.member("a"), try await bed.member("b"))
            try await log.fill([id(0), id(0, 1)])
            var outcome = PartitionOutcome(position: 1)
            let change = LoggedChange(n: 1, entry: entry(1, id(0)), parks: 1)
            outcome.parked = [ParkedChange(change, delay: .zero, reason: "why")]
            outcome.attempted = [
                Attempt(n: 2, id: id(0, 1), isParked: false, weight: 4),
                Attempt(n: 1, id: id(0), isParked: true, weight: 4),
            ]
            func counts(_ log: any WorkLog) async throws -> [Int] {
                let claim = try await log.take(0)
                let changes = try await log.next(claim, after: 1, limit: 1) + log.due(claim, limit: 1)
                return changes.map(\.isolatedAttempts.total)
            }
            _ = try await log.commit(try await log.take(0), outcome)
            // The same process has survived them, whether it is a member or not.
            #expect(try await counts(log) == [0, 0])
            try await bed.pass(log.leaseTime + .milliseconds(100))
            #expect(try await counts(other) == [4, 4])
            // It has rejoined.
            _ = try await log.renew()
            #expect(try await counts(other) == [0, 0])
        },
        WorkLogConformance("claiming one's own lease, or that of a current member, is no takeover") { bed in
            let (log, other) = (try await bed.member("a"), try await bed.member("b"))
            try await log.fill([id(0)])
            for _ in 0..<3 {
                #expect(try await log.take(0).takeovers == 0)
                try await bed.pass(log.leaseTime + .milliseconds(100))
            }
            #expect(try await other.take(0).takeovers == 1)
        },
        WorkLogConformance("dead changes are counted once") { bed in
            let log = try await bed.member("a")
            try await log.fill([id(0), id(0)])
            var outcome = PartitionOutcome(position: 0)
            outcome.dead = [DeadChange(LoggedChange(n: 1, entry: entry(1, id(0)), attempts: 5), reason: "why")]
            let claim = try await log.commit(try await log.take(0), outcome)
            outcome.position = 1
            _ = try await log.commit(claim, outcome)
            #expect(try await log.backlog().dead == 1)
        },
        WorkLogConformance("pending work is returned only to the owner") { bed in
            let (first, second) = (try await bed.member("a"), try await bed.member("b"))
            let (zero, one) = (try await first.take(0), try await first.take(1))
            let other = try await second.take(2)
            let readPositions = [zero, one, other].map { ReadPosition(claim: $0, readUpTo: 0) }
            #expect(try await first.pendingWork(readPositions, within: .milliseconds(10)).isEmpty)
            try await second.fill([id(1), id(2)])
            let pending = [PendingWork(partition: 1, hasChanges: true, hasDue: false)]
            #expect(try await first.pendingWork(readPositions, within: .seconds(1)) == pending)
            #expect(
                try await first.pendingWork([ReadPosition(claim: one, readUpTo: 1)], within: .milliseconds(10)).isEmpty)
        },
    ]
}
