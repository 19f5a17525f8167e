/// What happened to changes of a partition: stored in one commit, in the order of these properties.
package struct Outcome: Hashable, Sendable {
    /// The new position. Changes up to it are deleted from the log. Not lower than the old one.
    package var position: Int64
    /// Documents whose parked change is answered.
    package var unparked: [DocumentKey] = []
    package var dead: [DeadChange] = []
    package var parked: [Parking] = []
    /// Changes of parked documents. Each takes the place of the parked one, which keeps its time; if none is there any
    /// more, it is parked and due at once.
    package var joined: [LoggedChange] = []
    /// Tries that are about to begin, or that the process has survived for some time.
    package var attempted: [Attempt] = []
    /// Whether the lease ends with this commit.
    package var releases = false

    package init(position: Int64) { self.position = position }
}

/// A change that is not tried any more.
package struct DeadChange: Hashable, Sendable {
    package var change: LoggedChange
    /// For people. May name the document.
    package var reason: String

    package init(_ change: LoggedChange, reason: String) { (self.change, self.reason) = (change, reason) }
}

/// A change that waits for its time outside the log, so that its partition can go on.
package struct Parking: Hashable, Sendable {
    /// The newest change of the document, with ``LoggedChange/firstN`` and ``LoggedChange/parks`` as they are to be.
    package var change: LoggedChange
    /// When it is due, after the engine's clock at the commit.
    package var delay: Duration
    /// For people. May name the document.
    package var reason: String

    package init(_ change: LoggedChange, delay: Duration, reason: String) {
        (self.change, self.delay, self.reason) = (change, delay, reason)
    }
}

/// An attempt at one document alone that is about to begin, under the name of the process that makes it. Stored before, so that
/// it counts if it ends the process. Stored again with a lower weight once the process has survived it for some time: it
/// may still end it, but then another reason is more likely.
package struct Attempt: Hashable, Sendable {
    /// The newest change of the document.
    package var n: Int64
    package var id: DocumentKey
    /// Whether it is the parked change of the document.
    package var isParked: Bool
    /// Those of others. What others have tried and is not here is given back: they live.
    package var others: Tries
    /// What this one counts if its process ends. See ``FleetSettings/Isolation/survivalsPerAttempt``.
    package var weight: Int

    package init(n: Int64, id: DocumentKey, isParked: Bool, others: Tries = Tries(), weight: Int) {
        (self.n, self.id, self.isParked, self.others, self.weight) = (n, id, isParked, others, weight)
    }

    /// What a log stores when this member commits it.
    package func tries(of owner: String) -> Tries { others.adding(owner, weight) }
}
