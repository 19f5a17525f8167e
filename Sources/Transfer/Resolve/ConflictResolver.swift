internal import DocumentFlow
internal import Encodings
package import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
package import Rules

/// A document in conflict, and what becomes of it.
package struct ConflictCase: Sendable {
    package let id: DocumentID
    let conflict: Conflict
    let policies: ConflictPolicies
    let policy: ConflictPolicy
    var resolution = ConflictResolution.setAside(reason: "")

    /// Nil if there is no policy for the document.
    package init?(_ id: DocumentID, _ conflict: Conflict, _ policies: ConflictPolicies) {
        guard let policy = policies.policy(of: conflict) else { return nil }
        self.id = id
        self.conflict = conflict
        self.policies = policies
        self.policy = policy
    }

    var decision: ConflictDecision { ConflictDecision(conflict: conflict, policy: policy) }

    /// Whether the policy has anything to decide: one leaf is a conflict only with a deletion that may win.
    var isConflict: Bool { conflict.leaves.count > 1 || policy == .deletesWin && !conflict.deletions.isEmpty }

    /// Whether it is no conflict after all.
    var isSettled: Bool {
        if case .keep = resolution { losers.isEmpty } else { false }
    }

    /// The leaves to delete.
    var losers: [ConflictLeaf] {
        switch resolution {
        case .keep(let kept): conflict.leaves.enumerated().filter { $0.offset != kept }.map(\.element)
        case .write: Array(conflict.leaves.dropFirst())
        // A deletion that has won is not to win again over a document that is created anew.
        case .delete: conflict.leaves + conflict.deletions.map(\.tombstone)
        case .setAside: []
        }
    }
}

/// Reads the leaves of documents in conflict and their ancestors, asks the policies, and writes.
///
/// The new revision is stored first. Losing leaves are deleted only when the server has accepted it: so no edit is lost if
/// the server refuses it, or if the process is killed in between.
package struct ConflictResolver: Sendable {
    /// The end of a case.
    enum End: Sendable {
        case resolved
        /// The document is left in conflict.
        case left(reason: String)
    }

    private let gateway: Gateway
    private let reader: RevisionsReader
    private let preparation: RevisionPreparation
    private let sender: RevisionSender
    private let contact: GatewayContact

    /// Attachments that a merged document takes from losing leaves are sent inside it up to this many bytes in all, larger
    /// ones as a stream of their own.
    package static let inlineAttachmentBytes = 256 << 10

    init(
        _ gateway: Gateway, _ contact: GatewayContact, _ retries: RetryPolicy.Settings, pauses: Pauses,
        inlineAttachmentBytes: Int = inlineAttachmentBytes, _ logger: Logger
    ) {
        self.gateway = gateway
        self.contact = contact
        reader = RevisionsReader(gateway: gateway, contact: contact)
        preparation = RevisionPreparation(
            fetcher: AttachmentFetcher(gateway: gateway, contact: contact),
            inlineByteCount: inlineAttachmentBytes, dialect: gateway.dialect)
        sender = RevisionSender(gateway: gateway, retries: retries, pauses: pauses, logger: logger)
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
    func leaves(
        of documents: [ChangedDocument], noteBytes: (Int) -> Void = { _ in }
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
    func leafRevisions(of id: DocumentID) async throws -> [RevisionID] {
        try await contact.leaves(of: id, at: gateway).compactMap { $0.root["_rev"]?.string.map(RevisionID.init) }
    }

    // MARK: - Deciding

    /// Asks the policies, which see old revisions that the server still has.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    func decide(_ cases: inout [ConflictCase]) async throws {
        let ancestors = try await ancestors(of: cases)
        let now = Timestamp.secondsNow
        for index in cases.indices { cases[index].resolution = await resolution(of: cases[index], ancestors, now) }
    }

    /// Old revisions that the server still has.
    private func ancestors(of cases: [ConflictCase]) async throws -> [BulkGetKey: JSONText] {
        var keys: Set<BulkGetKey> = []
        for one in cases {
            for revision in one.decision.wanted { keys.insert(BulkGetKey(id: one.id, revision: RevisionID(revision))) }
        }
        var found: [BulkGetKey: JSONText] = [:]
        guard !keys.isEmpty else { return found }
        try await reader.read(Array(keys)) { answer in
            if case .revision(let text, let key) = answer { found[key] = text }
        }
        return found
    }

    private func resolution(
        of one: ConflictCase, _ ancestors: [BulkGetKey: JSONText], _ now: Int
    ) async -> ConflictResolution {
        var known: [String: JSONText] = [:]
        for (key, document) in ancestors where key.id == one.id { known[key.revision?.text ?? ""] = document }
        return await one.decision.resolution(by: one.policies, known: known, now: now)
    }

    // MARK: - Writing

    /// Writes what was decided. Those that are settled already have no end.
    ///
    /// - Parameters:
    ///   - note: Called with the end of each case.
    ///   - count: Called with what has been sent: `written`, `deleted`, `writeRequests`, `bytesOut`, `retries`.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`. Some documents may have been resolved.
    func write(
        _ cases: [ConflictCase], note: @escaping @Sendable (ConflictCase, End) -> Void,
        count: @escaping @Sendable (RunCounters) -> Void
    ) async throws {
        var ready: [ConflictCase] = []
        var sender = sender.forOneBatch()
        for one in cases {
            switch one.resolution {
            case .keep, .delete: ready.append(one)
            case .write(let document):
                switch try await store(document, one, &sender, count) {
                case .resolved: ready.append(one)
                case .left(let reason): note(one, .left(reason: reason))
                }
            case .setAside(let reason): note(one, .left(reason: reason))
            }
        }
        try await deleteLosers(of: ready, &sender, note, count)
        count(await self.sender.newRequests())
    }

    /// - Returns: `.resolved` if the server has accepted the new revision.
    private func store(
        _ document: ResolvedDocument, _ one: ConflictCase, _ sender: inout RevisionSender,
        _ count: @Sendable (RunCounters) -> Void
    ) async throws -> End {
        guard let new = NewRevision.resolved(document, of: one.conflict, one.id) else {
            return .left(reason: "its leaves can't be merged into one document")
        }
        let prepared: PreparedRevision
        switch try await preparation.prepare(new.revision, new.needed, new.kept) {
        case .success(let revision): prepared = revision
        case .failure(let unreadable): return .left(reason: Self.reason(unreadable))
        }
        let end = Locked(End.left(reason: ""))
        let settle: RevisionSender.Settle = { _, outcome in
            switch outcome {
            case .written: end.withLock { $0 = .resolved }
            case .failed, .undecided, .unmentioned: return false
            case .conflict, .rejected:
                end.withLock { $0 = .left(reason: "the server refused its new revision: \(outcome.explanation)") }
            }
            return true
        }
        if prepared.isAlone {
            let winner = one.conflict.leaves.first.map { RevisionID($0.revision) }
            try await sender.storeAlone(prepared, settle) {
                let all = new.needed + new.kept.map { ($0, winner) }
                switch try await preparation.prepare(new.revision, all, []) {
                case .success(let revision): return revision
                case .failure(let unreadable):
                    end.withLock { $0 = .left(reason: Self.reason(unreadable)) }
                    return nil
                }
            }
        } else {
            try await sender.storeTogether([prepared], settle)
        }
        let result = end.withLock { $0 }
        if case .resolved = result {
            var sent = RunCounters()
            sent.written = 1
            sent.bytesOut = prepared.uploadedByteCount
            count(sent)
        }
        return result
    }

    private static func reason(_ unreadable: RevisionPreparation.Unreadable) -> String {
        "the server could not send an attachment: \(unreadable.reason)"
    }

    private func deleteLosers(
        of cases: [ConflictCase], _ sender: inout RevisionSender, _ note: @Sendable (ConflictCase, End) -> Void,
        _ count: @escaping @Sendable (RunCounters) -> Void
    ) async throws {
        let refused = Locked([DocumentID: String]())
        let tombstones = cases.flatMap { one in one.losers.compactMap { NewRevision.tombstone(of: $0, one.id) } }
        try await sender.storeTogether(tombstones) { revision, outcome in
            switch outcome {
            case .written:
                var sent = RunCounters()
                (sent.written, sent.deleted) = (1, 1)
                count(sent)
            case .failed, .undecided, .unmentioned: return false
            case .conflict, .rejected:
                refused.withLock { $0[revision.document.id] = outcome.explanation }
            }
            return true
        }
        let left = refused.withLock { $0 }
        for one in cases {
            note(one, left[one.id].map { .left(reason: "the server refused a deletion: \($0)") } ?? .resolved)
        }
    }
}
