internal import DocumentFlow
internal import GatewayClient

/// A document of a batch that is not done with.
struct OpenDocument {
    /// Writes of one document that may meet another revision, or fail, one after the other. Those that the gateway refuses
    /// for now do not count: of them the run gives up as a whole.
    static let attemptLimit = 10

    let index: Int
    let document: ImportDocument
    /// What the gateway has; nil as long as nobody asked.
    var lookup: DocumentLookup?
    /// Writes that met another revision, or failed.
    var failures = 0

    /// The document after a write that was not accepted; nil if it is not to be written again.
    func after(_ outcome: BulkOutcome) -> Self? {
        if case .undecided = outcome { return self }
        var open = self
        open.failures += 1
        return open.failures < Self.attemptLimit ? open : nil
    }
}

extension ImportOutcome {
    static var isThere: ImportOutcome {
        .rejected(reason: "there is a document with this _id already; --mode upsert replaces it")
    }

    static func notAccepted(_ outcome: BulkOutcome) -> ImportOutcome {
        .rejected(reason: "not accepted \(OpenDocument.attemptLimit) times: \(outcome.explanation)")
    }
}
