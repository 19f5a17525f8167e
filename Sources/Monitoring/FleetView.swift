internal import Encodings
internal import Locking
internal import LosslessJSON

/// The displayed facts about a bot's fleet.
package struct FleetView: Sendable {
    /// A process of the fleet.
    package struct Member: Sendable {
        /// The id, as shown by `changebot fleet`.
        package let id: String
        /// Process, machine, start.
        package let process: String
        /// `runs`, `works`, `waits`, `drains` or `drained`.
        package let state: String
        package let partitions: Int
        package let readsFeed: Bool
        /// Empty if it has none.
        package let ruleSetHash: String

        /// Takes the engine's facts about the member.
        package init(
            id: String, process: String, state: String, partitions: Int, readsFeed: Bool, ruleSetHash: String
        ) {
            (self.id, self.process, self.state) = (id, process, state)
            (self.partitions, self.readsFeed, self.ruleSetHash) = (partitions, readsFeed, ruleSetHash)
        }
    }

    /// The engine's facts about the fleet.
    package struct EngineReport: Sendable {
        package var members: [Member] = []
        /// Nil: the members do not share the work.
        package var partitions: Int?
        /// Changes in the log, by partition of this process.
        package var ownBacklog: [Int: Int] = [:]
        /// Changes in the log.
        package var backlog = 0
        /// In seconds; nil if nothing is waiting.
        package var oldestAge: Double?
        package var parked = 0
        package var dead = 0
        package var takeovers = 0
        package var fencedCommits = 0

        /// Creates the facts of an empty fleet.
        package init() {}

        /// The rule sets of the members.
        var ruleSets: Set<String> { Set(members.map(\.ruleSetHash).filter { !$0.isEmpty }) }
    }

    package let name: String
    /// The engine's address, without credentials.
    package let engine: String
    /// This process, as in ``Member/id``.
    package let member: String
    /// Whether this process runs alone, or reads the feed for members that share the work.
    package var leads = false
    package var isOnStandby = false
    package var isDrained = false
    package var leaseLosses = 0
    package var fencedCommits = 0
    package var unknownCommits = 0
    /// Nil: the engine was not asked, or did not answer.
    package var engineReport: EngineReport?

    /// Creates a view without facts.
    package init(name: String, engine: String, member: String) {
        (self.name, self.engine, self.member) = (name, engine, member)
    }

    // MARK: - In the status

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", string: name)
            writer.member("engine", string: engine)
            writer.member("member", string: member)
            writer.member("leads", bool: leads)
            writer.member("drained", bool: isDrained)
            writer.member("lease_losses", integer: leaseLosses)
            writer.member("fenced_commits", integer: fencedCommits)
            writer.member("unknown_commits", integer: unknownCommits)
            writer.name("standing")
            guard let engineReport else { return writer.null() }
            writer.object { Self.write(engineReport, to: &$0) }
        }
    }

    private static func write(_ engineReport: EngineReport, to writer: inout JSONWriter) {
        writer.name("partitions")
        if let partitions = engineReport.partitions { writer.integer(partitions) } else { writer.null() }
        writer.member("backlog", integer: engineReport.backlog)
        writer.name("oldest_seconds")
        if let age = engineReport.oldestAge { writer.integer(Int(age)) } else { writer.null() }
        writer.member("parked", integer: engineReport.parked)
        writer.member("dead", integer: engineReport.dead)
        writer.member("takeovers", integer: engineReport.takeovers)
        writer.member("fenced_commits", integer: engineReport.fencedCommits)
        writer.member("same_rules", bool: engineReport.ruleSets.count <= 1)
        writer.name("members")
        writer.array { writer in
            for member in engineReport.members {
                writer.object { writer in
                    writer.member("id", string: member.id)
                    writer.member("process", string: member.process)
                    writer.member("state", string: member.state)
                    writer.member("partitions", integer: member.partitions)
                    writer.member("reads_feed", bool: member.readsFeed)
                    writer.member("rule_set", optional: member.ruleSetHash.isEmpty ? nil : member.ruleSetHash)
                }
            }
        }
    }
}

/// Decides when a fleet's engine is queried: only while there are readers, and rarely if it answers slowly.
struct FleetPace {
    private static let minInterval: Duration = .seconds(5)
    /// Queries take at most 1/20 of the time, for engines that count a million changes.
    private static let intervalFactor = 20

    private var nextAt: ContinuousClock.Instant?

    func isDue(now: ContinuousClock.Instant) -> Bool { nextAt.map { now >= $0 } ?? true }

    /// Records a query.
    mutating func noteAnswer(asked: ContinuousClock.Instant, answered: ContinuousClock.Instant) {
        nextAt = answered + max(Self.minInterval, asked.duration(to: answered) * Self.intervalFactor)
    }
}

/// Queries something that may not answer, such as a state on another machine. Has at most one query in progress.
final class SingleFlightQuery<Answer: Sendable>: Sendable {
    private let isUnderWay = Locked(false)

    /// - Returns: Nil after `limit`, or if an earlier query is still unanswered.
    func answer(
        within limit: Duration, _ ask: @escaping @Sendable () async -> Answer?
    ) async -> Answer? {
        let isFree = isUnderWay.withLock { isUnderWay in
            defer { isUnderWay = true }
            return !isUnderWay
        }
        guard isFree else { return nil }
        let (answers, continuation) = AsyncStream<Answer?>.makeStream()
        // It continues after the caller has stopped waiting.
        Task.detached { [isUnderWay] in
            continuation.yield(await ask())
            isUnderWay.withLock { $0 = false }
            continuation.finish()
        }
        let timer = Task.detached {
            try await Task.sleep(for: limit)
            continuation.finish()
        }
        defer { timer.cancel() }
        for await answer in answers { return answer }
        return nil
    }
}
