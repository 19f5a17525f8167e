internal import Locking

/// Which ids a partitioned database of CouchDB takes: `PARTITION:ID`, and those of design documents.
///
/// - Note: Source: `couch_partition.erl: validate_docid`, CouchDB 3.5.
enum PartitionedID {
    /// Why the database refuses documents with this id; nil if it takes them.
    static func error(of id: DocumentID) -> String? {
        let bytes = id.text.utf8
        guard !id.text.hasPrefix("_design/"), !id.text.hasPrefix("_local/") else { return nil }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            return error(id, "names no partition; write the partition and ':' before it")
        }
        let rest = bytes[bytes.index(after: colon)...]
        if colon == bytes.startIndex { return error(id, "has an empty partition; write its name before the ':'") }
        if bytes.first == UInt8(ascii: "_") {
            return error(id, "names a partition that begins with '_'; choose another name for the partition")
        }
        if rest.isEmpty { return error(id, "ends after its partition; write more after the ':'") }
        if rest.first == UInt8(ascii: "_"), !rest.starts(with: "_design/".utf8), !rest.starts(with: "_local/".utf8) {
            return error(id, "has a '_' after its partition; choose another id")
        }
        return nil
    }

    private static func error(_ id: DocumentID, _ reason: String) -> String {
        "the database is partitioned, and the id '\(id)' \(reason)"
    }
}

extension Gateway {
    /// Why the database takes no document with this id, as far as that is known without a request; nil if it may.
    ///
    /// ``databaseInfo()`` finds out whether the database is partitioned.
    public func refusal(of id: DocumentID) -> String? {
        isPartitioned.withLock { $0 } ? PartitionedID.error(of: id) : nil
    }

    /// Sends the documents with ids that the database may take. The others are rejected here: CouchDB would refuse all
    /// documents of the request for one such id.
    ///
    /// - Returns: One outcome per document, in their order.
    func sendingTaken<Document>(
        _ documents: [Document], _ id: (Document) -> DocumentID,
        by send: ([Document]) async throws(GatewayError) -> [BulkOutcome]
    ) async throws(GatewayError) -> [BulkOutcome] {
        let refusals = isPartitioned.withLock { $0 } ? documents.map { PartitionedID.error(of: id($0)) } : []
        guard refusals.contains(where: { $0 != nil }) else { return try await send(documents) }
        let taken = zip(documents, refusals).filter { $0.1 == nil }.map(\.0)
        var outcomes = (taken.isEmpty ? [] : try await send(taken))[...]
        return refusals.map { reason in
            if let reason { return .rejected(status: Self.refusedIDStatus, reason: reason) }
            return outcomes.popFirst() ?? .unmentioned
        }
    }

    /// - Throws: `.badRequest` if the database takes no document with this id.
    func requireTaken(_ id: DocumentID) throws(GatewayError) {
        if let reason = refusal(of: id) { throw GatewayError(.badRequest, reason, status: Self.refusedIDStatus) }
    }

    /// What CouchDB answers.
    private static let refusedIDStatus = 400
}
