internal import LosslessJSON

extension Gateway {
    /// Reads the current state of documents. For users who may not list documents, requests each one separately.
    ///
    /// For those users a tombstone is `.missing`.
    ///
    /// - Parameters:
    ///   - includesBodies: If false, the body of each document found is `{}`.
    ///   - limit: The longest answer to accept for several documents, in bytes.
    /// - Returns: One lookup per id, in their order. With `_exp` if ``keepsExpiry`` is true.
    /// - Throws: As ``allDocs(keys:includesBodies:limit:)``.
    /// - Note: Source: `POST /{keyspace}/_all_docs`, which Sync Gateway's `disable_public_all_docs` or a proxy may
    ///   block.
    public func currentDocuments(
        _ ids: [DocumentID], includesBodies: Bool = true, limit: Int = 256 << 20
    ) async throws(GatewayError) -> [DocumentLookup] {
        let listed = try await listed(ids, includesBodies: includesBodies, limit: limit)
        let lookups = zip(ids, listed).map { id, lookup in lookup.explained(for: id, dialect) }
        return includesBodies && keepsExpiry ? try await withExpiry(ids, lookups, limit: limit) : lookups
    }

    func listed(
        _ ids: [DocumentID], includesBodies: Bool, limit: Int
    ) async throws(GatewayError) -> [DocumentLookup] {
        do throws(GatewayError) {
            return try await allDocs(keys: ids, includesBodies: includesBodies, limit: limit)
        } catch {
            guard error.refusesList else { throw error }
        }
        var lookups: [DocumentLookup] = []
        var bytes = 0
        for id in ids {
            let lookup = try await current(id, includesBody: includesBodies)
            if case .found(_, let document) = lookup { bytes += document.bytes.count }
            guard bytes <= limit || ids.count == 1 else {
                throw GatewayError(.tooLarge, "\(url): the requested documents together are too large")
            }
            lookups.append(lookup)
        }
        return lookups
    }

    /// The current state of a document, read as by ``currentDocuments(_:includesBodies:limit:)``.
    ///
    /// - Throws: `.notFound` if there is no such keyspace, `.unauthorized`, `.tooLarge` beyond 256 MiB, or
    ///   `.malformedAnswer` also if the answer has no row for the document; others as for every request. A retry
    ///   makes sense if ``GatewayError/isRetryable`` is true. A document that this user may not read is no error.
    public func currentDocument(_ id: DocumentID) async throws(GatewayError) -> DocumentLookup {
        try await currentDocuments([id]).first ?? .missing
    }

    private func current(_ id: DocumentID, includesBody: Bool) async throws(GatewayError) -> DocumentLookup {
        do throws(GatewayError) {
            guard let document = try await document(id) else { return .missing }
            let nothing = includesBody ? nil : try? JSONText("{}")
            return .found(RevisionID(document.root["_rev"]?.string ?? ""), nothing ?? document)
        } catch {
            // A 403 concerns this document alone. If it concerns the keyspace, the next request shows it.
            guard error.status == 403, !error.concernsAllDocuments else { throw error }
            return .refused(reason: error.description)
        }
    }
}

extension DocumentLookup {
    /// With the cause and the remedy if the gateway refused an id because it has no design documents.
    func explained(for id: DocumentID, _ dialect: GatewayDialect) -> DocumentLookup {
        guard case .refused = self, !dialect.hasDesignDocuments, id.text.hasPrefix("_design/") else { return self }
        return .refused(
            reason: "\(dialect.name) does not accept design documents; remove the rule that writes it, or run the rule "
                + "on a CouchDB")
    }
}

extension GatewayError {
    /// Whether the list of documents is refused, and not the keyspace.
    fileprivate var refusesList: Bool { [403, 404, 405].contains(status) && !concernsAllDocuments }
}
