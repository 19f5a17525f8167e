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

    /// The document after a write that was not accepted; nil if it must not be tried again.
    func after(_ outcome: BulkOutcome) -> Self? {
        if case .undecided = outcome { return self }
        var open = self
        open.failures += 1
        return open.failures < Self.attemptLimit ? open : nil
    }
}

extension ImportOutcome {
    static var isThere: ImportOutcome {
        .rejected(reason: "a document with this _id exists; --mode upsert replaces it")
    }

    static func notAccepted(_ outcome: BulkOutcome) -> ImportOutcome {
        .rejected(reason: "not accepted \(OpenDocument.attemptLimit) times: \(outcome.explanation)")
    }
}
