package import Fleet
internal import Locking
package import PostgreSQL

/// Counts lost leases and similar problems of one process, for metrics. They are also added to the engine's counts of
/// the whole fleet.
package final class FleetCounters: Sendable {
    /// What is counted. The raw values are columns of the table `fleet`.
    package enum Kind: String, CaseIterable, Sendable {
        /// A lease ended without being released.
        case leaseLosses = "lease_losses"
        /// A commit was refused, because another member has its lease.
        case fencedCommits = "fenced_commits"
        /// The connection was lost during a commit, so that it was unknown whether the commit was stored.
        case unknownCommits = "unknown_commits"
    }

    private struct State {
        var counts: [Kind: Int] = [:]
        /// Not yet added to the engine's counts.
        var unstored: [Kind: Int] = [:]
        /// The leases of a member that shares the work.
        var leases: Set<LeaseName> = []
    }

    private let state = Locked(State())

    /// Since the process began.
    var counts: [Kind: Int] { state.withLock(\.counts) }

    /// Whether this process reads the feed for the members that share the work.
    var readsFeed: Bool { state.withLock { $0.leases.contains(.feed) } }

    package func add(_ kind: Kind) {
        state.withLock { state in
            state.counts[kind, default: 0] += 1
            state.unstored[kind, default: 0] += 1
        }
    }

    /// Records a note of a member that shares the work.
    package func note(_ note: FleetNote) {
        switch note {
        case .gained(let name, _): _ = state.withLock { $0.leases.insert(name) }
        case .released(let name): _ = state.withLock { $0.leases.remove(name) }
        case .lost(let name): lose(name)
        case .fenced(let name):
            add(.fencedCommits)
            lose(name)
        case .unknownCommit: add(.unknownCommits)
        default: break
        }
    }

    /// A renewal and a refused call may both report the same loss.
    private func lose(_ name: LeaseName) {
        if state.withLock({ $0.leases.remove(name) }) != nil { add(.leaseLosses) }
    }

    /// Call this when the member must stop because its leases have expired, before a renewal can report it.
    package func loseAllLeases() {
        let lost = state.withLock { state in
            defer { state.leases = [] }
            return state.leases.count
        }
        for _ in 0..<lost { add(.leaseLosses) }
    }

    /// Call this when the member has released everything, or ends.
    package func endSharing() { state.withLock { $0.leases = [] } }

    /// Adds the new counts to the engine's. If that fails, the next call repeats it.
    package func store(_ connection: PostgresConnection) throws(PostgresError) {
        let new = state.withLock { state in
            defer { state.unstored = [:] }
            return state.unstored
        }
        guard !new.isEmpty else { return }
        let kinds = Kind.allCases.map(\.rawValue)
        do throws(PostgresError) {
            try connection.run(
                "UPDATE fleet SET "
                    + kinds.enumerated().map { "\($1) = \($1) + $\($0 + 1)::bigint" }.joined(separator: ", "),
                Kind.allCases.map { .int(new[$0] ?? 0) })
        } catch {
            state.withLock { $0.unstored.merge(new, uniquingKeysWith: +) }
            throw error
        }
    }
}
