package import DocumentFlow
internal import Encodings
package import GatewayClient
internal import Locking
package import Logging
package import LosslessJSON
internal import Rules

/// Reads the leaves of documents in conflict and their ancestors, and applies the policies. ``ConflictWriter`` writes
/// the decisions.
package struct ConflictResolver: Sendable {
    private let gateway: Gateway
    private let reader: RevisionsReader
    private let leavesReader: LeavesReader
    private let contact: GatewayContact
    private let attachments: EqualAttachments
    private let writer: ConflictWriter
    private let logger: Logger

    /// The leaves of documents that are decided together, in bytes, unless it is one document.
    package static let groupBytes = 2 << 20

    /// The maximum number of documents of one portion whose leaves are requested.
    private static let maxListed = 20

    /// The attachments that a merged document takes from losing leaves are sent inline up to this many bytes in total;
    /// larger ones are streamed separately.
    package static let inlineAttachmentBytes = 256 << 10

    /// Creates a resolver for conflicts that a bot finds in its feed.
    ///
    /// - Parameter pauses: The run's pauses, which end when it must stop.
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
        leavesReader = LeavesReader(reader: reader)
        writer = ConflictWriter(
            gateway: gateway, contact: contact,
            preparation: RevisionPreparation(
                fetcher: AttachmentFetcher(gateway: gateway, contact: contact),
                inlineByteCount: inlineAttachmentBytes, dialect: gateway.dialect),
            sender: RevisionSender(gateway: gateway, retries: retries, pauses: pauses, logger: logger))
    }

    // MARK: - Reading

    /// Reads the leaves of the first documents. Missing documents have no entry.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    package func leaves(of documents: ArraySlice<ChangedDocument>, _ portion: LeavesPortion) async throws -> ReadLeaves
    {
        var read = try await leavesReader.read(documents, portion)
        // Servers forget the bodies of revisions that are no longer leaves.
        for document in documents.prefix(read.documentCount) {
            guard case .unreadable? = read.found[document.id] else { continue }
            let current = try await leafRevisions(of: document.id)
            guard Set(current) != Set(document.revisions) else { continue }
            read.replace(
                document.id,
                by: try await leavesReader.read([ChangedDocument(id: document.id, revisions: current)], .one))
        }
        return read
    }

    /// Reads the leaves of the first documents that may be in conflict. Documents without conflict have no entry.
    ///
    /// - Parameter documents: The documents with all leaf revisions; nil: the leaves are requested.
    /// - Throws: `RunError`, `CancellationError`.
    package func conflicts(
        among documents: [(id: DocumentID, revisions: [RevisionID]?)], _ portion: LeavesPortion
    ) async throws -> ReadLeaves {
        var listed: [ChangedDocument] = []
        var places: [Int] = []
        var (end, requests) = (documents.count, 0)
        for (place, (id, known)) in documents.enumerated() {
            var revisions = known ?? []
            if known == nil {
                if requests == Self.maxListed {
                    end = place
                    break
                }
                requests += 1
                revisions = try await leafRevisions(of: id)
            }
            guard revisions.count > 1 else { continue }
            listed.append(ChangedDocument(id: id, revisions: revisions))
            places.append(place)
        }
        var read = try await leaves(of: listed[...], portion)
        read.documentCount =
            places.indices.contains(read.documentCount) ? places[read.documentCount] : end
        read.removeSettled()
        return read
    }

    /// Requests the leaf revisions of a document, including deleted ones; empty if the document does not exist.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    private func leafRevisions(of id: DocumentID) async throws -> [RevisionID] {
        try await contact.leaves(of: id, at: gateway).compactMap { $0.root["_rev"]?.string.map(RevisionID.init) }
    }

    // MARK: - Deciding

    /// Applies the policies, which get old revisions that the server still has.
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

    /// Old revisions that the policies need, if the server still has them.
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

    /// Policies that choose a whole leaf do not compare attachments.
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
    /// May be repeated: resolved documents are no longer in conflict, and partly resolved documents get the same
    /// result.
    ///
    /// - Returns: The result of each case that was a conflict, and the counts of ``write(_:note:count:)``.
    /// - Throws: `RunError`, `CancellationError`, and what a pause of the run throws. Some documents may have been
    ///   resolved.
    package func resolve(
        _ cases: [ConflictCase]
    ) async throws -> (ends: [DocumentID: ConflictResult], sent: RunCounters) {
        let ends = Locked([DocumentID: ConflictResult]())
        let sent = Locked(RunCounters())
        // Each group also needs memory for old revisions and for what is written.
        for group in cases.filter(\.isConflict).grouped(count: .max, bytes: Self.groupBytes, size: \.byteCount) {
            var cases = Array(group)
            try await decide(&cases)
            cases.removeAll(where: \.isSettled)
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
        }
        return (ends.withLock { $0 }, sent.withLock { $0 })
    }

    /// Writes the decisions. Cases without conflict have no result.
    ///
    /// - Parameters:
    ///   - note: Called with the result of each case.
    ///   - count: Called with the counts of the writes: `written`, `deleted`, `writeRequests`, `bytesOut`, `retries`.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`. Some documents may have been resolved.
    package func write(
        _ cases: [ConflictCase], note: @escaping @Sendable (ConflictCase, ConflictResult) -> Void,
        count: @escaping @Sendable (RunCounters) -> Void
    ) async throws {
        try await writer.write(cases, note: note, count: count)
    }
}
