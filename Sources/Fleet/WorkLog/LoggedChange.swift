/// A change as the leader reads it from the feed, without its document; or a request to decide a document again.
package struct FeedEntry: Hashable, Sendable {
    /// Why the document has to be decided. The raw values are those of a log.
    package enum Kind: Int, Sendable {
        /// A row of the feed: the document was written.
        case changed
        /// A row of the feed: the document was deleted.
        case deleted
        /// The document has not changed: one of its timers is due.
        case due
        /// The document has not changed: only its contribution to totals is computed again.
        case uncounted
        /// A row of the feed: the document is no longer visible to this client.
        case lost

        /// Whether it is a row of the feed.
        package var isFromFeed: Bool { self == .changed || self == .deleted || self == .lost }
    }

    package var kind: Kind
    /// The feed's sequence, as JSON text. Opaque. Empty if the entry is not from the feed.
    package var sequence: String
    package var id: DocumentKey
    /// The winning revision. Empty if the entry is not from the feed.
    package var revision: String
    /// The other leaf revisions in the row, in its order.
    package var otherLeaves: [String]

    package init(
        sequence: String, id: DocumentKey, revision: String, otherLeaves: [String] = [], isDeleted: Bool = false,
        isLost: Bool = false
    ) {
        (self.sequence, self.id, self.revision, self.otherLeaves) = (sequence, id, revision, otherLeaves)
        kind = isLost ? .lost : isDeleted ? .deleted : .changed
    }

    /// - Parameter kind: `.due` or `.uncounted`.
    package init(_ kind: Kind, _ id: DocumentKey) {
        self.init(sequence: "", id: id, revision: "")
        self.kind = kind
    }

    package var isDeleted: Bool { kind == .deleted }

    /// The revisions as a log stores them: the winner first, with a zero byte before each of the others.
    package var revisionBytes: [UInt8] { Array(([revision] + otherLeaves).joined(separator: "\0").utf8) }

    /// Reads what a log has stored.
    package init(kind: Kind, sequence: String, id: DocumentKey, revisionBytes: [UInt8]) {
        let revisions = revisionBytes.split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        self.init(sequence: sequence, id: id, revision: revisions[0], otherLeaves: Array(revisions.dropFirst()))
        self.kind = kind
    }
}

/// A change in the log, or the parked change of a document.
package struct LoggedChange: Hashable, Sendable {
    /// Its place in the log. Starts at 1 and increases by 1 with each change of any partition.
    package var n: Int64
    package var entry: FeedEntry
    /// Attempts in isolation that count: those that failed, and those of processes that had left the fleet when this
    /// was read.
    package var isolatedAttempts: IsolatedAttempts
    /// In a dead change: how many attempts in isolation it had.
    package var attempts = 0
    /// In a change of the log: whether the document was parked when this was read.
    package var isParked = false
    /// In a parked change: the place of the document's oldest unanswered change. Otherwise the same as `n`.
    package var firstPosition: Int64
    /// In a parked change: how many times it was parked, at least 1.
    package var parks = 0

    /// Whether the document's contribution to totals must be computed, even if nothing else is decided. Not stored: a
    /// log stores the kind.
    package var mustBeCounted: Bool

    package init(
        n: Int64, entry: FeedEntry, isolatedAttempts: IsolatedAttempts = IsolatedAttempts(), attempts: Int = 0,
        isParked: Bool = false,
        firstPosition: Int64? = nil, parks: Int = 0
    ) {
        (self.n, self.entry, self.isolatedAttempts, self.attempts, self.isParked) = (
            n, entry, isolatedAttempts, attempts, isParked
        )
        self.firstPosition = firstPosition ?? n
        self.parks = parks
        mustBeCounted = entry.kind == .uncounted
    }

    package var id: DocumentKey { entry.id }

    /// The change that represents several changes of one document: the last one from the feed, otherwise a timer,
    /// otherwise a recount. It has the place of the last change, and is counted if any of them must be.
    static func representative(of changes: [LoggedChange]) -> LoggedChange? {
        guard var last = changes.last else { return nil }
        let newest =
            changes.last { $0.entry.kind.isFromFeed } ?? changes.last { $0.entry.kind == .due } ?? last
        last.entry = newest.entry
        last.mustBeCounted = changes.contains(where: \.mustBeCounted)
        return last
    }
}
