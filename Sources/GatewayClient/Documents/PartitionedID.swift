internal import Locking

/// The ids that a partitioned CouchDB database accepts: `PARTITION:ID`, and those of design documents.
///
/// - Note: Source: `couch_partition.erl: validate_docid`, CouchDB 3.5.
enum PartitionedID {
    /// Why the database refuses documents with this id; nil if it accepts them.
    static func error(of id: DocumentID) -> String? {
        let bytes = id.text.utf8
        guard !id.text.hasPrefix("_design/"), !id.text.hasPrefix("_local/") else { return nil }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            return error(id, "has no partition; write the partition and ':' in front of it")
        }
        let rest = bytes[bytes.index(after: colon)...]
        if colon == bytes.startIndex { return error(id, "has an empty partition; write its name before the ':'") }
        if bytes.first == UInt8(ascii: "_") {
            return error(id, "names a partition that begins with '_'; choose another name for the partition")
        }
        if rest.isEmpty { return error(id, "has nothing after its partition; write a name after the ':'") }
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
    /// Why the database refuses a document with this id, as far as that is known without a request; nil if it may
    /// accept it.
    ///
    /// ``databaseInfo()`` determines whether the database is partitioned.
    public func refusal(of id: DocumentID) -> String? {
        isPartitioned.withLock { $0 } ? PartitionedID.error(of: id) : nil
    }

    /// Sends the documents whose ids the database may accept. The others are rejected here, because CouchDB refuses all
    /// documents of a request for one such id.
    ///
    /// - Returns: One outcome per document, in their order.
    func sendingAccepted<Document>(
        _ documents: [Document], _ id: (Document) -> DocumentID,
        by send: ([Document]) async throws(GatewayError) -> [BulkOutcome]
    ) async throws(GatewayError) -> [BulkOutcome] {
        let refusals = isPartitioned.withLock { $0 } ? documents.map { PartitionedID.error(of: id($0)) } : []
        guard refusals.contains(where: { $0 != nil }) else { return try await send(documents) }
        let taken = zip(documents, refusals).filter { $0.1 == nil }.map(\.0)
        var outcomes = (taken.isEmpty ? [] : try await send(taken))[...]
        return refusals.map { reason in
            if let reason { return .rejected(status: Self.invalidIDStatus, reason: reason) }
            return outcomes.popFirst() ?? .unmentioned
        }
    }

    /// - Throws: `.badRequest` if the database does not accept a document with this id.
    func requireAccepted(_ id: DocumentID) throws(GatewayError) {
        if let reason = refusal(of: id) { throw GatewayError(.badRequest, reason, status: Self.invalidIDStatus) }
    }

    /// CouchDB's status for a refused id.
    private static let invalidIDStatus = 400
}
