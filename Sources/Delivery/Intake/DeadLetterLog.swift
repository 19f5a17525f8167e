internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging

extension Delivery.Settings {
    /// How many dead letters of one rule are logged individually.
    package static let loggedDeadLetters = 20
}

/// Logs dead letters: the first ones of each rule individually, then only their number.
///
/// So a rule that fails on a thousand documents does not flood the log.
final class DeadLetterLog: Sendable {
    /// The time between two log lines with the number of further dead letters.
    private static let interval: Duration = .seconds(60)

    /// After this time without a dead letter, the next ones of a rule are logged individually again.
    private static let quietSpan: Duration = .seconds(3600)

    private struct Count: Sendable {
        var shown = 0
        var more = 0
        var loggedAt = ContinuousClock.now
        var last = ContinuousClock.now
    }

    private let logger: Logger
    private let isDryRun: Bool
    private let stateOptions: String?
    private let counts = Locked<[String: Count]>([:])
    /// Raised when a dead letter was only counted.
    private let hasMore = Signal("dead letters to log")

    /// - Parameter isDryRun: Dead letters are not saved: the messages say "would".
    init(_ logger: Logger, isDryRun: Bool, stateOptions: String? = nil) {
        self.logger = logger
        self.isDryRun = isDryRun
        self.stateOptions = stateOptions
    }

    func report(_ deadLetters: [DeadLetter]) {
        for deadLetter in deadLetters {
            let rule = deadLetter.rule ?? ""
            let isShown = counts.withLock { counts in
                var count = counts[rule] ?? Count()
                if count.last.duration(to: .now) >= Self.quietSpan { count.shown = 0 }
                count.last = .now
                let isShown = count.shown < Delivery.Settings.loggedDeadLetters
                if isShown { count.shown += 1 } else { count.more += 1 }
                counts[rule] = count
                return isShown
            }
            if isShown { report(deadLetter) } else { hasMore.raise() }
        }
    }

    /// Logs the number of further dead letters, at most once a minute, until it is cancelled.
    func reportPeriodically() async {
        while (try? await hasMore.wait()) != nil {
            repeat {
                guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
                reportMore { $0.loggedAt.duration(to: .now) >= Self.interval }
            } while counts.withLock { counts in counts.values.contains { $0.more > 0 } }
        }
    }

    /// Call this at the end of the run: logs the number of the remaining dead letters.
    func finish() { reportMore { _ in true } }

    private func report(_ deadLetter: DeadLetter) {
        let message: Logger.Message =
            switch (deadLetter.concernsOnlyRule, isDryRun) {
            case (true, false): "skipped a rule; kept a dead letter for it"
            case (true, true): "would skip a rule and keep a dead letter for it"
            case (false, false): "dead-lettered a document"
            case (false, true): "would dead-letter a document"
            }
        logger.error(
            message,
            metadata: [
                LogKey.id: "\(deadLetter.id)", LogKey.revision: "\(deadLetter.revision?.text ?? "")",
                LogKey.rule: "\(deadLetter.rule ?? "")",
                LogKey.reason: "\(deadLetter.reason)",
            ])
    }

    private func reportMore(where isDue: (Count) -> Bool) {
        let due = counts.withLock { counts in
            let due = counts.filter { $0.value.more > 0 && isDue($0.value) }
            for rule in due.keys {
                counts[rule]?.more = 0
                counts[rule]?.loggedAt = .now
            }
            return due
        }
        let advice = stateOptions.map { "; see them with: changebot dead-letters list \($0)" } ?? ""
        for (rule, count) in due.sorted(by: { $0.key < $1.key }) {
            logger.error(
                isDryRun
                    ? "would dead-letter more documents"
                    : "dead-lettered more documents\(advice)",
                metadata: [LogKey.rule: "\(rule)", LogKey.documents: .stringConvertible(count.more)])
        }
    }
}
