package import GatewayClient

/// Detects whether a feed makes progress, and how long to wait if it does not.
///
/// A healthy feed never returns to a sequence and never repeats the same changes. A feed that does is polled less and
/// less often, until it returns new changes. Memory is bounded: one hash for each of the last 1,024 sequences and
/// answers.
package struct FeedPace: Sendable {
    /// Consecutive answers without progress before a warning is logged.
    private static let warningLimit = 3
    /// Consecutive answers without progress after which a one-shot run ends.
    private static let stallLimit = 10
    private static let minPause: Duration = .milliseconds(500)
    /// The longest wait, unless ``init(start:maxPause:)`` overrides it.
    package static let maxPause: Duration = .seconds(5)

    private let maxPause: Duration
    private var sequences = RecentNumbers()
    private var answers = RecentNumbers()
    private var current: Rows?
    /// Consecutive answers without progress.
    package private(set) var answersWithoutProgress = 0

    /// A summary of the rows of one answer.
    private struct Rows: Hashable {
        let first: Int
        var last: Int
        var count: Int
    }

    /// - Parameter start: Counts as seen: an answer that returns to it is no progress.
    package init(start: SequenceID, maxPause: Duration = Self.maxPause) {
        self.maxPause = maxPause
        sequences.insert(start.hashValue)
    }

    /// Records rows of the current answer.
    package mutating func add(_ rows: ChangesBatch.SubSequence) {
        guard let first = rows.first, let last = rows.last else { return }
        current = current ?? Rows(first: Self.number(of: first), last: 0, count: 0)
        current?.last = Self.number(of: last)
        current?.count += rows.count
    }

    /// Records the end of an answer. An answer without rows does not count: a feed sends it when nothing has changed.
    package mutating func endAnswer(at reached: SequenceID) {
        let isNewSequence = sequences.insert(reached.hashValue)
        guard let rows = current else { return }
        current = nil
        let isNewAnswer = answers.insert(rows.hashValue)
        answersWithoutProgress = isNewSequence && isNewAnswer ? 0 : answersWithoutProgress + 1
    }

    /// The wait before the next request. Nil if the feed makes progress.
    package var pause: Duration? {
        guard answersWithoutProgress > 0 else { return nil }
        return min(
            maxPause,
            Self.minPause * (1 << max(0, min(answersWithoutProgress - Self.warningLimit + 1, 10))))
    }

    /// Whether the feed has just stalled long enough to be logged.
    package var shouldLog: Bool { answersWithoutProgress == Self.warningLimit }

    /// Whether a one-shot run should stop waiting for progress.
    package var hasStalledTooLong: Bool { answersWithoutProgress >= Self.stallLimit }

    /// A hash of the document and its revision, independent of the sequence. Without a revision, of the document and
    /// the sequence.
    private static func number(of change: Change) -> Int {
        var hasher = Hasher()
        hasher.combine(change.id)
        if let revision = change.revision { hasher.combine(revision) } else { hasher.combine(change.sequence) }
        return hasher.finalize()
    }
}

/// The last 1,024 distinct numbers.
struct RecentNumbers: Sendable {
    private static let capacity = 1024

    private var order: [Int] = []
    private var next = 0
    private var known: Set<Int> = []

    /// False if the number is already included.
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
