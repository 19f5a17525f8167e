internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Replicates batches of changed documents: asks the target which revisions it lacks, reads them from the source with
/// their histories and attachments, and stores them unchanged.
///
/// Several batches may be replicated at once. Repeating a batch, as after a crash, changes nothing.
struct RevisionTransfer: Sendable {
    /// Conflicts of a batch that are settled concurrently.
    private static let settlements = 4

    private let source: ReplicationEnd
    private let target: ReplicationEnd
    private let settings: ReplicationSettings
    private let report: ReplicationReport
    private let logger: Logger
    private let reader: RevisionsReader
    private let mapping: RevisionMapping?
    let preparation: RevisionPreparation
    private let sender: RevisionSender
    private let expiryWatch = ExpiryWatch()
    private let refusals: Locked<RepeatedMessages>
    private let designDocuments: OmittedDesignDocuments
    /// Nil: conflicts remain.
    private let conflicts: ConflictSettlement?

    /// - Parameter settling: How conflicts are settled; nil if they are not.
    init(
        from source: ReplicationEnd, to target: ReplicationEnd, _ settings: ReplicationSettings,
        settling: SettlementContext? = nil, report: ReplicationReport, logger: Logger
    ) {
        self.source = source
        self.target = target
        self.settings = settings
        self.report = report
        self.logger = logger
        mapping = settings.mapping.map { RevisionMapping($0) }
        reader = RevisionsReader(gateway: source.gateway, contact: source.contact)
        preparation = RevisionPreparation(
            fetcher: AttachmentFetcher(gateway: source.gateway, contact: source.contact),
            inlineByteCount: settings.inlineAttachmentBytes, dialect: target.gateway.dialect)
        sender = RevisionSender(
            gateway: target.gateway, retries: settings.targetRetries, batchBytes: settings.batchBytes, logger: logger)
        refusals = Locked(
            RepeatedMessages(last: "further revisions that can't be replicated are logged at --log-level debug"))
        designDocuments = OmittedDesignDocuments(target: target.gateway, report: report, logger: logger)
        conflicts = settling.map { [preparation, sender] settling in
            ConflictSettlement(
                from: source, to: target, settings, settling, preparation: preparation, sender: sender, report: report,
                logger: logger)
        }
    }

    /// - Throws: `RunError`, ``TransferError``, `CancellationError`. Some revisions may have been stored.
    func replicate(_ documents: [ChangedDocument]) async throws {
        var refused = try await transfer(documents)[...]
        try await withThrowingTaskGroup { group in
            for _ in 0..<Self.settlements {
                if let next = refused.popFirst() { group.addTask { try await settle(next) } }
            }
            while try await group.next() != nil {
                if let next = refused.popFirst() { group.addTask { try await settle(next) } }
            }
        }
    }

    /// Settles a conflict if a policy applies; otherwise reports it.
    private func settle(_ refused: ReplicatedRevision) async throws {
        switch try await conflicts?.settle(refused) {
        case .resolved?:
            report.count { $0.settled += 1 }
            logger.debug("settled a conflict", metadata: [LogKey.id: "\(refused.key.id)"])
        case .nothing?: break
        case .left(let reason)?: note(refused.key, "a conflict is not settled", reason)
        case .changed?, nil:
            guard !refused.isLosingDeletion else { return }
            note(
                refused.key, "the target refused a revision",
                "it keeps only one leaf revision of a document and already has another one")
        }
    }

    /// - Returns: The revisions that the target refused because it has another leaf.
    /// - Throws: As ``replicate(_:)``.
    func transfer(_ changed: [ChangedDocument]) async throws -> [ReplicatedRevision] {
        let documents = designDocuments.omit(from: changed)
        guard !documents.isEmpty else { return [] }
        let requests = documents.map { (id: $0.id, revisions: $0.revisions) }
        let differences = try await target.contact.ask { try await target.gateway.revisionDifferences(requests) }
        report.count { $0.checked += documents.reduce(0) { $0 + $1.revisions.count } }
        var ancestors: [DocumentID: [RevisionID]] = [:]
        var keys: [BulkGetKey] = []
        var winners: Set<BulkGetKey> = []
        for (document, difference) in zip(documents, differences) where !difference.missing.isEmpty {
            ancestors[document.id] = difference.possibleAncestors
            winners.insert(BulkGetKey(id: document.id, revision: document.revisions.first))
            // The winner comes first, whatever the order of the answer: a target that keeps one leaf keeps the first.
            let missing = Set(difference.missing)
            keys += document.revisions.filter(missing.contains).map { BulkGetKey(id: document.id, revision: $0) }
        }
        report.count { $0.missing += keys.count }
        let matcher = settings.filter.map { DocumentMatcher($0) }
        var group = RevisionGroup()
        let refused = Refused([])
        for part in keys.chunks(of: RevisionsReader.requestSize) {
            try await reader.read(part) { answer in
                switch answer {
                case .unreadable(let key, let reason):
                    note(key, "the source could not send a revision", reason)
                case .revision(let text, let key):
                    let revision = ReplicatedRevision(
                        text: text, key: key, knownAncestors: ancestors[key.id] ?? [],
                        isLosing: !winners.contains(key))
                    guard admits(revision, matcher) else { return }
                    group.add(revision)
                    if group.byteCount >= settings.batchBytes {
                        try await store(mapped(group.take()), refused)
                    }
                }
            }
        }
        try await store(mapped(group.take()), refused)
        return refused.withLock { $0 }
    }

    /// Revisions in conflict.
    private typealias Refused = Locked<[ReplicatedRevision]>

    /// Applies the mapping, if there is one.
    private func mapped(_ revisions: [ReplicatedRevision]) async -> [ReplicatedRevision] {
        guard let mapping else { return revisions }
        let outcomes = await mapping.map(revisions)
        var mapped: [ReplicatedRevision] = []
        for (revision, outcome) in zip(revisions, outcomes) {
            switch outcome {
            case .mapped(let revision): mapped.append(revision)
            case .dropped: report.count { $0.filtered += 1 }
            case .failed(let reason): note(revision.key, "a revision can't be mapped", reason)
            }
        }
        return mapped
    }

    private func admits(_ revision: ReplicatedRevision, _ matcher: DocumentMatcher?) -> Bool {
        report.update {
            $0.bytesIn += revision.text.bytes.count
            $0.counts.read += 1
        }
        do {
            if try !revision.isRemoved && matcher?.matches(revision.text.root) != false { return true }
            report.count { $0.filtered += 1 }
        } catch {
            note(revision.key, "the selector can't be evaluated for a revision", "\(error)")
        }
        return false
    }

    // MARK: - Storing

    /// The expiries of the source's documents, if the target supports expiry. Otherwise the lost expiries are counted,
    /// with a warning. Deleted documents need none.
    private func expiries(of revisions: [ReplicatedRevision]) async throws -> [DocumentID: [UInt8]] {
        let staying = revisions.filter { !$0.isDeleted && $0.text.root[DocumentExpiry.member] == nil }
        guard !staying.isEmpty else { return [:] }
        let ids = staying.map(\.key.id)
        guard source.gateway.dialect.expiresDocuments else { return [:] }
        let keeps = target.gateway.dialect.expiresDocuments
        if keeps {
            await expiryWatch.check(copied: ids, from: source.gateway, logger)
        } else if !source.gateway.keepsExpiry {
            await expiryWatch.check(copied: ids, from: source.gateway, to: target.gateway, logger)
        }
        let expiries = try await ExpiryReader(gateway: source.gateway, contact: source.contact).expiries(
            of: staying.map { ($0.key.id, $0.text.bytes.count) })
        guard !keeps else { return expiries }
        expiryWatch.noteLost(expiries, at: source.gateway, to: target.gateway, logger)
        report.count { $0.lostExpiries += expiries.count }
        return [:]
    }

    private func store(_ revisions: [ReplicatedRevision], _ refused: Refused) async throws {
        guard !revisions.isEmpty else { return }
        let expiries = try await expiries(of: revisions)
        let note: RevisionBatch.Note = { self.note($0, $1, refused) }
        var batch = sender.makeBatch()
        for revision in revisions {
            let (needed, known) = revision.attachments
            let expiry = expiries[revision.key.id]
            guard let prepared = try await prepare(revision, needed, known)?.expiring(expiry) else { continue }
            let wasSent = try await batch.store(prepared, note) {
                try await prepare(revision, needed + known, [])?.expiring(expiry)
            }
            if wasSent { await report.note(sender) }
        }
        try await batch.storeGathered(note)
        await report.note(sender)
    }

    /// - Returns: Nil if an attachment can't be read, which is reported.
    private func prepare(
        _ revision: ReplicatedRevision, _ needed: [AttachmentStub], _ known: [AttachmentStub]
    ) async throws -> PreparedRevision? {
        switch try await preparation.prepare(revision, needed.map { ($0, revision.key.revision) }, known) {
        case .success(let prepared): return prepared
        case .failure(let unreadable):
            note(revision.key, "the source could not send an attachment", unreadable.reason)
            return nil
        }
    }

    private func note(_ revision: PreparedRevision, _ answer: RevisionBatch.Answer, _ refused: Refused) {
        switch answer {
        case .stored: report.noteWritten(revision)
        case .refused(isConflict: true, _):
            report.count { $0.conflicts += 1 }
            // The deletion of a losing branch may be dropped, unless a policy can let it win.
            if revision.revision.isLosingDeletion, settings.policies?.letDeletionsWin != true { return }
            refused.withLock { $0.append(revision.revision) }
        case .refused(isConflict: false, let reason):
            note(revision.revision.key, "the target refused a revision", reason)
        }
    }

    private func note(_ key: BulkGetKey, _ message: Logger.Message, _ reason: String) {
        report.count { $0.failed += 1 }
        refusals.withLock {
            var metadata: Logger.Metadata = [
                LogKey.id: "\(key.id)", LogKey.revision: "\(key.revision?.text ?? "")", LogKey.reason: "\(reason)",
            ]
            if settings.logsTarget { metadata[LogKey.target] = "\(target.gateway.url)" }
            $0.log(message, .warning, to: logger, metadata)
        }
    }
}

/// Revisions that are stored in one request.
private struct RevisionGroup {
    private var revisions: [ReplicatedRevision] = []
    private(set) var byteCount = 0

    mutating func add(_ revision: ReplicatedRevision) {
        revisions.append(revision)
        byteCount += revision.text.bytes.count
    }

    mutating func take() -> [ReplicatedRevision] {
        defer { self = RevisionGroup() }
        return revisions
    }
}

extension [BulkGetKey] {
    fileprivate func chunks(of size: Int) -> [[BulkGetKey]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
