import Fleet
import Locking
import TestKit
import Testing

/// A log that is compared with one in memory. Its partitions and lease duration are those of ``DifferentialWorld``.
struct DifferentialTestBed {
    /// Opens the log as a member with this name, which may work on partitions or not.
    var member: (String, Bool) async throws -> any WorkLog
    /// Lets time pass for the engine.
    var pass: (Duration) async throws -> Void
    /// Saves the content of the log.
    var save: () async throws -> Void
    /// Restores the saved content, as if the engine had lost all later commits.
    var restore: () async throws -> Void
    /// All dead changes, in the order of their places.
    var dead: () async throws -> [DeadChange]
}

/// A call, and its answers as text.
struct DifferentialCall: Sendable {
    var name: String
    var memory: String
    var other: String
}

/// Makes random calls to both logs. Times are multiples of 20 minutes, so that the duration of calls does not matter:
/// some take seconds on a busy machine.
final class DifferentialWorld {
    private typealias Both = (memory: any WorkLog, other: any WorkLog)
    private static let unit = Duration.seconds(1200)
    static let leaseTime = unit * 3
    static let partitions = 4

    private let seed: UInt64
    private var random: SplitMix64
    private let bed: DifferentialTestBed
    private let engine: MemoryEngine
    private let clock = DifferentialClock()
    private var members: [Both] = []
    private var terms: [(member: Int, memory: Term, other: Term)] = []
    private var claims: [(member: Int, memory: Claim, other: Claim)] = []
    private var seen: [LoggedChange] = []
    private var snapshot: MemoryEngine.Snapshot?
    private var sequence = 0
    private let ids = (0..<14).map { DocumentKey("doc\($0)") }

    init(seed: UInt64, _ bed: DifferentialTestBed) async throws {
        self.seed = seed
        random = SplitMix64(seed: seed)
        self.bed = bed
        let clock = clock
        engine = MemoryEngine(partitions: Self.partitions, leaseTime: Self.leaseTime, time: { clock.now })
        for (number, owner) in ["a", "b", "c"].enumerated() {
            let memory = MemoryWorkLog(
                engine, owner: owner, works: number < 2, link: MemoryLink(clock: clock), clock: clock)
            members.append((memory, try await bed.member(owner, number < 2)))
        }
    }

    /// Makes this number of calls, and expects the same answers.
    func compare(steps: Int) async throws {
        for number in 0..<steps {
            let call = try await step()
            let isSame = call.memory == call.other
            #expect(isSame, "seed \(seed), step \(number): \(call)")
            guard isSame else { return }
        }
        #expect(try await deadOfOther() == deadOfMemory)
    }

    private func step() async throws -> DifferentialCall {
        clock.pass(.milliseconds(1))
        let number = random.below(members.count)
        let (memory, other) = members[number]
        switch random.below(26) {
        case 0, 1:
            return await call("renew") {
                try await $0.renew().text
            } on: {
                $0 ? memory : other
            }
        case 2, 3, 4: return await claim(number)
        case 5, 6: return await lead(number)
        case 7, 8, 9, 10: return await append()
        case 11, 12, 13, 14, 15: return await commit()
        case 16, 17: return await next()
        case 18: return await due()
        case 19: return await pendingWork()
        case 20:
            return await call("answered") {
                try await $0.answered().map { "\($0.n) \($0.sequence)" } ?? "none"
            } on: {
                $0 ? memory : other
            }
        case 21:
            return await call("backlog") {
                try await $0.backlog().text
            } on: {
                $0 ? memory : other
            }
        case 22: return await release()
        case 23 where random.chance(3):
            return await call("leave") { log in
                try await log.leave()
                return "left"
            } on: {
                $0 ? memory : other
            }
        case 24 where random.chance(6): return try await loseCommits()
        case 24, 25: return try await pass()
        default: return await refresh()
        }
    }

    private func call(
        _ name: String, _ body: (any WorkLog) async throws -> String, on log: (_ isMemory: Bool) -> any WorkLog
    ) async -> DifferentialCall {
        await call(name, { try await body(log($0)) })
    }

    private func call(_ name: String, _ body: (_ isMemory: Bool) async throws -> String) async -> DifferentialCall {
        var answers: [String] = []
        for isMemory in [true, false] {
            do {
                answers.append(try await body(isMemory))
            } catch WorkLogError.fenced {
                answers.append("fenced")
            } catch {
                answers.append("\(error)")
            }
        }
        return DifferentialCall(name: name, memory: answers[0], other: answers[1])
    }

    // MARK: Calls

    private func claim(_ number: Int) async -> DifferentialCall {
        let wanted = (0..<4).shuffled(using: &random)
        let limit = random.below(4)
        var got: [[Claim]] = []
        let call = await call("claim \(wanted) \(limit) by \(number)") { isMemory in
            let log = isMemory ? members[number].memory : members[number].other
            got.append(try await log.claim(wanted, atMost: limit))
            return got.last?.map(\.text).joined(separator: ";") ?? ""
        }
        if got.count == 2 { claims += zip(got[0], got[1]).map { (number, $0, $1) } }
        return call
    }

    private func lead(_ number: Int) async -> DifferentialCall {
        var got: [Term?] = []
        let call = await call("lead by \(number)") { isMemory in
            let term = try await (isMemory ? members[number].memory : members[number].other).lead()
            got.append(term)
            return term?.text ?? "no"
        }
        if got.count == 2, let memory = got[0], let other = got[1] { terms.append((number, memory, other)) }
        return call
    }

    private func append() async -> DifferentialCall {
        guard let at = recent(terms.count) else { return await lead(0) }
        let (number, memory, other) = terms[at]
        let entries = (0..<random.below(6)).map { _ in
            sequence += 1
            return FeedEntry(
                sequence: "\(sequence)", id: random.pick(ids), revision: "\(sequence)-a", isDeleted: random.chance(4))
        }
        var got: [Term] = []
        let call = await call("append \(entries.count) \(memory.text)") { isMemory in
            let log = isMemory ? members[number].memory : members[number].other
            got.append(try await log.append(entries, upTo: "\(sequence)", isMemory ? memory : other))
            return got.last?.text ?? ""
        }
        if got.count == 2 { terms.append((number, got[0], got[1])) }
        return call
    }

    private func commit() async -> DifferentialCall {
        guard let at = recent(claims.count) else { return await claim(0) }
        let (number, memory, other) = claims[at]
        let outcome = outcome(memory)
        var got: [Claim] = []
        let call = await call("commit \(memory.text) \(outcome)") { isMemory in
            let log = isMemory ? members[number].memory : members[number].other
            got.append(try await log.commit(isMemory ? memory : other, outcome))
            return got.last?.text ?? ""
        }
        if got.count == 2 { claims.append((number, got[0], got[1])) }
        return call
    }

    private func outcome(_ claim: Claim) -> PartitionOutcome {
        let ids = ids.filter { Partitioning.partition(of: $0, among: 4) == claim.partition }
        let changes = seen.filter { Partitioning.partition(of: $0.id, among: 4) == claim.partition }.suffix(8)
        // No member commits a place that is not in the log.
        let position = min(claim.position + Int64(random.below(8)) - 1, engine.checkpoint.n)
        var outcome = PartitionOutcome(position: max(0, position))
        outcome.releases = random.chance(10)
        guard random.chance(2), !changes.isEmpty, !ids.isEmpty else { return outcome }
        func some() -> [LoggedChange] { (0..<random.below(4)).map { _ in random.pick(Array(changes)) } }
        outcome.unparked = (0..<random.below(3)).map { _ in random.pick(ids) }
        outcome.dead = some().map { DeadChange($0, reason: "dead \u{0}\(random.below(9))") }
        outcome.parked = some().map { change in
            var change = change
            (change.isParked, change.parks, change.firstPosition) = (false, random.below(4) + 1, max(1, change.n - 1))
            return ParkedChange(change, delay: Self.unit * random.below(4), reason: "later")
        }
        outcome.joined = some()
        outcome.attempted = some().map {
            Attempt(
                n: $0.n, id: $0.id, isParked: random.chance(2),
                others: IsolatedAttempts(text: random.pick(["", "a:4", "b:1 x:8"])), weight: random.below(5) + 1)
        }
        return outcome
    }

    private func next() async -> DifferentialCall {
        guard let at = recent(claims.count) else { return await claim(0) }
        let (number, memory, other) = claims[at]
        let (after, limit) = (memory.position + Int64(random.below(3)), random.below(8))
        return await call("next \(memory.text)") { isMemory in
            let log = isMemory ? members[number].memory : members[number].other
            let changes = try await log.next(isMemory ? memory : other, after: after, limit: limit)
            if isMemory { seen += changes }
            return changes.map(\.text).joined(separator: ";")
        }
    }

    private func due() async -> DifferentialCall {
        guard let at = recent(claims.count) else { return await claim(0) }
        let (number, memory, other) = claims[at]
        return await call("due \(memory.text)") { isMemory in
            let log = isMemory ? members[number].memory : members[number].other
            let changes = try await log.due(isMemory ? memory : other, limit: 100)
            if isMemory { seen += changes }
            return changes.map(\.text).sorted().joined(separator: ";")
        }
    }

    private func pendingWork() async -> DifferentialCall {
        let chosen = claims.suffix(8).filter { $0.member == 0 }
        return await call("pending work") { isMemory in
            let readPositions = chosen.map { one in
                ReadPosition(claim: isMemory ? one.memory : one.other, readUpTo: one.memory.position)
            }
            let log = isMemory ? members[0].memory : members[0].other
            return try await log.pendingWork(readPositions, within: .zero).map { "\($0)" }.sorted().joined(
                separator: ";")
        }
    }

    private func refresh() async -> DifferentialCall {
        guard let at = recent(claims.count) else { return await claim(0) }
        let (number, memory, other) = claims[at]
        return await call("refresh") { isMemory in
            let log = isMemory ? members[number].memory : members[number].other
            return try await log.refresh(isMemory ? memory : other).text
        }
    }

    private func release() async -> DifferentialCall {
        guard let at = recent(claims.count) else { return await claim(0) }
        let (number, memory, other) = claims[at]
        return await call("release \(memory.text)") { isMemory in
            let log = isMemory ? members[number].memory : members[number].other
            try await log.release(isMemory ? memory.lease : other.lease)
            return "released"
        }
    }

    private func pass() async throws -> DifferentialCall {
        let time = Self.unit * (random.below(4) + 1)
        clock.pass(time)
        try await bed.pass(time)
        return DifferentialCall(name: "pass \(time)", memory: "", other: "")
    }

    private func loseCommits() async throws -> DifferentialCall {
        if let snapshot {
            engine.restore(snapshot)
            try await bed.restore()
            // Any call notices the loss.
            _ = try await members[0].other.incarnation()
        }
        snapshot = engine.snapshot
        try await bed.save()
        return DifferentialCall(name: "lose commits", memory: "", other: "")
    }

    /// Usually one of the last.
    private func recent(_ count: Int) -> Int? {
        guard count > 0 else { return nil }
        return random.chance(4) ? random.below(count) : max(0, count - 1 - random.below(3))
    }

    // MARK: The end

    private var deadOfMemory: [String] { engine.dead.map { "\($0.change.n) \($0.change.id) \($0.change.attempts)" } }

    private func deadOfOther() async throws -> [String] {
        try await bed.dead().map { "\($0.change.n) \($0.change.id) \($0.change.attempts)" }
    }
}

private final class DifferentialClock: FleetClock {
    private let time = Locked(Duration.zero)
    var now: Duration { time.withLock { $0 } }
    func sleep(until deadline: Duration) async throws {}
    func pass(_ time: Duration) { self.time.withLock { $0 += time } }
}

// Everything is compared except incarnations, ages, and the number of refused commits of this handle.

extension Claim {
    fileprivate var text: String { "\(partition)#\(lease.token) at \(position) v\(version) t\(takeovers)" }
}

extension Term {
    fileprivate var text: String { "#\(lease.token) \(sequence ?? "-") \(n)" }
}

extension Renewal {
    fileprivate var text: String {
        "\(leases.map { "\($0.name)#\($0.token)" }.sorted()) \(workers) \(free)"
    }
}

extension LoggedChange {
    fileprivate var text: String {
        "\(n) \(entry.sequence) \(id) \(entry.revision) \(entry.otherLeaves) \(entry.kind) \(isolatedAttempts.text) \(isParked) \(firstPosition) \(parks)"
    }
}

extension Backlog {
    fileprivate var text: String {
        let parts = parts.map { part in
            "\(part.partition) \(part.owner ?? "-") \(part.position) \(part.entries) \(part.oldestAge == nil) "
                + "\(part.parked)"
        }
        return "\(parts) \(leader ?? "-") \(dead) \(takeovers) \(fencedCommits)"
    }
}
