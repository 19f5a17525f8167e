internal import DocumentFlow
package import GatewayClient

/// Why a document is decided. The reasons of merged changes are merged, too.
package struct Reason: Sendable {
    /// The sequence of its newest change; nil if it is not from a feed.
    var sequence: SequenceID?
    /// The leaf revisions that the newest row of the feed names, the winner first; nil: unknown.
    var leaves: [RevisionID]?
    /// Whether one of its timers is due. Then this bot's own revisions are decided, too.
    package var isTimer = false
    /// Whether only the rules that count are applied, because the document has not changed. If a change is merged in,
    /// all rules are applied.
    var countsOnly = false
    /// Whether it comes from a pass that counts all documents.
    package var isFromCount = false
    /// If it must be counted again: this settles the state's `recount` entries up to this number.
    package var recount: Int?
    /// Dead letters to drop once it is written or needs no change. They are replaced if it is dead-lettered again.
    var deadLetters: [Int] = []

    package init(
        sequence: SequenceID? = nil, leaves: [RevisionID]? = nil, isTimer: Bool = false, countsOnly: Bool = false,
        isFromCount: Bool = false, recount: Int? = nil, deadLetters: [Int] = []
    ) {
        (self.sequence, self.leaves, self.isTimer, self.countsOnly, self.isFromCount, self.recount, self.deadLetters) =
            (
                sequence, leaves, isTimer, countsOnly, isFromCount, recount, deadLetters
            )
    }

    /// Whether it is retried. Then this bot's own revisions are decided, too.
    var isRetry: Bool { !deadLetters.isEmpty }

    /// Adds the reason of another change of the same document.
    ///
    /// - Parameter other: Its sequence and leaves are used only if this one has none.
    mutating func merge(_ other: Reason) {
        sequence = sequence ?? other.sequence
        leaves = leaves ?? other.leaves
        isTimer = isTimer || other.isTimer
        countsOnly = countsOnly && other.countsOnly
        isFromCount = isFromCount || other.isFromCount
        if let other = other.recount { recount = max(recount ?? other, other) }
        deadLetters += other.deadLetters
    }
}
