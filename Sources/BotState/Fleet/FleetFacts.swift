package import DocumentFlow
internal import Locking
internal import PostgreSQL

/// What a process knows of its fleet.
package struct FleetFacts: Sendable {
    /// Without credentials.
    package let engine: String
    package let fleet: String
    /// This process, as in ``FleetStanding/Member/id``.
    package let member: String
    /// Whether it runs alone, or reads the feed for those that share the work.
    package let leads: Bool
    package let isStandingBy: Bool
    package let isDrained: Bool
    /// How often a lease of this process ended that it had not given back.
    package let leaseLosses: Int
    /// How many commits of this process were refused, because another one had its lease.
    package let fencedCommits: Int
    /// How often this process did not know whether a commit is stored.
    package let unknownCommits: Int
    /// What the engine says. Nil: it was not asked, or did not answer.
    package let standing: FleetStanding?
}

/// Asks the engine how a fleet stands, for those who watch one of its members.
package final class FleetWatch: Sendable {
    /// How long the engine may take to answer.
    private static let deadline: Duration = .seconds(2)

    private let engine: Engine
    private let isSharing: Bool
    /// Its connection is made for the first who asks.
    private let queue: PostgresQueue

    package init(_ engine: Engine, isSharing: Bool) {
        (self.engine, self.isSharing) = (engine, isSharing)
        queue = engine.makeQueue(deadline: Self.deadline)
    }

    package func facts(asksEngine: Bool, _ phase: RunFacts.Phase) async -> FleetFacts {
        let standing = asksEngine ? await standing() : nil
        let counts = engine.tally.counts
        let isAtWork = [.catchingUp, .following, .stopping].contains(phase)
        return FleetFacts(
            engine: "\(engine.address)", fleet: engine.fleet, member: engine.memberID,
            leads: isSharing ? engine.tally.readsFeed : isAtWork, isStandingBy: phase == .standingBy,
            isDrained: phase == .drained, leaseLosses: counts[.leaseLosses] ?? 0,
            fencedCommits: counts[.fencedCommits] ?? 0, unknownCommits: counts[.unknownCommits] ?? 0,
            standing: standing)
    }

    private func standing() async -> FleetStanding? {
        let began = ContinuousClock.now
        // A connection that was idle while the engine was started again is found broken by the first call.
        while began.duration(to: .now) < Self.deadline / 2 {
            do {
                return try await queue.perform { [engine] connection in
                    guard try EngineSchema.isThere(engine.schema, connection) else { return nil }
                    return try FleetStanding(connection)
                }
            } catch PostgresError.unavailable {
                try? await Task.sleep(for: Self.deadline / 10)
            } catch {
                return nil
            }
        }
        return nil
    }

    /// Blocks for a moment.
    package func close() { queue.close() }
}
