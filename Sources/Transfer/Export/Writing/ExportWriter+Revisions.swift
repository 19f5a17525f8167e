internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON

extension ExportWriter {
    /// Revisions per request; those of one document stay together.
    private static let requestSize = 200

    /// Writes all leaf revisions of the documents in a batch, each with its history, and moves the position past it.
    func takeLeaves(
        of changes: ChangesBatch.SubSequence?, reached: SequenceID, isSecondReading: Bool, from gateway: Gateway,
        _ contact: GatewayContact
    ) async throws {
        beginStretch()
        var keys: [BulkGetKey] = []
        if let changes {
            for change in changes {
                keys += leaves(of: change)
                guard keys.count >= Self.requestSize, let sequence = change.sequence else { continue }
                try await takeRevisions(keys, from: gateway, contact)
                try await writeWaiting()
                keys = []
                try passed(.sequence(sequence, isSecondReading: isSecondReading))
                beginStretch()
            }
        }
        try await takeRevisions(keys, from: gateway, contact)
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

    /// Repeats the request for revisions that an incomplete answer did not contain. If requests keep returning nothing,
    /// it halves them until it finds the revision on which the gateway fails, and reports that one.
    private func takeRevisions(
        _ keys: [BulkGetKey], from gateway: Gateway, _ contact: GatewayContact
    ) async throws {
        var left = RevisionsLeft(keys, retryFor: contact.settings.retryFor)
        var retrier = contact.makeRetrier()
        while !left.isEmpty {
            let asked = left.next
            do {
                var answer = try await gateway.bulkGet(asked, includesHistory: true)
                while let item = try await answer.next() {
                    retrier.succeed()
                    try await take(item, of: &left)
                }
                for key in left.unanswered(of: asked) {
                    tally.noteUnreadable(key.id, key.revision, left.reason(for: key))
                }
                left.remove(asked)
            } catch let error as GatewayError {
                try contact.endIfHopeless(error)
                if left.hasProgressed(since: asked) {
                    left.noteSuccess()
                    try await retrier.wait(
                        after: error, "reading the revisions was interrupted; continuing after the last one")
                } else {
                    try await settle(error, asked, &left, &retrier, gateway, contact)
                }
            }
        }
    }

    /// Decides what follows a request that returned nothing.
    private func settle(
        _ error: GatewayError, _ asked: [BulkGetKey], _ left: inout RevisionsLeft, _ retrier: inout Retrier,
        _ gateway: Gateway, _ contact: GatewayContact
    ) async throws {
        guard try await contact.isThere(gateway) else { return left.noteOutage() }
        left.noteFailure(error, successes: revisionsRead)
        if asked.count > 1, left.isToHalve { return left.halve() }
        guard asked.count == 1, left.mustGiveUp else {
            return try await contact.pause(
                left.wait(after: error), after: error, "_bulk_get returned no revisions; retrying",
                ["revisions": "\(asked.count)"])
        }
        let key = asked[0]
        if try await othersCome(than: key, left, error, gateway) {
            tally.noteUnreadable(key.id, key.revision, error.description)
            left.remove(asked)
        } else {
            try await retrier.wait(after: error, "_bulk_get returned no revisions; retrying")
        }
    }

    /// Whether other revisions can be read, so that only this one fails.
    private func othersCome(
        than key: BulkGetKey, _ left: RevisionsLeft, _ error: GatewayError, _ gateway: Gateway
    ) async throws -> Bool {
        if revisionsRead > 0 { return true }
        guard let other = left.last, other != key else { return ![401, 403, 404, 405].contains(error.status) }
        do {
            var answer = try await gateway.bulkGet([other], includesHistory: true)
            while try await answer.next() != nil {}
            return true
        } catch {
            if error.code == .cancelled { throw CancellationError() }
            return false
        }
    }

    private func take(_ item: BulkGetItem, of left: inout RevisionsLeft) async throws {
        switch item {
        case .attachment: break
        case .malformed(let damage): left.note(damage)
        case .unavailable(let refusal):
            left.take(BulkGetKey(id: refusal.id, revision: refusal.revision))
            tally.noteUnreadable(refusal.id, refusal.revision, refusal.reason)
        case .revision(let text):
            guard let id = text.root["_id"]?.string.map({ DocumentID($0) }), let revision = text.root["_rev"]?.string
            else { return }
            let key = BulkGetKey(id: id, revision: RevisionID(revision))
            left.take(key)
            revisionsRead += 1
            report.count { $0.bytesIn += text.bytes.count }
            _ = try await take(
                text.root, isTombstone: text.root["_deleted"]?.bool == true, id: { id }, revision: { key.revision })
            if buffer.count >= ExportOutput.pieceSize { try flush() }
        }
    }
}
