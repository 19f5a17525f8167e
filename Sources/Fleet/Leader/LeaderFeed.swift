/// Where a leader reads changes from, and where it records a safe start outside the log.
package protocol LeaderFeed: Sendable {
    /// Reads changes after a sequence, without documents. Waits some seconds for the next change.
    ///
    /// - Parameter sequence: As JSON text. Nil: from the beginning.
    /// - Throws: Any error but `CancellationError` is followed by another attempt.
    func changes(after sequence: String?, limit: Int) async throws -> FeedPart
    /// The last recorded sequence, from which a new log starts. Nil: none.
    func savedAnsweredSequence() async throws -> String?
    /// Records a sequence up to which every change is answered.
    func saveAnsweredSequence(_ sequence: String) async throws
}

/// A part of the feed.
package struct FeedPart: Sendable {
    package var entries: [FeedEntry]
    /// The sequence up to which the feed was read, as JSON text. Nil: the feed has nothing new.
    package var sequence: String?

    package init(entries: [FeedEntry], sequence: String?) { (self.entries, self.sequence) = (entries, sequence) }
}
