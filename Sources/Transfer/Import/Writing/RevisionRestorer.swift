internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON

/// Stores revisions with their ids and histories: `new_edits:false`.
struct RevisionRestorer: Sendable {
    let gateway: Gateway
    let settings: ImportSettings
    let rendering: AttachmentRendering
    let contact: GatewayContact

    /// Stores the revisions that the gateway lacks.
    ///
    /// - Parameter results: Receives an outcome for each document. In a dry run with a mapping, also what would be
    ///   stored.
    /// - Returns: The documents in conflict that a policy may settle. In a dry run: documents that may be in conflict.
    func restore(
        _ documents: [PendingDocument], by sender: inout BulkSender, _ results: inout ImportResults
    ) async throws -> [PendingDocument] {
        guard !documents.isEmpty else { return [] }
        var conflicts: [PendingDocument] = []
        let differences = try await differences(documents)
        var open: [PendingDocument] = []
        for document in documents {
            let difference = differences[document.document.id]
            let revision = document.document.revision
            guard difference.map({ $0.missing.contains { $0 == revision } }) ?? true else {
                results.record(.unchanged, at: document.index)
                continue
            }
            let mayConflict = settings.policies != nil && !gateway.dialect.keepsSeveralLeaves
            if settings.preview != nil, mayConflict, difference?.possibleAncestors.isEmpty == false {
                conflicts.append(document)
                continue
            }
            open.append(document)
            guard settings.preview != nil else { continue }
            results.record(Self.restored(difference), at: document.index)
            guard settings.showsDocuments else { continue }
            let text = document.document.text
            let attachments = try await rendering.described(document.document.attachments, text, nil)
            let body = ImportBody(text, leavingOut: VersionMembers.neverAccepted, attachments: attachments)
            results.show(body.bytes, at: document.index)
        }
        guard settings.preview == nil else { return conflicts }
        while !open.isEmpty {
            try Task.checkCancellation()
            open = try await store(open, differences, &sender, &conflicts, &results)
        }
        return conflicts
    }

    /// The outcome is `changed` if the gateway had another revision of the document, otherwise `inserted`.
    private static func restored(_ difference: RevisionDifference?) -> ImportOutcome {
        difference?.possibleAncestors.isEmpty == false ? .changed(Array("[]".utf8)) : .inserted
    }

    private func differences(_ documents: [PendingDocument]) async throws -> [DocumentID: RevisionDifference] {
        var wanted: [DocumentID: [RevisionID]] = [:]
        for open in documents {
            if let revision = open.document.revision { wanted[open.document.id, default: []].append(revision) }
        }
        let requests = wanted.map { (id: $0.key, revisions: $0.value) }
        let answers = try await contact.ask { try await gateway.revisionDifferences(requests) }
        return Dictionary(answers.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private struct Write: Sendable {
        let open: PendingDocument
        let revision: RevisionID
        let document: BulkDocument
    }

    /// - Parameter conflicts: Receives the documents that a policy may settle.
    /// - Returns: The documents that the gateway did not decide.
    private func store(
        _ open: [PendingDocument], _ differences: [DocumentID: RevisionDifference], _ sender: inout BulkSender,
        _ conflicts: inout [PendingDocument], _ results: inout ImportResults
    ) async throws -> [PendingDocument] {
        var writes: [Write] = []
        for open in open {
            do throws(AttachmentError) {
                if let write = try await stored(open) { writes.append(write) }
            } catch {
                results.record(.rejected(reason: error.reason), at: open.index)
            }
        }
        var answers: [(open: PendingDocument, outcome: BulkOutcome)] = []
        try await sender.send(
            writes.map(\.document)[...],
            by: { [writes] part async throws(GatewayError) in
                try await gateway.storeRevisions(
                    writes[part.indices].map { RevisionToStore($0.document, revision: $0.revision) })
            },
            answered: { answered, outcomes in answers += zip(writes[answered], outcomes).map { ($0.open, $1) } })
        var again: [PendingDocument] = []
        for (open, outcome) in answers {
            if outcome == .conflict, settings.policies != nil {
                conflicts.append(open)
                continue
            }
            let wanted = Self.restored(differences[open.document.id])
            switch open.nextStep(outcome, wanted: wanted, ifConflict: .otherLeaf) {
            case .ended(let result): results.record(result, at: open.index)
            case .retry(let next): again.append(next)
            }
        }
        return again
    }

    private func stored(_ open: PendingDocument) async throws(AttachmentError) -> Write? {
        guard let revision = open.document.revision else { return nil }
        var written: [WrittenAttachment] = []
        for attachment in open.document.attachments {
            written.append(try await rendered(attachment, open.document.text))
        }
        let body = ImportBody(open.document.text, leavingOut: VersionMembers.neverAccepted, attachments: written)
        return Write(
            open: open, revision: revision, document: BulkDocument(id: open.document.id, segments: body.segments))
    }

    private func rendered(
        _ attachment: ImportAttachment, _ document: JSONText
    ) async throws(AttachmentError) -> WrittenAttachment {
        do { return try await rendering.rendered(attachment, document, nil) } catch let error as AttachmentError {
            throw error
        } catch {
            throw AttachmentError(attachment.name, "can't be read: \(error)")
        }
    }
}
