internal import DocumentFlow
internal import GatewayClient

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
