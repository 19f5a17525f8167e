internal import Locking

/// Work besides reading the feed that only the leader may do.
package protocol LeaderTask: Sendable {
    /// Works until this member no longer leads. Then it is cancelled, and must end soon.
    ///
    /// - Throws: ``WorkLogError`` from ``LeaderTerm``: the term ends, and a new one begins. Otherwise only
    ///   `CancellationError`: it must recover from all other errors itself.
    func work(_ term: LeaderTerm) async throws
}

/// One term of a leader: the end of the log, where the feed and a ``LeaderTask`` append one after the other.
package final class LeaderTerm: Sendable {
    package let tenure: Tenure
    private let log: any WorkLog
    private let settings: FleetSettings
    private let environment: FleetEnvironment
    private let term: Locked<Term>
    private let appending = TaskLock()
    /// An upper bound of the number of changes in the log. Nil: not known yet.
    private let backlog = Locked<Int?>(nil)

    init(
        _ term: Term, _ tenure: Tenure, _ log: any WorkLog, _ settings: FleetSettings, _ environment: FleetEnvironment
    ) {
        (self.tenure, self.log, self.settings, self.environment) = (tenure, log, settings, environment)
        self.term = Locked(term)
    }

    /// The sequence up to which the feed is in the log. Nil: nothing was ever appended.
    var sequence: String? { term.withLock(\.sequence) }

    /// Stores changes.
    ///
    /// - Parameter sequence: Up to which the feed was read; nil for changes that are not from the feed.
    /// - Returns: The place of the last change in the log.
    /// - Throws: As ``WorkLog/append(_:upTo:_:)``. After `.unavailable` nothing is stored.
    @discardableResult
    package func append(_ entries: [FeedEntry], upTo sequence: String? = nil) async throws(WorkLogError) -> Int64 {
        let n = try await appending.withLock { () async throws(WorkLogError) in
            let now = try await log.append(entries, upTo: sequence, term.withLock { $0 })
            term.withLock { $0 = now }
            return now.n
        }
        backlog.withLock { $0 = $0.map { $0 + entries.count } }
        if !entries.isEmpty { environment.note(.appended(entries.count)) }
        return n
    }

    /// Whether the log may grow. Counts its changes only if the appends since the last count may have exceeded the
    /// limit. If there is no room, waits for a moment.
    ///
    /// - Throws: ``WorkLogError``, `CancellationError`.
    package func hasRoom() async throws -> Bool {
        if let backlog = backlog.withLock({ $0 }), backlog <= settings.leader.backlogLimit { return true }
        let counted = try await log.backlog().entries
        backlog.withLock { $0 = counted }
        guard counted > settings.leader.backlogLimit else { return true }
        environment.note(.backlogFull(counted))
        try await environment.clock.sleep(for: settings.poll)
        return false
    }

    /// Whether every change up to this place was processed: see ``WorkLog/hasPassed(_:)``.
    package func hasPassed(_ n: Int64) async throws(WorkLogError) -> Bool { try await log.hasPassed(n) }
}
