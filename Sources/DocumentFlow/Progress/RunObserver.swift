package import GatewayClient
package import LosslessJSON

/// Receives the events of a run, for metrics and the status page.
///
/// Called by all tasks of the run, up to thousands of times per second. It must return at once and never call back.
package protocol RunObserver: Sendable {
    /// Whether the observer needs ``WrittenDocument/before`` and ``WrittenDocument/after``. They stay in memory as long
    /// as the observer keeps them.
    var needsDocuments: Bool { get }
    /// The number of documents that the observer needs of one ``RunEvent/wrote(_:)``. It receives the last ones.
    var maxReportedWrites: Int { get }

    /// Called after the event.
    func note(_ event: RunEvent)
}

/// An event of a run.
package enum RunEvent: Sendable {
    /// The counters have grown by this much.
    case counted(RunCounters)
    /// The gateway accepted documents: the last ones of an answer, at most ``RunObserver/maxReportedWrites``.
    case wrote([WrittenDocument])
    /// A change became a dead letter. Nil if no rule failed.
    case deadLettered(rule: String?)
    /// A request failed with this error and is sent again after this wait.
    case retried(GatewayError.Code, wait: Duration)
    /// The rules decided a batch of documents: how long it took, and the part of that spent waiting for jq programs.
    /// Nil if no program ran.
    case decided(Duration, jq: Duration?)
    /// A bulk write was answered.
    case sent(Duration)
    /// All effects of these changes are settled: the time since the row of each arrived.
    case settled([Duration])
    /// This number of documents was decided because a timer was due.
    case timersFired(Int)
    /// The run's phase has changed, or a checkpoint was saved.
    case progressed
}

/// A document that a run has written.
package struct WrittenDocument: Sendable {
    package let id: DocumentID
    /// Nil for the keyspace that the run follows.
    package let keyspace: String?
    package let revision: RevisionID
    /// The rules that fired, in order.
    package let rules: [String]
    package let isDeletion: Bool
    /// The document before the rules ran. Nil if it is new, or not needed.
    package var before: JSONText?
    /// The document as it was sent. Nil if it was deleted, or is not needed.
    package var after: JSONText?

    /// Creates an event without the document's content.
    package init(id: DocumentID, keyspace: String? = nil, revision: RevisionID, rules: [String], isDeletion: Bool) {
        self.id = id
        self.keyspace = keyspace
        self.revision = revision
        self.rules = rules
        self.isDeletion = isDeletion
    }
}
