internal import GatewayClient
internal import Locking
internal import Logging

/// Tells of dead letters: the first ones of each rule one by one, then how many more there were.
///
/// A thousand documents over which one rule fails are one thing to tell, not a thousand.
final class DeadLetterLog: Sendable {
    /// So many letters of one rule are told of one by one.
    private static let shown = 20
    /// Between two lines that say how many more there were.
    private static let interval: Duration = .seconds(60)

    private struct Count: Sendable {
        var shown = 0
        var more = 0
        var toldAt = ContinuousClock.now
    }

    private let logger: Logger
    private let counts = Locked<[String: Count]>([:])

    init(_ logger: Logger) { self.logger = logger }

    func report(_ letters: [DeadLetter]) {
        for letter in letters {
            let rule = letter.rule ?? ""
            let isShown = counts.withLock { counts in
                if counts[rule, default: Count()].shown < Self.shown {
                    counts[rule, default: Count()].shown += 1
                    return true
                }
                counts[rule, default: Count()].more += 1
                return false
            }
            if isShown { report(letter) }
        }
        reportMore { $0.toldAt.duration(to: .now) >= Self.interval }
    }

    /// The run is at its end: tells of what was not told one by one.
    func finish() { reportMore { _ in true } }

    private func report(_ letter: DeadLetter) {
        logger.warning(
            letter.isOfRuleAlone ? "skipped a rule; kept a dead letter for it" : "dead-lettered a document",
            metadata: [
                "id": "\(letter.id)", "revision": "\(letter.revision?.text ?? "")", "rule": "\(letter.rule ?? "")",
                "reason": "\(letter.reason)",
            ])
    }

    private func reportMore(where isDue: (Count) -> Bool) {
        let due = counts.withLock { counts in
            let due = counts.filter { $0.value.more > 0 && isDue($0.value) }
            for rule in due.keys {
                counts[rule]?.more = 0
                counts[rule]?.toldAt = .now
            }
            return due
        }
        for (rule, count) in due.sorted(by: { $0.key < $1.key }) {
            logger.warning(
                "dead-lettered more documents; 'changebot dead-letters list' shows them",
                metadata: ["rule": "\(rule)", "documents": .stringConvertible(count.more)])
        }
    }
}
