import Fleet
import FleetEngine
import Locking
import PostgreSQL
import TestKit
import Testing

/// A feed with fixed changes.
struct FixedFeed: LeaderFeed {
    let entries: [FeedEntry]
    /// How many were read.
    let served = Monitor(0)
    /// Before each part.
    var pause = Duration.milliseconds(20)

    /// Changes of random documents.
    init(_ count: Int, of documents: Int, seed: UInt64 = 1) {
        var random = SplitMix64(seed: seed)
        entries = (1...count).map { number in
            FeedEntry(
                sequence: "\(number)", id: DocumentKey("document \(random.below(documents))"), revision: "\(number)-a")
        }
    }

    func changes(after sequence: String?, limit: Int) async throws -> FeedPart {
        let from = sequence.flatMap { Int($0) } ?? 0
        guard from < entries.count else {
            try await Task.sleep(for: .seconds(60))
            return FeedPart(entries: [], sequence: nil)
        }
        try await Task.sleep(for: pause)
        let part = Array(entries[from...].prefix(limit))
        served.with { $0 = max($0, from + part.count) }
        return FeedPart(entries: part, sequence: "\(from + part.count)")
    }

    func savedAnsweredSequence() async throws -> String? { nil }
    func saveAnsweredSequence(_ sequence: String) async throws {}
}

/// Remembers every effect in the order in which they happen.
final class EffectRecorder: Sendable {
    struct Effect: Sendable {
        var owner: String
        /// Of the partition.
        var lease: Lease
        var n: Int64
        var id: DocumentKey
    }

    let effects = Monitor<[Effect]>([])

    func processor(_ owner: String, pause: ClosedRange<Int> = 0...2) -> some Processor {
        RecordingProcessor(recorder: self, owner: owner, pause: pause)
    }

    /// Checks that every document's last change had an effect; that leases of a partition never get older, so that no
    /// two owners worked at once; and that under one lease the changes of a document come in order, each once.
    func check(_ feed: FixedFeed, sourceLocation: SourceLocation = #_sourceLocation) {
        let effects = effects.with { $0 }
        var last: [DocumentKey: Int64] = [:]
        for (number, entry) in feed.entries.enumerated() { last[entry.id] = Int64(number + 1) }
        var newest: [DocumentKey: Int64] = [:]
        var leases = NewestLeases()
        var order: [DocumentKey: (lease: Lease, n: Int64)] = [:]
        var (overlaps, disorder) = (0, 0)
        for effect in effects {
            newest[effect.id] = max(newest[effect.id] ?? 0, effect.n)
            if !leases.accept(effect.lease) { overlaps += 1 }
            if let before = order[effect.id], before.lease == effect.lease, before.n >= effect.n { disorder += 1 }
            order[effect.id] = (effect.lease, effect.n)
        }
        #expect(overlaps == 0, "effects after another owner's", sourceLocation: sourceLocation)
        #expect(disorder == 0, sourceLocation: sourceLocation)
        let lost = last.filter { newest[$0.key] != $0.value }
        #expect(lost.isEmpty, "\(lost.count) documents without their last change", sourceLocation: sourceLocation)
    }
}

/// The newest lease of each partition. Another incarnation of the engine may grant the same tokens again.
private struct NewestLeases {
    private var newest: [LeaseName: Lease] = [:]
    private var ended: [LeaseName: Set<String>] = [:]

    /// Whether the lease is not older than those that were accepted.
    mutating func accept(_ lease: Lease) -> Bool {
        if let before = newest[lease.name] {
            if before.incarnation != lease.incarnation {
                guard ended[lease.name]?.contains(lease.incarnation) != true else { return false }
                ended[lease.name, default: []].insert(before.incarnation)
            } else if lease.token < before.token {
                return false
            }
        }
        newest[lease.name] = lease
        return true
    }
}

private struct RecordingProcessor: Processor {
    let recorder: EffectRecorder
    let owner: String
    /// In milliseconds.
    let pause: ClosedRange<Int>

    func process(
        _ changes: [LoggedChange], _ tenure: Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
    ) async {
        try? await Task.sleep(for: .milliseconds(Int.random(in: pause)))
        for change in changes where tenure.isValid && !Task.isCancelled {
            let effect = EffectRecorder.Effect(
                owner: owner, lease: tenure.lease, n: change.n, id: change.id)
            recorder.effects.with { $0.append(effect) }
            answer(change, .done)
        }
    }
}

/// Members of one fleet as real tasks.
final class TestFleet: Sendable {
    let bed: TestBed
    let feed: FixedFeed
    let recorder = EffectRecorder()
    let notes = Locked<[FleetNote]>([])
    private let members = Locked<[String: (member: FleetMember, task: Task<Void, any Error>)]>([:])

    init(_ bed: TestBed, _ feed: FixedFeed) { (self.bed, self.feed) = (bed, feed) }

    func start(
        _ owner: String, role: FleetMember.Role = .auto, through address: PostgresAddress? = nil,
        configure: (inout FleetSettings) -> Void = { _ in }
    ) {
        var settings = FleetSettings()
        settings.margin = bed.leaseTime / 5
        settings.maxBackoff = .seconds(1)
        settings.leader.answeredInterval = .milliseconds(500)
        configure(&settings)
        var environment = FleetEnvironment()
        environment.note = { [notes] note in notes.withLock { $0.append(note) } }
        let member = FleetMember(
            log: bed.log(owner, works: role != .reader, through: address), feed: feed,
            processor: recorder.processor(owner), role: role, settings: settings, environment: environment)
        let task = Task { try await member.run() }
        members.withLock { $0[owner] = (member, task) }
    }

    /// Like a crash: releases nothing.
    func cancel(_ owner: String) async {
        guard let task = members.withLock({ $0.removeValue(forKey: owner)?.task }) else { return }
        task.cancel()
        _ = try? await task.value
    }

    /// It releases everything first.
    func stop(_ owner: String) async throws {
        guard let (member, task) = members.withLock({ $0.removeValue(forKey: owner) }) else { return }
        member.stop()
        try await task.value
    }

    /// Waits until the member has a lease, or none.
    func wait(untilHolds holds: Bool, _ owner: String) async throws {
        while try await bed.run("SELECT count(*) > 0 FROM lease WHERE owner = '\(owner)'")[0][0] != .int(holds ? 1 : 0)
        {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// How many changes the engine has acknowledged.
    var appended: Int {
        notes.withLock { notes in
            notes.reduce(0) { sum, note in if case .appended(let count) = note { sum + count } else { sum } }
        }
    }

    /// Waits until the log is empty and has the whole feed.
    func finish() async throws {
        let end = ContinuousClock.now + .seconds(90)
        let log = bed.log("observer")
        while ContinuousClock.now < end {
            if try await bed.run("SELECT n FROM fleet")[0][0].int == feed.entries.count {
                let backlog = try await log.backlog()
                if backlog.entries == 0, backlog.parts.allSatisfy({ $0.parked == 0 }) { break }
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        log.close()
        let all = members.withLock { members in
            defer { members = [:] }
            return Array(members.values)
        }
        for (member, _) in all { member.stop() }
        for (_, task) in all { try await task.value }
        #expect(ContinuousClock.now < end, "the fleet does not finish")
        recorder.check(feed)
        #expect(try await bed.run("SELECT count(*) FROM lease WHERE owner IS NOT NULL")[0][0].int == 0)
        #expect(try await bed.run("SELECT count(*) FROM dead_change")[0][0].int == 0)
    }

    /// Waits until this number of changes was read from the feed.
    func wait(for count: Int) async { await feed.served.wait { $0 >= count } }
}
