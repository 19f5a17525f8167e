package import DocumentFlow
internal import Locking
internal import PostgreSQL

/// What a process knows about its fleet.
package struct FleetFacts: Sendable {
    /// Without credentials.
    package let engine: String
    package let fleet: String
    /// This process, as in ``FleetSnapshot/Member/id``.
    package let member: String
    /// Whether it is the active member, or reads the feed for the members that share the work.
    package let leads: Bool
    package let isOnStandby: Bool
    package let isDrained: Bool
    /// How many leases of this process ended without being released.
    package let leaseLosses: Int
    /// How many commits of this process were refused because another process had its lease.
    package let fencedCommits: Int
    /// How many times this process did not know whether a commit was stored.
    package let unknownCommits: Int
    /// The engine's answer. Nil: it was not asked, or did not answer.
    package let snapshot: FleetSnapshot?
}

/// Reads the status of a fleet from the engine, for observers of one of its members.
package final class FleetStatusReader: Sendable {
    /// How long the engine may take to answer.
    private static let deadline: Duration = .seconds(2)

    private let engine: Engine
    private let isSharing: Bool
    /// It connects when it is first used.
    private let queue: PostgresQueue

    package init(_ engine: Engine, isSharing: Bool) {
        (self.engine, self.isSharing) = (engine, isSharing)
        queue = engine.makeQueue(deadline: Self.deadline)
    }

    package func facts(queriesEngine: Bool, _ phase: RunFacts.Phase) async -> FleetFacts {
        let snapshot = queriesEngine ? await snapshot() : nil
        let counts = engine.counters.counts
        let isWorking = [.catchingUp, .following, .stopping].contains(phase)
        return FleetFacts(
            engine: "\(engine.address)", fleet: engine.fleet, member: engine.memberID,
            leads: isSharing ? engine.counters.readsFeed : isWorking, isOnStandby: phase == .onStandby,
            isDrained: phase == .drained, leaseLosses: counts[.leaseLosses] ?? 0,
            fencedCommits: counts[.fencedCommits] ?? 0, unknownCommits: counts[.unknownCommits] ?? 0,
            snapshot: snapshot)
    }

    private func snapshot() async -> FleetSnapshot? {
        let began = ContinuousClock.now
        // If the engine was restarted while the connection was idle, only the first call finds it broken.
        while began.duration(to: .now) < Self.deadline / 2 {
            do {
                return try await queue.perform { [engine] connection in
                    guard try EngineSchema.exists(engine.schema, connection) else { return nil }
                    return try FleetSnapshot(connection)
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
