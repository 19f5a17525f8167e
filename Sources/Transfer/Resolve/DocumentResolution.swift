internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules

/// Resolves the conflicts of some documents: reads their leaves and ancestors, asks the policy, and writes.
///
/// The new revision is stored first. Losing leaves are deleted only when the server has accepted it: so no edit is lost if
/// the server refuses it, or if the process is killed in between.
struct DocumentResolution: Sendable {
    private let settings: ResolveSettings
    private let report: ResolveReport
    private let logger: Logger
    private let show: Resolver.Show
    private let reader: RevisionsReader
    private let preparation: RevisionPreparation
    private let sender: RevisionSender
    private let refusals: Locked<RepeatedMessages>

    init(
        _ gateway: Gateway, _ contact: GatewayContact, _ settings: ResolveSettings, report: ResolveReport,
        logger: Logger, show: @escaping Resolver.Show
    ) {
        self.settings = settings
        self.report = report
        self.logger = logger
        self.show = show
        reader = RevisionsReader(gateway: gateway, contact: contact)
        preparation = RevisionPreparation(
            fetcher: AttachmentFetcher(gateway: gateway, contact: contact),
            inlineByteCount: settings.inlineAttachmentBytes, dialect: gateway.dialect)
        sender = RevisionSender(gateway: gateway, retries: settings.retries, logger: logger)
        refusals = Locked(RepeatedMessages(last: "more documents are left in conflict; --log-level debug names them"))
    }

    /// A document in conflict, and what becomes of it.
    private struct Case {
        let id: DocumentID
        let conflict: Conflict
        let policy: ConflictPolicy
        var resolution = ConflictResolution.setAside(reason: "")

        var decision: ConflictDecision { ConflictDecision(conflict: conflict, policy: policy) }

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

    /// - Throws: `RunError`, ``TransferError``, `CancellationError`. Some documents may have been resolved.
    func resolve(_ documents: [ChangedDocument]) async throws {
        guard !documents.isEmpty else { return }
        var cases = try await conflicts(among: documents)
        guard !cases.isEmpty else { return }
        let ancestors = try await ancestors(of: cases)
        let now = Timestamp.secondsNow
        for index in cases.indices {
            cases[index].resolution = await resolution(of: cases[index], ancestors, now)
        }
        cases.removeAll(where: \.isSettled)
        report.update { [count = cases.count] in $0.counters.matched += count }
        if settings.isDryRun { try await preview(cases) } else { try await write(cases) }
        if let limit = settings.errorLimit, limit.isExceeded(by: report.failures) {
            throw RunError(limit, report.failures)
        }
    }

    // MARK: - Reading

    private func conflicts(among documents: [ChangedDocument]) async throws -> [Case] {
        var leaves: [DocumentID: [ConflictLeaf]] = [:]
        var unreadable: Set<DocumentID> = []
        let keys = documents.flatMap { document in
            document.revisions.map { BulkGetKey(id: document.id, revision: $0) }
        }
        try await reader.read(keys) { answer in
            switch answer {
            case .revision(let text, let key):
                report.update { $0.counters.bytesIn += text.bytes.count }
                if let leaf = ConflictLeaf(text) { leaves[key.id, default: []].append(leaf) }
            case .unreadable(let key, let reason):
                guard unreadable.insert(key.id).inserted else { return }
                report.update { $0.counters.matched += 1 }
                note(key.id, "the server could not send a leaf: \(reason)")
            }
        }
        let matcher = settings.filter.map { DocumentMatcher($0) }
        var cases: [Case] = []
        for document in documents where !unreadable.contains(document.id) {
            let conflict = Conflict(leaves[document.id] ?? [])
            guard let winner = conflict.leaves.first, let policy = settings.policies.policy(of: conflict),
                conflict.leaves.count > 1 || policy == .deletesWin && !conflict.deletions.isEmpty,
                (try? matcher?.matches(winner.document.root)) != false
            else { continue }
            cases.append(Case(id: document.id, conflict: conflict, policy: policy))
        }
        return cases
    }

    /// Old revisions that the server still has.
    private func ancestors(of cases: [Case]) async throws -> [BulkGetKey: JSONText] {
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
        of one: Case, _ ancestors: [BulkGetKey: JSONText], _ now: Int
    ) async -> ConflictResolution {
        var known: [String: JSONText] = [:]
        for (key, document) in ancestors where key.id == one.id { known[key.revision?.text ?? ""] = document }
        return await one.decision.resolution(by: settings.policies, known: known, now: now)
    }

    // MARK: - Writing

    private func write(_ cases: [Case]) async throws {
        var ready: [Case] = []
        var sender = sender.forOneBatch()
        for one in cases {
            switch one.resolution {
            case .keep, .delete: ready.append(one)
            case .write(let document):
                if try await store(document, one, &sender) { ready.append(one) }
            case .setAside(let reason): note(one.id, reason)
            }
        }
        try await deleteLosers(of: ready, &sender)
        await noteRequests()
    }

    /// - Returns: Whether the server has accepted the new revision.
    private func store(
        _ document: ResolvedDocument, _ one: Case, _ sender: inout RevisionSender
    ) async throws -> Bool {
        guard let new = NewRevision.resolved(document, of: one.conflict, one.id) else {
            note(one.id, "its leaves can't be merged into one document")
            return false
        }
        guard let prepared = try await prepare(new.revision, new.needed, new.kept, one.id) else { return false }
        let isStored = Locked(false)
        let settle: RevisionSender.Settle = { [report] _, outcome in
            switch outcome {
            case .written:
                isStored.withLock { $0 = true }
                report.update {
                    $0.counters.written += 1
                    $0.counters.bytesOut += prepared.uploadedByteCount
                    $0.merged += 1
                }
            case .failed, .undecided, .unmentioned: return false
            case .conflict, .rejected: note(one.id, "the server refused its new revision: \(outcome.explanation)")
            }
            return true
        }
        if prepared.isAlone {
            let winner = one.conflict.leaves.first.map { RevisionID($0.revision) }
            try await sender.storeAlone(prepared, settle) {
                try await prepare(new.revision, new.needed + new.kept.map { ($0, winner) }, [], one.id)
            }
        } else {
            try await sender.storeTogether([prepared], settle)
        }
        return isStored.withLock { $0 }
    }

    private func prepare(
        _ revision: ReplicatedRevision, _ needed: [(stub: AttachmentStub, origin: RevisionID?)],
        _ kept: [AttachmentStub], _ id: DocumentID
    ) async throws -> PreparedRevision? {
        switch try await preparation.prepare(revision, needed, kept) {
        case .success(let prepared): return prepared
        case .failure(let unreadable):
            note(id, "the server could not send an attachment: \(unreadable.reason)")
            return nil
        }
    }

    private func deleteLosers(of cases: [Case], _ sender: inout RevisionSender) async throws {
        let refused = Locked(Set<DocumentID>())
        let tombstones = cases.flatMap { one in one.losers.compactMap { NewRevision.tombstone(of: $0, one.id) } }
        try await sender.storeTogether(tombstones) { [report] revision, outcome in
            switch outcome {
            case .written:
                report.update {
                    $0.counters.written += 1
                    $0.counters.deleted += 1
                }
            case .failed, .undecided, .unmentioned: return false
            case .conflict, .rejected:
                let isFirst = refused.withLock { $0.insert(revision.document.id).inserted }
                if isFirst { note(revision.document.id, "the server refused a deletion: \(outcome.explanation)") }
            }
            return true
        }
        let left = refused.withLock { $0 }
        for one in cases where !left.contains(one.id) { noteResolved(one) }
    }

    private func noteResolved(_ one: Case) {
        report.update {
            $0.resolved += 1
            if case .keep = one.resolution { $0.kept += 1 }
        }
        logger.debug(
            "resolved a conflict",
            metadata: [
                LogKey.id: "\(one.id)", LogKey.policy: "\(one.policy.name)",
                LogKey.leaves: "\(one.conflict.leaves.count)",
            ])
    }

    private func noteRequests() async {
        let new = await sender.newRequests()
        report.update {
            $0.counters.writeRequests += new.writeRequests
            $0.counters.bytesOut += new.bytesOut
            $0.counters.retries += new.retries
        }
    }

    private func note(_ id: DocumentID, _ reason: String) {
        report.update { $0.counters.rejected += 1 }
        refusals.withLock {
            $0.log(
                "a document is left in conflict", .warning, to: logger,
                [LogKey.id: "\(id)", LogKey.reason: "\(reason)"])
        }
    }

    // MARK: - Without writing

    private func preview(_ cases: [Case]) async throws {
        for one in cases {
            if case .setAside(let reason) = one.resolution {
                note(one.id, reason)
            } else {
                var isWrite = false
                if case .write = one.resolution { isWrite = true }
                report.update { [isWrite] in
                    $0.resolved += 1
                    $0.counters.shown += one.losers.count + (isWrite ? 1 : 0)
                    $0.counters.shownDeletions += one.losers.count
                }
            }
            try await show(json(one))
        }
    }

    /// `{id, policy, leaves, ancestor, action, …}`.
    private func json(_ one: Case) -> [UInt8] {
        var line = JSONWriter()
        line.object { line in
            line.member("id", string: one.id.text)
            line.member("policy", string: one.policy.name)
            line.name("leaves")
            line.array { line in for leaf in one.conflict.leaves { line.string(leaf.revision) } }
            line.member("ancestor", optional: one.conflict.commonAncestor)
            switch one.resolution {
            case .keep(let leaf):
                line.member("action", string: "keep")
                line.member("rev", string: one.conflict.leaves[leaf].revision)
            case .write(let document):
                line.member("action", string: "write")
                line.member("document", raw: document.members.bytes)
                line.name("attachments")
                line.array { line in for attachment in document.attachments { line.string(attachment.name) } }
            case .delete: line.member("action", string: "delete")
            case .setAside(let reason):
                line.member("action", string: "set-aside")
                line.member("reason", string: reason)
            }
        }
        return line.bytes
    }
}
