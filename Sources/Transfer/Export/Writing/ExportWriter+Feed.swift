internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON

extension ExportWriter {
    /// Writes a batch of the feed and moves the position past it.
    ///
    /// - Parameter isSecondReading: Whether these changes were made while the feed was read the first time.
    func take(
        _ changes: ChangesBatch.SubSequence?, reached: SequenceID, isSecondReading: Bool, from gateway: Gateway,
        _ contact: GatewayContact
    ) async throws {
        beginStretch()
        if let changes {
            for change in changes {
                guard try await take(change, from: gateway, contact), let sequence = change.sequence else { continue }
                try passed(.sequence(sequence, isSecondReading: isSecondReading))
                beginStretch()
            }
        }
        try await writeWaiting()
        report.count { [count = changes?.count ?? 0, bytes = changes?.byteCount ?? 0] counters in
            counters.changes += count
            counters.bytesIn += bytes
        }
        try passed(.sequence(reached, isSecondReading: isSecondReading))
    }

    /// - Returns: Whether waiting documents were fetched and written, so that it may be time to save.
    private func take(
        _ change: Change, from gateway: Gateway, _ contact: GatewayContact
    ) async throws -> Bool {
        switch change.kind {
        case .principal, .revoked, .failure: return false
        case .removed where !change.isDeleted: return false
        case .document:
            guard let document = change.document else { return false }
            seen?.note(change.id)
            return try await take(document, id: { change.id }, revision: { change.revision })
        case .tombstone, .removed:
            // It may supersede an earlier line of the same document.
            seen?.note(change.id)
            guard settings.reportsDeletions || seen?.mayBeRepeated(change.id) == true else { return false }
            append((change.document?.bytes ?? Self.tombstone(change)[...]), isTombstone: true)
            return false
        case .withoutBody: return try await takeCurrent(change, from: gateway, contact)
        case .malformed(let error):
            tally.noteUnreadable(
                change.id, change.revision, "it is not JSON: \(error), at byte \(error.offset) of its row")
            return false
        }
    }

    /// Reads and writes a document whose body was not in the feed.
    private func takeCurrent(
        _ change: Change, from gateway: Gateway, _ contact: GatewayContact
    ) async throws -> Bool {
        let answer = try await contact.single(
            gateway, arrivals: documentsRead, "reading a document failed; retrying", ["id": "\(change.id)"]
        ) { () async throws(GatewayError) in try await gateway.currentDocument(change.id) }
        let lookup: DocumentLookup
        switch answer {
        case .success(let found):
            documentsRead.note()
            lookup = found
        case .failure(let error): lookup = .refused(reason: error.description)
        }
        switch lookup {
        case .found(let revision, let text):
            seen?.note(change.id)
            return try await take(text.root, id: { change.id }, revision: { revision })
        case .deleted, .missing:
            seen?.note(change.id)
            withdraw { change.id }
            return false
        case .refused(let reason):
            tally.noteUnreadable(change.id, change.revision, reason)
            return false
        }
    }

    /// Withdraws the earlier line of a document that no longer belongs to the export.
    func withdraw(_ id: () -> DocumentID) {
        guard let seen, files.canResume || files.isSpooled, case let id = id(), seen.mayBeRepeated(id) else { return }
        append(Withdrawal.line(of: id)[...])
    }

    private static func tombstone(_ change: Change) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: change.id.text)
            writer.member("_rev", string: change.revision?.text ?? "")
            writer.member("_deleted", bool: true)
        }
        return writer.bytes
    }
}
