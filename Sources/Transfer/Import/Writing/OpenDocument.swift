internal import DocumentFlow
internal import GatewayClient

/// A document of a batch that has no outcome yet.
struct OpenDocument {
    /// How often a write may fail or meet a conflict. Temporary refusals of the gateway do not count: the retry policy
    /// of the run handles them.
    static let attemptLimit = 10

    let index: Int
    let document: ImportDocument
    /// The gateway's document; nil if it was not read.
    var lookup: DocumentLookup?
    /// Writes that failed or met a conflict.
    var failures = 0

    /// What follows the answer to a write.
    enum Verdict {
        case ended(ImportOutcome)
        case tryAgain(OpenDocument)
    }

    /// - Parameters:
    ///   - wanted: The outcome if the write was accepted.
    ///   - conflict: The outcome if a conflict ends it. Nil: it is tried again.
    func verdict(on outcome: BulkOutcome, wanted: ImportOutcome, ifConflict conflict: ImportOutcome?) -> Verdict {
        switch outcome {
        case .written: return .ended(wanted)
        case .rejected: return .ended(.rejected(reason: outcome.explanation))
        case .undecided: return .tryAgain(self)
        case .conflict, .unmentioned, .failed:
            if outcome == .conflict, let conflict { return .ended(conflict) }
            var open = self
            open.failures += 1
            return open.failures < Self.attemptLimit ? .tryAgain(open) : .ended(.notAccepted(outcome))
        }
    }
}

extension ImportOutcome {
    static var isThere: ImportOutcome {
        .rejected(reason: "a document with this _id exists; --mode upsert replaces it")
    }

    fileprivate static func notAccepted(_ outcome: BulkOutcome) -> ImportOutcome {
        .rejected(reason: "not accepted \(OpenDocument.attemptLimit) times: \(outcome.explanation)")
    }
}
