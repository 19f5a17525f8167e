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

/// Writes without an answer: each may have succeeded or not.
struct LostAnswers {
    private struct Write {
        /// The outcome if the write succeeded.
        let wanted: ImportOutcome
        /// Whether the gateway's document was read before the write.
        let hasLooked: Bool
    }

    private var writes: [DocumentID: Write] = [:]

    mutating func note(_ open: OpenDocument, wanted: ImportOutcome) {
        writes[open.document.id] = Write(wanted: wanted, hasLooked: open.lookup != nil)
    }

    func contains(_ id: DocumentID) -> Bool { writes[id] != nil }

    /// The outcome for a document that turns out to be equivalent; nil if something else than the write may be the
    /// reason.
    func outcome(of id: DocumentID) -> ImportOutcome? {
        guard let write = writes[id], write.hasLooked else { return nil }
        return write.wanted
    }

    /// The outcome once it is known whether the document was written since the run began.
    func outcome(of id: DocumentID, isWritten: Bool) -> ImportOutcome? { isWritten ? writes[id]?.wanted : nil }
}

/// Finds documents that were written since the run began, by this run or by others.
struct WrittenInRun: Sendable {
    let gateway: Gateway
    let contact: GatewayContact
    /// The database's newest sequence when the run began; nil if not known.
    let newestAtStart: SequenceID?

    /// Those of the documents that are in the feed after the sequence at the start. Nil if that sequence is not known.
    func documents(among ids: [DocumentID]) async throws -> Set<DocumentID>? {
        guard let newestAtStart else { return nil }
        let request = ChangesRequest(since: newestAtStart, includesDocuments: false, filter: .documents(ids))
        return try await contact.ask {
            var answer = try await gateway.changes(request)
            var written: Set<DocumentID> = []
            while let batch = try await answer.next() {
                for change in batch where change.kind != .principal { written.insert(change.id) }
            }
            return written
        }
    }
}
