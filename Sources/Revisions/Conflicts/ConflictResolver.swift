package import DocumentFlow
internal import Encodings
package import GatewayClient
internal import Locking
package import Logging
package import LosslessJSON
package import Rules

/// Reads the leaves of documents in conflict and their ancestors, and asks the policies. ``ConflictWriter`` writes what
/// they decide.
package struct ConflictResolver: Sendable {
    private let gateway: Gateway
    private let reader: RevisionsReader
    private let contact: GatewayContact
    private let attachments: EqualAttachments
    private let writer: ConflictWriter
    private let logger: Logger

    /// Attachments that a merged document takes from losing leaves are sent inside it up to this many bytes in all, larger
    /// ones as a stream of their own.
    package static let inlineAttachmentBytes = 256 << 10

    /// For conflicts that a bot meets in its feed.
    ///
    /// - Parameter pauses: Of the run: they end when it is to stop.
    package init(gateway: Gateway, retries: RetryPolicy.Settings, pauses: Pauses, logger: Logger) {
        self.init(
            gateway, GatewayContact(settings: retries, pauses: pauses, logger: logger), retries, pauses: pauses, logger)
    }

    package init(
        _ gateway: Gateway, _ contact: GatewayContact, _ retries: RetryPolicy.Settings, pauses: Pauses,
        inlineAttachmentBytes: Int = inlineAttachmentBytes, _ logger: Logger
    ) {
        self.gateway = gateway
        self.contact = contact
        self.logger = logger
        attachments = EqualAttachments(gateway: gateway, contact: contact, logger: logger)
        reader = RevisionsReader(gateway: gateway, contact: contact)
        writer = ConflictWriter(
            gateway: gateway, contact: contact,
            preparation: RevisionPreparation(
                fetcher: AttachmentFetcher(gateway: gateway, contact: contact),
                inlineByteCount: inlineAttachmentBytes, dialect: gateway.dialect),
            sender: RevisionSender(gateway: gateway, retries: retries, pauses: pauses, logger: logger))
    }

    // MARK: - Reading

    /// The leaves of a document, or why they can't be read.
    package enum Leaves: Sendable {
        case read(Conflict)
        case unreadable(reason: String)
    }

    /// Reads the leaves of documents. There is no entry for those that are gone.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    package func leaves(
        of documents: [ChangedDocument], noteBytes: (Int) -> Void = { _ in }
    ) async throws -> [DocumentID: Leaves] {
        var found = try await read(documents, noteBytes)
        // Servers forget the bodies of revisions that are no leaves any more.
        var changed: [ChangedDocument] = []
        for document in documents {
            guard case .unreadable? = found[document.id] else { continue }
            let current = try await leafRevisions(of: document.id)
            guard Set(current) != Set(document.revisions) else { continue }
            changed.append(ChangedDocument(id: document.id, revisions: current))
            found[document.id] = nil
        }
        guard !changed.isEmpty else { return found }
        return found.merging(try await read(changed, noteBytes)) { _, new in new }
    }

    /// Reads the leaves of documents that may be in conflict. There is no entry for those that are not.
    ///
    /// - Parameter documents: With all leaf revisions; nil: they are asked for.
    /// - Throws: `RunError`, `CancellationError`.
    package func conflicts(
        among documents: [(id: DocumentID, revisions: [RevisionID]?)]
    ) async throws -> [DocumentID: Leaves] {
        var listed: [ChangedDocument] = []
        for (id, known) in documents {
            var revisions = known ?? []
            if known == nil { revisions = try await leafRevisions(of: id) }
            if revisions.count > 1 { listed.append(ChangedDocument(id: id, revisions: revisions)) }
        }
        return try await leaves(of: listed).filter { _, leaves in
            guard case .read(let conflict) = leaves else { return true }
            return conflict.leaves.count > 1 || !conflict.leaves.isEmpty && !conflict.deletions.isEmpty
        }
    }

    private func read(
        _ documents: [ChangedDocument], _ noteBytes: (Int) -> Void
    ) async throws -> [DocumentID: Leaves] {
        var leaves: [DocumentID: [ConflictLeaf]] = [:]
        var found: [DocumentID: Leaves] = [:]
        let keys = documents.flatMap { document in
            document.revisions.map { BulkGetKey(id: document.id, revision: $0) }
        }
        try await reader.read(keys) { answer in
            switch answer {
            case .revision(let text, let key):
                noteBytes(text.bytes.count)
                if let leaf = ConflictLeaf(text) { leaves[key.id, default: []].append(leaf) }
            case .unreadable(let key, let reason):
                if found[key.id] == nil { found[key.id] = .unreadable(reason: reason) }
            }
        }
        for (id, leaves) in leaves where found[id] == nil { found[id] = .read(Conflict(leaves)) }
        return found
    }

    /// Asks for the leaf revisions of a document, deleted ones too; none if there is no such document.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    private func leafRevisions(of id: DocumentID) async throws -> [RevisionID] {
        try await contact.leaves(of: id, at: gateway).compactMap { $0.root["_rev"]?.string.map(RevisionID.init) }
    }

    // MARK: - Deciding

    /// Asks the policies, which see old revisions that the server still has.
    ///
    /// - Parameter spool: Old revisions that were read earlier.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
    package func decide(_ cases: inout [ConflictCase], knowing spool: ConflictSpool? = nil) async throws {
        let ancestors = try await ancestors(of: cases, spool)
        for index in cases.indices {
            let known = Self.known(of: cases[index], ancestors)
            try await noteEqualAttachments(of: &cases[index], known)
            await cases[index].resolve(knowing: known)
        }
    }

    /// Old revisions that the policies look at, if the server still has them.
    ///
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
    package func ancestors(
        of cases: [ConflictCase], _ spool: ConflictSpool? = nil
    ) async throws -> [BulkGetKey: JSONText] {
        var keys: Set<BulkGetKey> = []
        for one in cases {
            for revision in one.decision.wanted { keys.insert(BulkGetKey(id: one.id, revision: RevisionID(revision))) }
        }
        var found: [BulkGetKey: JSONText] = [:]
        if let spool {
            for key in keys { found[key] = try await spool.revision(key) }
            keys.subtract(found.keys)
        }
        return found.merging(try await reader.revisions(Array(keys))) { _, read in read }
    }

    private static func known(of one: ConflictCase, _ ancestors: [BulkGetKey: JSONText]) -> [String: JSONText] {
        ancestors.reduce(into: [:]) { known, ancestor in
            if ancestor.key.id == one.id { known[ancestor.key.revision?.text ?? ""] = ancestor.value }
        }
    }

    /// Policies that take a whole leaf compare no attachments.
    private func noteEqualAttachments(of one: inout ConflictCase, _ ancestors: [String: JSONText]) async throws {
        guard one.policy.needsAncestors else { return }
        let revisions =
            one.conflict.leaves.map { (RevisionID($0.revision), $0.document.root) }
            + ancestors.map { (RevisionID($0.key), $0.value.root) }
        one.note(equalDigests: try await attachments.equalDigests(of: one.id, revisions))
    }

    // MARK: - Writing

    /// Decides and writes.
    ///
    /// May be repeated: what was resolved is no conflict any more, and what was resolved in part is resolved to the same
    /// end.
    ///
    /// - Returns: The end of each case that was a conflict. And what was sent: as ``write(_:note:count:)``.
    /// - Throws: `RunError`, `CancellationError`, and what a pause of the run throws. Some documents may have been
    ///   resolved.
    package func resolve(
        _ cases: [ConflictCase]
    ) async throws -> (ends: [DocumentID: ConflictEnd], sent: RunCounters) {
        var cases = cases.filter(\.isConflict)
        try await decide(&cases)
        cases.removeAll(where: \.isSettled)
        let ends = Locked([DocumentID: ConflictEnd]())
        let sent = Locked(RunCounters())
        do {
            try await write(cases) { [logger] one, end in
                ends.withLock { $0[one.id] = end }
                if end == .resolved { one.logResolution(to: logger) }
            } count: { more in
                sent.withLock { $0.addSent(more) }
            }
        } catch let error as TransferError {
            throw RunError(.cannotCreate, error.description)
        }
        return (ends.withLock { $0 }, sent.withLock { $0 })
    }

    /// Writes what was decided. Those that are settled already have no end.
    ///
    /// - Parameters:
    ///   - note: Called with the end of each case.
    ///   - count: Called with what has been sent: `written`, `deleted`, `writeRequests`, `bytesOut`, `retries`.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`. Some documents may have been resolved.
    package func write(
        _ cases: [ConflictCase], note: @escaping @Sendable (ConflictCase, ConflictEnd) -> Void,
        count: @escaping @Sendable (RunCounters) -> Void
    ) async throws {
        try await writer.write(cases, note: note, count: count)
    }
}
