internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

extension Keyspace {
    /// The documents that match now, each once.
    ///
    /// CouchDB finds them itself (`_find`), in the order of the index that it uses. Elsewhere all documents are read, in
    /// the order of their ids, or that of their changes for users who may not list them; what does not match is dropped
    /// here. Temporary failures are retried for five minutes.
    ///
    /// - Parameters:
    ///   - selector: Default: all documents.
    ///   - type: Documents of other types are left out, if it names its ``DocumentCodable/documentType``.
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

    /// The documents that match: first those that are there, then what happens to them, for ever.
    ///
    /// Reads the whole feed from its beginning, and reconnects as ``changes(since:as:)`` does. A change that comes twice is
    /// told once. Memory grows with the number of documents that match: the id and the revision of each.
    ///
    /// - Parameters:
    ///   - selector: Default: all documents.
    ///   - type: Documents of other types are left out, if it names its ``DocumentCodable/documentType``.
    /// - Returns: A sequence that throws `GatewayError` where a retry is pointless.
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
    /// A document to which the selector can't be applied, as when a regular expression takes too long, does not match.
    fileprivate func isMatch(_ row: FeedRow) -> Bool {
        guard case .document(let value) = row.content else { return false }
        return (try? matches(value)) ?? false
    }
}
