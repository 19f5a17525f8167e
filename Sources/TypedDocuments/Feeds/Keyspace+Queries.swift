internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

extension Keyspace {
    /// The documents that currently match, each once.
    ///
    /// CouchDB finds them itself (`_find`), in the order of the index that it uses. On Sync Gateway all documents are
    /// read and filtered by the client, in order of id, or in feed order for users who may not list documents.
    /// Temporary failures are retried for five minutes.
    ///
    /// - Parameters:
    ///   - selector: Default: all documents.
    ///   - type: Documents of other types are skipped if it has a ``DocumentCodable/documentType``.
    /// - Returns: A sequence of documents, and of errors for those that do not fit the type. It throws `GatewayError`.
    public func documents<Document: DocumentCodable>(
        matching selector: DocumentSelector = .all, as type: Document.Type
    ) -> DocumentSequence<Result<Document, DocumentDecodingError>> {
        let search = DocumentSearch(gateway: gateway, logger: logger, selector: selector, reading: reading(type))
        return DocumentSequence { handoff in
            do { try await search.run { try await handoff.send($0) } } catch let error as RunError {
                throw GatewayError(error)
            }
        }
    }

    /// The documents that match: the current ones first, then their changes, without end.
    ///
    /// Reads the whole feed from its beginning, and reconnects like ``changes(since:as:)``. A repeated change is
    /// reported once. Memory grows with the number of matching documents: the id and the revision of each.
    ///
    /// - Parameters:
    ///   - selector: Default: all documents.
    ///   - type: Documents of other types are skipped if it has a ``DocumentCodable/documentType``.
    /// - Returns: A sequence that throws `GatewayError` if a retry is pointless.
    public func live<Document: DocumentCodable>(
        matching selector: DocumentSelector = .all, as type: Document.Type
    ) -> DocumentSequence<LiveChange<Document>> {
        let reading = reading(type)
        return DocumentSequence { [gateway, logger] handoff in
            var query = LiveQuery(reading)
            let matcher = DocumentMatcher(selector.filter)
            var source = KeyspaceFeed(gateway: gateway, logger: logger)
            source.noteCaughtUp = { _ = try? await handoff.send([.upToDate]) }
            try await source.read(from: .start) { rows in
                try await handoff.send(rows.flatMap { query.take($0, isMatch: matcher.isMatch($0)) })
            }
        }
    }
}

extension DocumentMatcher {
    /// If the selector can't be applied, for example because a regular expression takes too long, the document does not
    /// match.
    fileprivate func isMatch(_ row: FeedRow) -> Bool {
        guard case .document(let value) = row.content else { return false }
        return (try? matches(value)) ?? false
    }
}
