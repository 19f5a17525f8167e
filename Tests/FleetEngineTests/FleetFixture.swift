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

    func recordedAnswered() async throws -> String? { nil }
    func recordAnswered(_ sequence: String) async throws {}
}

/// Remembers every effect in the order in which they happen.
final class EffectRecorder: Sendable {
    struct Effect: Sendable {
        var owner: String
        var partition: Int
        var token: Int64
        var n: Int64
        var id: DocumentKey
    }

    let effects = Monitor<[Effect]>([])

    func processor(_ owner: String, pause: ClosedRange<Int> = 0...2) -> some Processor {
        RecordingProcessor(recorder: self, owner: owner, pause: pause)
    }

    /// Checks that every document's last change had an effect; that tokens never decrease in a partition, so that no
    /// two owners worked at once; and that under one token the changes of a document come in order, each once.
    func check(_ feed: FixedFeed, sourceLocation: SourceLocation = #_sourceLocation) {
        let effects = effects.with { $0 }
        var last: [DocumentKey: Int64] = [:]
        for (number, entry) in feed.entries.enumerated() { last[entry.id] = Int64(number + 1) }
        var newest: [DocumentKey: Int64] = [:]
        var tokens: [Int: Int64] = [:]
        var order: [DocumentKey: (token: Int64, n: Int64)] = [:]
        var (overlaps, disorder) = (0, 0)
        for effect in effects {
            newest[effect.id] = max(newest[effect.id] ?? 0, effect.n)
            if effect.token < tokens[effect.partition] ?? 0 { overlaps += 1 }
            tokens[effect.partition] = max(tokens[effect.partition] ?? 0, effect.token)
            if let before = order[effect.id], before.token == effect.token, before.n >= effect.n { disorder += 1 }
            order[effect.id] = (effect.token, effect.n)
        }
        #expect(overlaps == 0, "effects after another owner's", sourceLocation: sourceLocation)
        #expect(disorder == 0, sourceLocation: sourceLocation)
        let lost = last.filter { newest[$0.key] != $0.value }
        #expect(lost.isEmpty, "\(lost.count) documents without their last change", sourceLocation: sourceLocation)
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
        guard case .partition(let partition) = tenure.lease.name else { return }
        try? await Task.sleep(for: .milliseconds(Int.random(in: pause)))
        for change in changes where tenure.isValid && !Task.isCancelled {
            let effect = EffectRecorder.Effect(
                owner: owner, partition: partition, token: tenure.lease.token, n: change.n, id: change.id)
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

    func start(_ owner: String, through address: PostgresAddress? = nil) {
        var settings = FleetSettings()
        settings.margin = bed.leaseTime / 5
        settings.longestBackoff = .seconds(1)
        settings.leader.answeredInterval = .milliseconds(500)
        var environment = FleetEnvironment()
        environment.note = { [notes] note in notes.withLock { $0.append(note) } }
        let member = FleetMember(
            log: bed.log(owner, through: address), feed: feed, processor: recorder.processor(owner),
            settings: settings, environment: environment)
        let task = Task { try await member.run() }
        members.withLock { $0[owner] = (member, task) }
    }

    /// Like a crash: releases nothing.
    func cancel(_ owner: String) async {
        guard let task = members.withLock({ $0.removeValue(forKey: owner)?.task }) else { return }
        task.cancel()
        _ = try? await task.value
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
