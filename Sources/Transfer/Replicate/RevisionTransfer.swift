internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules

/// Replicates batches of changed documents: asks the target which revisions it lacks, reads these from the source with
/// their histories and attachments, and stores them unchanged.
///
/// Several batches may be replicated at once. Repeating one, as after a crash, changes nothing.
struct RevisionTransfer: Sendable {
    private let source: ReplicationEnd
    private let target: ReplicationEnd
    private let settings: ReplicationSettings
    private let report: ReplicationReport
    private let logger: Logger
    private let reader: RevisionsReader
    private let fetcher: AttachmentFetcher
    private let mapping: RevisionMapping?
    private let progress = RunProgress(start: .start)
    private let pace = WritePace()
    private let refusals: Locked<RepeatedMessages>
    /// What is in the report of ``progress``.
    private let sent = Locked(RunCounters())

    init(
        from source: ReplicationEnd, to target: ReplicationEnd, _ settings: ReplicationSettings,
        report: ReplicationReport, logger: Logger
    ) {
        self.source = source
        self.target = target
        self.settings = settings
        self.report = report
        self.logger = logger
        mapping = settings.mapping.map { RevisionMapping($0) }
        reader = RevisionsReader(gateway: source.gateway, contact: source.contact)
        fetcher = AttachmentFetcher(gateway: source.gateway, contact: source.contact)
        refusals = Locked(
            RepeatedMessages(last: "more revisions could not be replicated; --log-level debug names them"))
    }

    /// - Throws: `RunError`, ``TransferError``, `CancellationError`. Some revisions may have been stored.
    func replicate(_ documents: [ChangedDocument]) async throws {
        let questions = documents.map { (id: $0.id, revisions: $0.revisions) }
        let differences = try await target.contact.ask { try await target.gateway.revisionDifferences(questions) }
        report.count { $0.checked += documents.reduce(0) { $0 + $1.revisions.count } }
        var ancestors: [DocumentID: [RevisionID]] = [:]
        var keys: [BulkGetKey] = []
        for (document, difference) in zip(documents, differences) where !difference.missing.isEmpty {
            ancestors[document.id] = difference.possibleAncestors
            // The winner first, whatever the order of the answer: a target that keeps one leaf keeps the first.
            let missing = Set(difference.missing)
            keys += document.revisions.filter(missing.contains).map { BulkGetKey(id: document.id, revision: $0) }
        }
        report.count { $0.missing += keys.count }
        let matcher = settings.filter.map { DocumentMatcher($0) }
        var group = RevisionGroup()
        for part in keys.chunks(of: RevisionsReader.requestSize) {
            try await reader.read(part) { answer in
                switch answer {
                case .unreadable(let key, let reason):
                    note(key, "the source could not send a revision", reason)
                case .revision(let text, let key):
                    let revision = ReplicatedRevision(
                        text: text, key: key, knownAncestors: ancestors[key.id] ?? [])
                    guard admits(revision, matcher) else { return }
                    group.add(revision)
                    if group.byteCount >= settings.batchBytes {
                        try await store(mapped(group.take()))
                    }
                }
            }
        }
        try await store(mapped(group.take()))
    }

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
            note(revision.key, "the selector can't be decided for a revision", "\(error)")
        }
        return false
    }

    // MARK: - Storing

    private func store(_ revisions: [ReplicatedRevision]) async throws {
        guard !revisions.isEmpty else { return }
        var sender = BulkSender(
            gateway: target.gateway, progress: progress, pace: pace, pauses: Pauses(),
            policy: RetryPolicy.ofKnownGateway(settings.targetRetries), logger: logger)
        var together: [PreparedRevision] = []
        var byteCount = 0
        for revision in revisions {
            let (needed, known) = revision.attachments
            guard !needed.isEmpty || !known.isEmpty else {
                let body = ReplicatedBody.bytes(of: revision.text, attachments: [])
                together.append(PreparedRevision(revision, body))
                byteCount += body.count
                continue
            }
            guard let prepared = try await prepare(revision, needed, known) else { continue }
            if prepared.isAlone {
                try await storeAlone(prepared, &sender)
            } else {
                together.append(prepared)
                byteCount += prepared.body.count
            }
            if byteCount >= settings.batchBytes {
                try await storeTogether(together, &sender)
                (together, byteCount) = ([], 0)
            }
        }
        try await storeTogether(together, &sender)
    }

    /// Repeats revisions that the target did not decide, until the sender gives up.
    private func storeTogether(_ revisions: [PreparedRevision], _ sender: inout BulkSender) async throws {
        var open = revisions
        while !open.isEmpty {
            try Task.checkCancellation()
            let asked = open
            var again: [PreparedRevision] = []
            try await sender.send(
                asked.map(\.document)[...],
                by: { [target] part async throws(GatewayError) in
                    try await target.gateway.storeRevisions(
                        asked[part.indices].map { RevisionToStore($0.document, revision: $0.id) })
                },
                answered: { answered, outcomes in
                    for (revision, outcome) in zip(asked[answered], outcomes) {
                        if settle(revision, outcome) == false { again.append(revision) }
                    }
                })
            open = again
        }
        await noteRequests()
    }

    /// Stores a revision with streamed attachments or with stubs. If the target lacks an attachment after all, sends all
    /// of them.
    private func storeAlone(_ prepared: PreparedRevision, _ sender: inout BulkSender) async throws {
        var revision = prepared
        while true {
            try Task.checkCancellation()
            var last: BulkOutcome?
            let asked = revision
            try await sender.send(
                [asked.document], isPut: true,
                by: { [target] _ async throws(GatewayError) in [try await Self.put(asked, at: target.gateway)] },
                answered: { _, outcomes in last = outcomes.first })
            await noteRequests()
            guard let last else { return }
            if case .rejected = last, asked.hasStubs {
                let all = AttachmentStub.all(of: asked.revision.text.root)
                guard let whole = try await prepare(asked.revision, all, []) else { return }
                revision = whole
                continue
            }
            if settle(asked, last) { return }
        }
    }

    private static func put(_ revision: PreparedRevision, at gateway: Gateway) async throws(GatewayError) -> BulkOutcome
    {
        do throws(GatewayError) {
            let id = try await gateway.storeRevision(
                revision.document.id, body: revision.body, attachments: revision.uploads.map(\.upload))
            return .written(id)
        } catch {
            // CouchDB's `missing_stub`, and Sync Gateway's answers to stubs that it can't resolve.
            if revision.hasStubs, let status = error.status, [400, 404, 409, 412].contains(status) {
                return .rejected(status: status, reason: error.message)
            }
            switch error.code {
            case .conflict: return .conflict
            case .invalidRequest, .sourceFailed: return .rejected(status: 400, reason: error.message)
            default: throw error
            }
        }
    }

    private func noteRequests() async {
        let now = await progress.counters
        let before = sent.withLock { sent in
            defer { sent = now }
            return sent
        }
        report.update {
            $0.writeRequests += now.writeRequests - before.writeRequests
            $0.bytesOut += now.bytesOut - before.bytesOut
            $0.retries += now.retries - before.retries
        }
    }

    /// - Returns: Whether that was the last word.
    @discardableResult
    private func settle(_ revision: PreparedRevision, _ outcome: BulkOutcome) -> Bool {
        switch outcome {
        case .written:
            report.count {
                $0.written += 1
                if revision.revision.isDeleted { $0.deleted += 1 }
                $0.attachments += revision.sentAttachments
                $0.keptAttachments += revision.keptAttachments
            }
        case .conflict:
            report.count { $0.conflicts += 1 }
            note(
                revision.revision.key, "the target refused a revision",
                "it keeps one leaf revision of a document, and has another one")
        case .rejected: note(revision.revision.key, "the target refused a revision", outcome.explanation)
        case .failed, .undecided, .unmentioned: return false
        }
        return true
    }

    private func note(_ key: BulkGetKey, _ message: Logger.Message, _ reason: String) {
        report.count { $0.failed += 1 }
        refusals.withLock {
            $0.log(
                message, .warning, to: logger,
                [
                    LogKey.id: "\(key.id)", LogKey.revision: "\(key.revision?.text ?? "")",
                    LogKey.reason: "\(reason)",
                ])
        }
    }

    // MARK: - Attachments

    /// Fetches the attachments that the target needs.
    ///
    /// - Returns: Nil if one can't be read, which is noted.
    private func prepare(
        _ revision: ReplicatedRevision, _ needed: [AttachmentStub], _ known: [AttachmentStub]
    ) async throws -> PreparedRevision? {
        let size = needed.reduce(0) { $0 + ($1.byteCount ?? .max / 1024) }
        let isInline = size <= settings.inlineAttachmentBytes
        var entries = known.map { (name: $0.name, json: ReplicatedBody.stub($0, of: revision.text)) }
        var uploads: [SpooledUpload] = []
        let shared = isInline && !needed.isEmpty ? try makeSpool() : nil
        for stub in needed {
            let spool = try shared ?? makeSpool()
            let key = revision.key
            switch try await fetcher.fetch(stub, of: key.id, revision: key.revision, into: spool) {
            case .missing(let reason):
                note(key, "the source could not send an attachment", "'\(stub.name)': \(reason)")
                return nil
            case .fetched(let body):
                if isInline {
                    try await spool.rewind()
                    let base64 = Base64.encode(try await spool.read(upTo: body.byteCount))
                    entries.append((stub.name, ReplicatedBody.inline(stub, of: revision.text, base64: base64)))
                } else {
                    uploads.append(
                        try await SpooledUpload(
                            stub, of: revision.text, spool, byteCount: body.byteCount, for: target.gateway.dialect))
                }
            }
        }
        var prepared = PreparedRevision(revision, ReplicatedBody.bytes(of: revision.text, attachments: entries))
        prepared.uploads = uploads
        prepared.sentAttachments = needed.count
        prepared.keptAttachments = known.count
        return prepared
    }

    private func makeSpool() throws(TransferError) -> AttachmentSpool {
        try AttachmentSpool(directory: WholeFile.temporaryDirectory)
    }
}

/// Revisions that are stored together.
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
