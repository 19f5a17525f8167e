package import Fleet
internal import Locking
package import PostgreSQL

/// What one process meets as a member of its fleet: for metrics, and added to what the engine keeps for the whole fleet.
package final class FleetTally: Sendable {
    /// What is counted. The raw values are columns of the table `fleet`.
    package enum Kind: String, CaseIterable, Sendable {
        /// A lease ended that was not given back.
        case leaseLosses = "lease_losses"
        /// A commit was refused, because another member has its lease.
        case fencedCommits = "fenced_commits"
        /// The connection was lost during a commit, so that it was unknown whether it is stored.
        case unknownCommits = "unknown_commits"
    }

    private struct State {
        var counts: [Kind: Int] = [:]
        /// Not added to the engine's yet.
        var unstored: [Kind: Int] = [:]
        /// Of those that share the work.
        var leases: Set<LeaseName> = []
    }

    private let state = Locked(State())

    /// Since the process began.
    var counts: [Kind: Int] { state.withLock(\.counts) }

    /// Whether this process reads the feed for those that share the work.
    var readsFeed: Bool { state.withLock { $0.leases.contains(.feed) } }

    package func add(_ kind: Kind) {
        state.withLock { state in
            state.counts[kind, default: 0] += 1
            state.unstored[kind, default: 0] += 1
        }
    }

    /// Takes in what happened to a member that shares the work.
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

    /// A renewal and a refused call may both tell of it.
    private func lose(_ name: LeaseName) {
        if state.withLock({ $0.leases.remove(name) }) != nil { add(.leaseLosses) }
    }

    /// The member has given back everything, or ends.
    package func endSharing() { state.withLock { $0.leases = [] } }

    /// Adds what is new to the engine's counts. If that fails, the next call does it.
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
