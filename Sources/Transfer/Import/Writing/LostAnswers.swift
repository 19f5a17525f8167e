internal import GatewayClient

/// Writes that nobody answered: each may have been made or not.
struct LostAnswers {
    private struct Write {
        /// What became of the document if it was made.
        let wanted: ImportOutcome
        /// Whether it was known before what the gateway had.
        let hasLooked: Bool
    }

    private var writes: [DocumentID: Write] = [:]

    mutating func note(_ open: OpenDocument, wanted: ImportOutcome) {
        writes[open.document.id] = Write(wanted: wanted, hasLooked: open.lookup != nil)
    }

    func contains(_ id: DocumentID) -> Bool { writes[id] != nil }

    /// What became of a document that turns out to be as it should be; nil where the write is not the only thing that can
    /// have made it so.
    func outcome(of id: DocumentID) -> ImportOutcome? {
        guard let write = writes[id], write.hasLooked else { return nil }
        return write.wanted
    }

    /// The same, once it is known whether the document was written since the run began.
    func outcome(of id: DocumentID, isWritten: Bool) -> ImportOutcome? { isWritten ? writes[id]?.wanted : nil }
}
