/// A change as the leader reads it from the feed, without its document.
package struct FeedEntry: Hashable, Sendable {
    /// The feed's sequence, as JSON text. Opaque.
    package var sequence: String
    package var id: DocumentKey
    package var revision: String
    package var isDeleted: Bool

    package init(sequence: String, id: DocumentKey, revision: String, isDeleted: Bool = false) {
        (self.sequence, self.id, self.revision, self.isDeleted) = (sequence, id, revision, isDeleted)
    }
}

/// A change in the log, or the parked change of a document.
package struct LoggedChange: Hashable, Sendable {
    /// Its place in the log. Rises by 1 from change to change over all partitions, beginning with 1.
    package var n: Int64
    package var entry: FeedEntry
    /// How often it was tried alone without an answer: the try failed, or its process ended. See ``Attempt``.
    package var attempts = 0
    /// In a change of the log: whether the document was parked when this was read.
    package var isParked = false
    /// In a parked change: the oldest change of the document that is not answered yet. Elsewhere the same as `n`.
    package var firstN: Int64
    /// In a parked change: how often it was parked, 1 or more.
    package var parks = 0

    package init(
        n: Int64, entry: FeedEntry, attempts: Int = 0, isParked: Bool = false, firstN: Int64? = nil, parks: Int = 0
    ) {
        (self.n, self.entry, self.attempts, self.isParked) = (n, entry, attempts, isParked)
        self.firstN = firstN ?? n
        self.parks = parks
    }

    package var id: DocumentKey { entry.id }
}
