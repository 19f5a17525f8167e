internal import DocumentFlow
public import GatewayClient
internal import LosslessJSON

extension Keyspace {
    /// The changes of the keyspace, in the order of its feed: those so far, then each as it happens, for ever.
    ///
    /// The feed delivers each document at its latest revision; what happened in between is not told. It reconnects by
    /// itself and continues after the last change that it has delivered, with growing waits of up to a minute. A change may
    /// come twice. A document that does not fit the type is an element of its own, and the feed goes on.
    ///
    /// - Parameters:
    ///   - since: The ``DocumentChange/sequence`` of the last change that is done. Default: the beginning.
    ///   - type: Documents of other types are left out, if it names its ``DocumentCodable/documentType``.
    /// - Returns: A sequence that throws `GatewayError` where a retry is pointless: `.unauthorized`, `.notFound` for a
    ///   keyspace that is not there, `.badRequest` for a sequence of another gateway.
    public func changes<Document: DocumentCodable>(
        since: SequenceID = .start, as type: Document.Type
    ) -> DocumentSequence<DocumentChange<Document>> {
        let reading = reading(type)
        return DocumentSequence { [gateway, logger] handoff in
            try await KeyspaceFeed(gateway: gateway, logger: logger).read(from: since) { rows in
                try await handoff.send(rows.compactMap(reading.change))
            }
        }
    }
}

extension DocumentReading {
    /// Nil for documents of other types.
    fileprivate func change(_ row: FeedRow) -> DocumentChange<Document>? {
        let content: DocumentChange<Document>.Content
        switch row.content {
        case .document(let value):
            guard isOfType(value) else { return nil }
            switch read(value, id: row.id, revision: row.revision) {
            case .success(let document): content = .document(document)
            case .failure(let error): content = .misfit(error)
            }
        case .deleted: content = .deleted
        case .inaccessible: content = .inaccessible
        case .malformed(let reason): content = .misfit(.malformed(row, reason))
        }
        return DocumentChange(sequence: row.sequence, id: row.id, content: content)
    }
}

extension DocumentDecodingError {
    static func malformed(_ row: FeedRow, _ reason: String) -> DocumentDecodingError {
        DocumentDecodingError(row.id, row.revision, expected: "JSON", found: "broken: \(reason)")
    }
}
