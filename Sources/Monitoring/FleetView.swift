internal import Encodings
internal import Locking
internal import LosslessJSON

/// What is shown of the fleet of a bot.
package struct FleetView: Sendable {
    /// A process of the fleet.
    package struct Member: Sendable {
        /// As `changebot fleet` names it.
        package let id: String
        /// Process, machine, start.
        package let process: String
        /// `runs`, `works`, `waits`, `drains` or `drained`.
        package let state: String
        package let partitions: Int
        package let readsFeed: Bool
        /// Empty if it has none.
        package let ruleSetHash: String

        /// What the engine knows of it.
        package init(
            id: String, process: String, state: String, partitions: Int, readsFeed: Bool, ruleSetHash: String
        ) {
            (self.id, self.process, self.state) = (id, process, state)
            (self.partitions, self.readsFeed, self.ruleSetHash) = (partitions, readsFeed, ruleSetHash)
        }
    }

    /// What the engine knows.
    package struct Standing: Sendable {
        package var members: [Member] = []
        /// Nil: the members do not share the work.
        package var partitions: Int?
        /// Changes in the log by the numbers of this process's partitions.
        package var ownBacklog: [Int: Int] = [:]
        /// Changes in the log.
        package var backlog = 0
        /// In seconds; nil if nothing waits.
        package var oldestAge: Double?
        package var parked = 0
        package var dead = 0
        package var takeovers = 0
        package var fencedCommits = 0

        /// An empty fleet.
        package init() {}

        /// The rules of the members.
        var ruleSets: Set<String> { Set(members.map(\.ruleSetHash).filter { !$0.isEmpty }) }
    }

    package let name: String
    /// Without credentials.
    package let engine: String
    /// This process, as in ``Member/id``.
    package let member: String
    /// Whether this process runs alone, or reads the feed for those that share the work.
    package var leads = false
    package var isStandingBy = false
    package var isDrained = false
    package var leaseLosses = 0
    package var fencedCommits = 0
    package var unknownCommits = 0
    /// Nil: the engine was not asked, or did not answer.
    package var standing: Standing?

    /// Nothing is known yet.
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
            guard let standing else { return writer.null() }
            writer.object { Self.write(standing, to: &$0) }
        }
    }

    private static func write(_ standing: Standing, to writer: inout JSONWriter) {
        writer.name("partitions")
        if let partitions = standing.partitions { writer.integer(partitions) } else { writer.null() }
        writer.member("backlog", integer: standing.backlog)
        writer.name("oldest_seconds")
        if let age = standing.oldestAge { writer.integer(Int(age)) } else { writer.null() }
        writer.member("parked", integer: standing.parked)
        writer.member("dead", integer: standing.dead)
        writer.member("takeovers", integer: standing.takeovers)
        writer.member("fenced_commits", integer: standing.fencedCommits)
        writer.member("same_rules", bool: standing.ruleSets.count <= 1)
        writer.name("members")
        writer.array { writer in
            for member in standing.members {
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

/// When the engine of a fleet is asked: only for those who look, and seldom if it takes long to answer.
struct FleetPace {
    private static let shortestInterval: Duration = .seconds(5)
    /// An engine that counts a million changes is busy for at most this part of the time.
    private static let mostOfTheTime = 20

    private var nextAt: ContinuousClock.Instant?

    func isDue(now: ContinuousClock.Instant) -> Bool { nextAt.map { now >= $0 } ?? true }

    /// The engine was asked.
    mutating func noteAnswer(asked: ContinuousClock.Instant, answered: ContinuousClock.Instant) {
        nextAt = answered + max(Self.shortestInterval, asked.duration(to: answered) * Self.mostOfTheTime)
    }
}

/// Asks for something that may not answer, such as a state on another machine. Never for more than one answer at once.
final class Inquiry<Answer: Sendable>: Sendable {
    private let isUnderWay = Locked(false)

    /// - Returns: Nil after `limit`, or if an earlier question has no answer yet.
    func answer(
        within limit: Duration, _ ask: @escaping @Sendable () async -> Answer?
    ) async -> Answer? {
        let isFree = isUnderWay.withLock { isUnderWay in
            defer { isUnderWay = true }
            return !isUnderWay
        }
        guard isFree else { return nil }
        let (answers, continuation) = AsyncStream<Answer?>.makeStream()
        // It goes on if nobody waits any more.
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
