internal import DocumentFlow
internal import GatewayClient

/// A document of a batch that has no outcome yet.
struct OpenDocument {
    let index: Int
    let document: ImportDocument
    /// The gateway's document; nil if it was not read.
    var lookup: DocumentLookup?
    /// Writes that failed or met a conflict. Temporary refusals of the gateway do not count: the retry policy of the
    /// run handles them.
    var failures = 0

    /// What follows the answer to a write.
    enum AfterAnswer {
        case ended(ImportOutcome)
        case tryAgain(OpenDocument)
    }

    /// - Parameters:
    ///   - wanted: The outcome if the write was accepted.
    ///   - conflict: The outcome if a conflict ends it. Nil: it is tried again.
    func afterAnswer(
        _ outcome: BulkOutcome, wanted: ImportOutcome, ifConflict conflict: ImportOutcome?
    ) -> AfterAnswer {
        switch outcome {
        case .written: return .ended(wanted)
        case .rejected: return .ended(.rejected(reason: outcome.explanation))
        case .undecided: return .tryAgain(self)
        case .conflict, .unmentioned, .failed:
            if outcome == .conflict, let conflict { return .ended(conflict) }
            var open = self
            open.failures += 1
            return open.failures < AttemptLimits.failures ? .tryAgain(open) : .ended(.notAccepted(outcome))
        }
    }
}

extension ImportOutcome {
    /// The outcome of an insert if there is a document with this id.
    static var alreadyExists: ImportOutcome {
        .rejected(reason: "a document with this _id exists; --mode upsert replaces it")
    }

    fileprivate static func notAccepted(_ outcome: BulkOutcome) -> ImportOutcome {
        .rejected(reason: "not accepted \(AttemptLimits.failures) times: \(outcome.explanation)")
    }
}
