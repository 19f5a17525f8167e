internal import DocumentFlow
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

    mutating func note(_ open: ImportWriter.Open, wanted: ImportOutcome) {
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

extension ImportWriter {
    /// Tells, of documents that are as they should be, whether this import made them so: their writes were lost, and
    /// nobody had looked before.
    func settle(_ documents: [Open], _ lost: LostAnswers, _ outcomes: inout [ImportOutcome?]) async throws {
        guard !documents.isEmpty else { return }
        let written = try await writtenInThisRun(documents.map(\.document.id))
        for open in documents {
            let id = open.document.id
            let was = isResumed || open.document.isShared || settings.mode != .insert ? .unchanged : Self.isThere
            outcomes[open.index] = lost.outcome(of: id, isWritten: written?.contains(id) ?? true) ?? was
        }
    }

    /// Which of the documents the feed has behind the sequence that was the newest when the run began. Nil if that
    /// sequence is not known.
    private func writtenInThisRun(_ ids: [DocumentID]) async throws -> Set<DocumentID>? {
        guard let newestAtStart else { return nil }
        let request = ChangesRequest(since: newestAtStart, includesDocuments: false, filter: .documents(ids))
        return try await contact.again {
            var answer = try await gateway.changes(request)
            var written: Set<DocumentID> = []
            while let batch = try await answer.next() {
                for change in batch where change.kind != .principal { written.insert(change.id) }
            }
            return written
        }
    }
}
