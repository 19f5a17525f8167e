/// A change as the leader reads it from the feed, without its document; or a wish to look at a document again.
package struct FeedEntry: Hashable, Sendable {
    /// Why the document has to be decided. The raw values are those of a log.
    package enum Kind: Int, Sendable {
        /// A row of the feed: it was written.
        case changed
        /// A row of the feed: it was deleted.
        case deleted
        /// It has not changed: the time of one of its rules has come.
        case due
        /// It has not changed: only what it adds to totals is found out again.
        case uncounted

        /// Whether it is a row of the feed.
        package var isOfFeed: Bool { self == .changed || self == .deleted }
    }

    package var kind: Kind
    /// The feed's sequence, as JSON text. Opaque. Empty if it is no row of the feed.
    package var sequence: String
    package var id: DocumentKey
    /// The leaf that wins. Empty if it is no row of the feed.
    package var revision: String
    /// The other leaf revisions that the row names, in its order.
    package var otherLeaves: [String]

    package init(
        sequence: String, id: DocumentKey, revision: String, otherLeaves: [String] = [], isDeleted: Bool = false
    ) {
        (self.sequence, self.id, self.revision, self.otherLeaves) = (sequence, id, revision, otherLeaves)
        kind = isDeleted ? .deleted : .changed
    }

    /// - Parameter kind: Not one of the feed.
    package init(_ kind: Kind, _ id: DocumentKey) {
        self.init(sequence: "", id: id, revision: "")
        self.kind = kind
    }

    package var isDeleted: Bool { kind == .deleted }

    /// The revisions as a log stores them: the winner first, with a zero byte before each of the others.
    package var revisionBytes: [UInt8] { Array(([revision] + otherLeaves).joined(separator: "\0").utf8) }

    /// What a log has stored.
    package init(kind: Kind, sequence: String, id: DocumentKey, revisionBytes: [UInt8]) {
        let revisions = revisionBytes.split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        self.init(sequence: sequence, id: id, revision: revisions[0], otherLeaves: Array(revisions.dropFirst()))
        self.kind = kind
    }
}

/// A change in the log, or the parked change of a document.
package struct LoggedChange: Hashable, Sendable {
    /// Its place in the log. Rises by 1 from change to change over all partitions, beginning with 1.
    package var n: Int64
    package var entry: FeedEntry
    /// Its tries alone that count: those that failed, and those of processes that were no members when this was read.
    package var tries: Tries
    /// In a dead change: how many tries alone it had.
    package var attempts = 0
    /// In a change of the log: whether the document was parked when this was read.
    package var isParked = false
    /// In a parked change: the oldest change of the document that is not answered yet. Elsewhere the same as `n`.
    package var firstN: Int64
    /// In a parked change: how often it was parked, 1 or more.
    package var parks = 0

    /// Whether what the document adds to totals must be found out, even if nothing else about it is to be decided. Not
    /// stored: a log has the kind.
    package var mustBeCounted: Bool

    package init(
        n: Int64, entry: FeedEntry, tries: Tries = Tries(), attempts: Int = 0, isParked: Bool = false,
        firstN: Int64? = nil, parks: Int = 0
    ) {
        (self.n, self.entry, self.tries, self.attempts, self.isParked) = (n, entry, tries, attempts, isParked)
        self.firstN = firstN ?? n
        self.parks = parks
        mustBeCounted = entry.kind == .uncounted
    }

    package var id: DocumentKey { entry.id }

    /// Of changes of one document, in their order, the one that stands for all: what the feed said last; otherwise a
    /// time; otherwise a count. It has the place of the last one, and is counted if one of them is to be.
    static func standing(for changes: [LoggedChange]) -> LoggedChange? {
        guard var last = changes.last else { return nil }
        let newest =
            changes.last { $0.entry.kind.isOfFeed } ?? changes.last { $0.entry.kind == .due } ?? last
        last.entry = newest.entry
        last.mustBeCounted = changes.contains(where: \.mustBeCounted)
        return last
    }
}
