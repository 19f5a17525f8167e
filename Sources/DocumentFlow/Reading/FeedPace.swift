package import GatewayClient

/// Tells whether a feed makes progress, and how long to wait where it does not.
///
/// A healthy feed never comes back to a sequence, and never brings the same changes again and again. One that does is
/// asked less and less often, until it brings something new. Memory is bounded: what is remembered is the newest thousand
/// sequences and answers, a number for each.
package struct FeedPace: Sendable {
    /// Answers in a row without progress until it is worth telling.
    private static let tolerated = 3
    /// Until a run that wants to come to an end does so.
    private static let hopeless = 10
    private static let shortestPause: Duration = .milliseconds(500)
    private static let longestPause: Duration = .seconds(5)

    private var sequences = RecentNumbers()
    private var answers = RecentNumbers()
    private var current: Rows?
    /// Answers in a row without progress.
    package private(set) var stalls = 0

    /// What is remembered of the rows of one answer.
    private struct Rows: Hashable {
        let first: Int
        var last: Int
        var count: Int
    }

    package init(start: SequenceID) { sequences.insert(start.hashValue) }

    /// Takes notice of rows of the answer that is being read.
    package mutating func add(_ rows: ChangesBatch.SubSequence) {
        guard let first = rows.first, let last = rows.last else { return }
        current = current ?? Rows(first: Self.number(of: first), last: 0, count: 0)
        current?.last = Self.number(of: last)
        current?.count += rows.count
    }

    /// Takes notice of an answer's end. One without rows says nothing: it is what a feed sends that has no news.
    package mutating func endAnswer(at reached: SequenceID) {
        let isNewSequence = sequences.insert(reached.hashValue)
        guard let rows = current else { return }
        current = nil
        let isNewAnswer = answers.insert(rows.hashValue)
        stalls = isNewSequence && isNewAnswer ? 0 : stalls + 1
    }

    /// How long to wait before the feed is asked again; nil if it makes progress.
    package var pause: Duration? {
        guard stalls > 0 else { return nil }
        return min(Self.longestPause, Self.shortestPause * (1 << max(0, min(stalls - Self.tolerated + 1, 10))))
    }

    /// It has just become clear that the feed makes no progress.
    package var isWorthTelling: Bool { stalls == Self.tolerated }

    /// Not worth waiting for any longer, for a run that ends with the feed.
    package var isHopeless: Bool { stalls >= Self.hopeless }

    /// The same for the same revision of the same document, whatever its sequence. What has no revision is told apart by
    /// its sequence.
    private static func number(of change: Change) -> Int {
        var hasher = Hasher()
        hasher.combine(change.id)
        if let revision = change.revision { hasher.combine(revision) } else { hasher.combine(change.sequence) }
        return hasher.finalize()
    }
}

/// The numbers that came last.
struct RecentNumbers: Sendable {
    private static let capacity = 1024

    private var order: [Int] = []
    private var next = 0
    private var known: Set<Int> = []

    /// False if the number is among them already.
    @discardableResult
    mutating func insert(_ number: Int) -> Bool {
        guard known.insert(number).inserted else { return false }
        if order.count < Self.capacity {
            order.append(number)
        } else {
            known.remove(order[next])
            order[next] = number
            next = (next + 1) % Self.capacity
        }
        return true
    }
}
