/// The results of a partition's changes: stored in one commit, in the order of these properties.
package struct PartitionOutcome: Hashable, Sendable {
    /// The new position. Changes up to it are deleted from the log. Not lower than the old one.
    package var position: Int64
    /// Documents whose parked change is answered.
    package var unparked: [DocumentKey] = []
    package var dead: [DeadChange] = []
    package var parked: [ParkedChange] = []
    /// Changes of parked documents. Each replaces the parked change and keeps its time. If there is no parked change
    /// any more, it is parked and due at once.
    package var joined: [LoggedChange] = []
    /// Attempts that are about to begin, or that the process has survived for some time.
    package var attempted: [Attempt] = []
    /// Whether the lease ends with this commit.
    package var releases = false

    package init(position: Int64) { self.position = position }
}

/// A change that is not attempted any more.
package struct DeadChange: Hashable, Sendable {
    package var change: LoggedChange
    /// For operators. May name the document.
    package var reason: String

    package init(_ change: LoggedChange, reason: String) { (self.change, self.reason) = (change, reason) }
}

/// A change that waits outside the log for its next attempt, so that its partition can continue.
package struct ParkedChange: Hashable, Sendable {
    /// The newest change of the document, with the new ``LoggedChange/firstPosition`` and ``LoggedChange/parks``.
    package var change: LoggedChange
    /// How long after the commit it is due, by the engine's clock.
    package var delay: Duration
    /// For operators. May name the document.
    package var reason: String

    package init(_ change: LoggedChange, delay: Duration, reason: String) {
        (self.change, self.delay, self.reason) = (change, delay, reason)
    }
}

/// An attempt at one document in isolation, under the name of the process that makes it. Stored before it begins, so
/// that it counts if it crashes the process. Stored again with a lower weight once the process has survived it for some
/// time: a later crash more likely has another cause.
package struct Attempt: Hashable, Sendable {
    /// The newest change of the document.
    package var n: Int64
    package var id: DocumentKey
    /// Whether it is the parked change of the document.
    package var isParked: Bool
    /// Attempts of other processes that count. Attempts of processes that still run are removed from the log.
    package var others: IsolatedAttempts
    /// The weight of this attempt if its process ends. See ``FleetSettings/Isolation/survivalsPerAttempt``.
    package var weight: Int

    package init(n: Int64, id: DocumentKey, isParked: Bool, others: IsolatedAttempts = IsolatedAttempts(), weight: Int)
    {
        (self.n, self.id, self.isParked, self.others, self.weight) = (n, id, isParked, others, weight)
    }

    /// The attempts that a log stores when this member commits it.
    package func isolatedAttempts(of owner: String) -> IsolatedAttempts { others.adding(owner, weight) }
}
