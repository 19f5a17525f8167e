internal import DocumentFlow
internal import Encodings
internal import GatewayClient

extension PutTarget {
    /// What the answer to a write means for the document.
    enum Verdict: Equatable {
        case written(RevisionID)
        /// Read it, and write it if that is still needed.
        case again
        /// The orders of the write are impossible.
        case failed(reason: String)
        /// Others write it all the time: leave it alone for a while.
        case postponed
    }

    /// Consecutive conflicts after which a document is left alone for a while.
    static let conflictsBeforeWaiting = 10

    /// - Parameter need: What was written.
    mutating func record(_ outcome: BulkOutcome, of need: Need, attemptLimit: Int) -> Verdict {
        switch outcome {
        case .written(let revision):
            resume(with: need.rest)
            return .written(revision)
        case .rejected where need.orders.count > 1:
            splitUp()
            return .again
        case .rejected: return .failed(reason: outcome.explanation)
        case .undecided: return .again
        case .conflict:
            conflicts += 1
            return retry(outcome, refusals, attemptLimit)
        case .unmentioned, .failed:
            attempts += 1
            return retry(outcome, attempts, attemptLimit)
        }
    }

    private func retry(_ outcome: BulkOutcome, _ tries: Int, _ limit: Int) -> Verdict {
        if tries >= limit { return .failed(reason: "not accepted \(tries.counted("time")): \(outcome.explanation)") }
        return conflicts >= Self.conflictsBeforeWaiting && refusals == 0 ? .postponed : .again
    }
}
