internal import GatewayClient

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
