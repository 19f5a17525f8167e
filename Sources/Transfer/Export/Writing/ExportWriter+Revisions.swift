internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Pipeline

extension ExportWriter {
    /// Revisions asked for in one request; those of one document stay together.
    private static let requestSize = 200

    /// Writes all leaf revisions of the documents of a stretch, each with its history, and goes on behind it.
    func takeLeaves(
        of changes: ChangesBatch.SubSequence?, reached: SequenceID, isSecondReading: Bool, from gateway: Gateway,
        _ asking: PatientAsking
    ) async throws {
        beginStretch()
        var keys: [BulkGetKey] = []
        if let changes {
            for change in changes {
                keys += leaves(of: change)
                guard keys.count >= Self.requestSize, let sequence = change.sequence else { continue }
                try await takeRevisions(keys, from: gateway, asking)
                try await writeWaiting()
                keys = []
                try passed(.sequence(sequence, isSecondReading: isSecondReading))
                beginStretch()
            }
        }
        try await takeRevisions(keys, from: gateway, asking)
        try await writeWaiting()
        report.count { [count = changes?.count ?? 0, bytes = changes?.byteCount ?? 0] counters in
            counters.changes += count
            counters.bytesIn += bytes
        }
        try passed(.sequence(reached, isSecondReading: isSecondReading))
    }

    private func leaves(of change: Change) -> [BulkGetKey] {
        switch change.kind {
        case .principal, .revoked, .failure: return []
        case .removed where !change.isDeleted: return []
        case .document, .tombstone, .removed, .withoutBody, .malformed:
            return change.revisions.map { BulkGetKey(id: change.id, revision: $0) }
        }
    }

    /// Asks again for what an answer that was cut short did not bring.
    private func takeRevisions(
        _ keys: [BulkGetKey], from gateway: Gateway, _ asking: PatientAsking
    ) async throws {
        var left = keys[...]
        var patience = Patience(asking.settings, hasSucceeded: true)
        while !left.isEmpty {
            do {
                var answer = try await gateway.bulkGet(Array(left), includesHistory: true)
                while let item = try await answer.next() {
                    patience.succeed()
                    // Mostly they come in the order of the request.
                    let key = try await take(item)
                    if left.first == key { left.removeFirst() } else { left.removeAll { $0 == key } }
                }
                for key in left { unreadable(key.id, key.revision, "the gateway does not answer for this revision") }
                return
            } catch let error as GatewayError {
                try await asking.wait(
                    after: error, &patience, "reading the revisions broke off; going on from the last one")
            }
        }
    }

    /// - Returns: Which key it answers; nil for what answers none.
    private func take(_ item: BulkGetItem) async throws -> BulkGetKey? {
        switch item {
        case .attachment: return nil
        case .unavailable(let refusal):
            unreadable(refusal.id, refusal.revision, refusal.reason)
            return BulkGetKey(id: refusal.id, revision: refusal.revision)
        case .revision(let text):
            guard let id = text.root["_id"]?.string.map({ DocumentID($0) }), let revision = text.root["_rev"]?.string
            else { return nil }
            let key = BulkGetKey(id: id, revision: RevisionID(revision))
            report.count { $0.bytesIn += text.bytes.count }
            _ = try await take(
                text.root, isTombstone: text.root["_deleted"]?.bool == true, id: { id }, revision: { key.revision })
            if buffer.count >= Self.pieceSize { try flush() }
            return key
        }
    }
}
