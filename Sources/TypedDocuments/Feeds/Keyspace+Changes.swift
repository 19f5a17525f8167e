internal import DocumentFlow
public import GatewayClient
internal import LosslessJSON

extension Keyspace {
    /// The changes of the keyspace, in feed order: past changes first, then each new one as it happens, without end.
    ///
    /// The feed delivers the latest revision of each document; intermediate revisions are not reported. It reconnects
    /// automatically and continues after the last delivered change, with a back-off of up to a minute. A change may be
    /// delivered twice. A document that does not fit the type is a separate element, and the feed continues.
    ///
    /// - Parameters:
    ///   - since: The ``DocumentChange/sequence`` of the last processed change. Default: the beginning.
    ///   - type: Documents of other types are skipped if it has a ``DocumentCodable/documentType``.
    /// - Returns: A sequence that throws `GatewayError` if a retry is pointless: `.unauthorized`, `.notFound` for a
    ///   missing keyspace, `.badRequest` for a sequence of another gateway.
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
            guard hasType(value) else { return nil }
            switch read(value, id: row.id, revision: row.revision) {
            case .success(let document): content = .document(document)
            case .failure(let error): content = .undecodable(error)
            }
        case .deleted: content = .deleted
        case .inaccessible: content = .inaccessible
        case .malformed(let reason): content = .undecodable(.malformed(row, reason))
        }
        return DocumentChange(sequence: row.sequence, id: row.id, content: content)
    }
}

extension DocumentDecodingError {
    static func malformed(_ row: FeedRow, _ reason: String) -> DocumentDecodingError {
        DocumentDecodingError(row.id, row.revision, expected: "JSON", found: "broken: \(reason)")
    }
}
