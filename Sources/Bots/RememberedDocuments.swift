internal import BotState

/// The number of documents that each rule with `changed`, `enter` or `leave` remembers, and which of them are learning.
///
/// The state counts them by reading all records, so the numbers are kept for a while: counting takes at most about one
/// percent of the time.
struct RememberedDocuments {
    /// The rules that a pass is teaching all documents now.
    var learning: Set<String> = []
    private var counts: [String: Int] = [:]
    private var nextCount: ContinuousClock.Instant?

    private static let minInterval: Duration = .seconds(5)

    /// Whether the numbers should be counted again.
    func isDue(now: ContinuousClock.Instant) -> Bool { nextCount.map { $0 <= now } ?? true }

    /// - Parameters:
    ///   - counted: Nil: the state could not be read.
    ///   - duration: How long it took to count them.
    mutating func note(_ counted: [String: Int]?, duration: Duration, now: ContinuousClock.Instant) {
        if let counted { counts = counted }
        nextCount = now + max(Self.minInterval, duration * 100)
    }

    /// The numbers of these rules.
    func counts(of rules: [String]) -> [String: Int] {
        Dictionary(rules.map { ($0, counts[$0] ?? 0) }) { first, _ in first }
    }
}
