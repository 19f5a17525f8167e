internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Revisions

/// Writes batches: reads existing documents where necessary, sends the writes, and retries undecided ones.
///
/// Several batches may be written at once if no two share a document. Repeating a batch, as after a crash, does not
/// change documents that were already written.
struct ImportWriter: Sendable {
    /// The maximum number of bytes of existing documents read in one request.
    private static let answerLimit = 4 << 20

    private let gateway: Gateway
    private let settings: ImportSettings
    /// Whether existing documents may have been written by an earlier run.
    private let isResumed: Bool
    let progress: RunProgress
    private let pace: WritePace
    private let logger: Logger
    private let planner: ImportPlanner
    private let bodies: BodySender
    private let restorer: RevisionRestorer
    private let written: RecentWrites
    private let expiries: ExpiryReader
    private let lookupPolicy: Locked<LookupPolicy>

    /// - Parameter newestSequenceAtStart: The database's newest sequence when the run began; nil if not known.
    init(
        gateway: Gateway, settings: ImportSettings, isResumed: Bool, newestSequenceAtStart: SequenceID?,
        progress: RunProgress, pace: WritePace, reading: AttachmentReading, contact: GatewayContact, logger: Logger
    ) {
        self.gateway = gateway
        self.settings = settings
        self.isResumed = isResumed
        self.progress = progress
        self.pace = pace
        self.logger = logger
        let rendering = AttachmentRendering(reading: reading, gateway: gateway, mode: settings.mode)
        // After a conflict, a restore writes a new revision.
        let mode = settings.mode == .restore ? .upsert : settings.mode
        planner = ImportPlanner(
            gateway: gateway, settings: settings,
            rendering: AttachmentRendering(reading: reading, gateway: gateway, mode: mode), contact: contact,
            logger: logger)
        bodies = BodySender(gateway: gateway, progress: progress)
        restorer = RevisionRestorer(gateway: gateway, settings: settings, rendering: rendering, contact: contact)
        lookupPolicy = Locked(
            LookupPolicy(
                settings.mode, isDryRun: settings.preview != nil, hasPolicies: settings.policies != nil))
        expiries = ExpiryReader(gateway: gateway, contact: contact)
        written = RecentWrites(gateway: gateway, contact: contact, newestSequenceAtStart: newestSequenceAtStart)
    }

    /// - Returns: The outcome of each entry; in a dry run, the expected outcome.
    /// - Throws: `RunError`, `RunIsStopping`, `CancellationError`. Some documents may have been written.
    func write(_ batch: ImportBatch) async throws -> ImportResults {
        var results = ImportResults(count: batch.entries.count)
        var open: [PendingDocument] = []
        for (index, entry) in batch.entries.enumerated() {
            switch entry {
            case .refused(_, _, let reason): results.record(.rejected(reason: reason), at: index)
            case .document(let document): open.append(PendingDocument(index: index, document: document))
            }
        }
        open = try await keepingExpiry(open)
        var sender = makeSender()
        if settings.mode == .restore {
            try await write(try await restorer.restore(open, by: &sender, &results), by: &sender, &results)
        } else {
            try await write(open, by: &sender, &results)
        }
        return results
    }

    /// Adds the gateway's expiries to documents without one. A file with expiries is compared with the gateway's,
    /// whatever the settings are. A restored revision without an expiry keeps the gateway's; in other modes, a document
    /// is read before it is replaced.
    private func keepingExpiry(_ documents: [PendingDocument]) async throws -> [PendingDocument] {
        if documents.contains(where: { $0.document.text.root[DocumentExpiry.member] != nil }) { gateway.keepExpiry() }
        guard settings.mode == .restore, gateway.keepsExpiry else { return documents }
        let missing = documents.filter {
            !$0.document.isDeletion && $0.document.text.root[DocumentExpiry.member] == nil
        }
        let expiries = try await expiries.expiries(of: missing.map { ($0.document.id, $0.document.text.bytes.count) })
        return documents.map { open in
            guard let expiry = expiries[open.document.id], !open.document.isDeletion,
                open.document.text.root[DocumentExpiry.member] == nil
            else { return open }
            var open = open
            open.document.text = open.document.text.expiring(expiry)
            return open
        }
    }

    private func write(
        _ documents: [PendingDocument], by sender: inout BulkSender, _ results: inout ImportResults
    ) async throws {
        var lost = UnansweredWrites()
        var open = documents
        var isFirst = settings.mode != .restore
        while !open.isEmpty {
            try Task.checkCancellation()
            try await lookUp(&open, isFirstAttempt: isFirst, &sender)
            let planned = try await plan(open, lost, &results)
            guard settings.preview == nil else { return show(planned, &results) }
            open = readAnswers(try await bodies.send(planned, &lost, &sender), &lost, &results)
            if isFirst {
                lookupPolicy.withLock { $0.noteFirstAttempt(of: documents.count, again: open.count) }
            }
            isFirst = false
        }
    }

    /// Reads existing documents where necessary, and those whose write met a conflict.
    private func lookUp(
        _ open: inout [PendingDocument], isFirstAttempt: Bool, _ sender: inout BulkSender
    ) async throws {
        let policy = lookupPolicy.withLock { $0 }
        let wanted = open.indices.filter {
            policy.needsLookup(open[$0].document, isFirstAttempt: isFirstAttempt)
        }
        guard !wanted.isEmpty else { return }
        let lookups = try await sender.reader.read(
            wanted.map { open[$0].document.id }[...], includesBodies: settings.mode != .delete,
            limit: Self.answerLimit)
        for (index, lookup) in zip(wanted, lookups) { open[index].lookup = lookup }
    }

    /// Records the outcomes of documents that need no write.
    ///
    /// - Returns: The remaining documents, with the steps that they need.
    private func plan(
        _ open: [PendingDocument], _ lost: UnansweredWrites, _ results: inout ImportResults
    ) async throws -> [BodySender.Planned] {
        var planned: [BodySender.Planned] = []
        var ambiguous: [PendingDocument] = []
        for document in open {
            switch try await planner.step(document, acceptsExisting: acceptsExisting(document.document, lost)) {
            case .nothing(.unchanged) where lost.contains(document.document.id):
                if let outcome = lost.outcome(of: document.document.id) {
                    results.record(outcome, at: document.index)
                } else {
                    ambiguous.append(document)
                }
            case .nothing(let outcome): results.record(outcome, at: document.index)
            case let step: planned.append((document, step))
            }
        }
        try await recordAmbiguous(ambiguous, lost, &results)
        return planned
    }

    /// Decides whether this import wrote documents that turned out to be equivalent. Their answers were lost, and they
    /// had not been read before.
    private func recordAmbiguous(
        _ documents: [PendingDocument], _ lost: UnansweredWrites, _ results: inout ImportResults
    ) async throws {
        guard !documents.isEmpty else { return }
        let written = try await self.written.documents(among: documents.map(\.document.id))
        for open in documents {
            let id = open.document.id
            let was: ImportOutcome =
                isResumed || open.document.isShared || settings.mode != .insert ? .unchanged : .alreadyExists
            results.record(lost.outcome(of: id, isWritten: written?.contains(id) ?? true) ?? was, at: open.index)
        }
    }

    /// Records the expected outcomes of a dry run.
    private func show(_ planned: [BodySender.Planned], _ results: inout ImportResults) {
        for (open, step) in planned {
            results.record(step.outcome, at: open.index)
            if settings.showsDocuments { results.show(step.body?.bytes, at: open.index) }
        }
    }

    /// Records the gateway's answers.
    ///
    /// - Returns: The documents to retry.
    private func readAnswers(
        _ answers: [BodySender.Answer], _ lost: inout UnansweredWrites, _ results: inout ImportResults
    ) -> [PendingDocument] {
        var again: [PendingDocument] = []
        for (open, outcome, wanted) in answers {
            let isFinal =
                settings.mode == .insert && settings.policies == nil && !acceptsExisting(open.document, lost)
            switch open.nextStep(outcome, wanted: wanted, ifConflict: isFinal ? .alreadyExists : nil) {
            case .ended(let result): results.record(result, at: open.index)
            case .retry(let next):
                // The document may have been written anyway.
                if outcome != .conflict { lost.note(next, wanted: wanted) }
                again.append(next)
            }
        }
        return again
    }

    /// Whether an existing equivalent document is not a conflict.
    private func acceptsExisting(_ document: ImportDocument, _ lost: UnansweredWrites) -> Bool {
        isResumed || document.isShared || lost.contains(document.id)
    }

    private func makeSender() -> BulkSender {
        BulkSender(
            gateway: gateway, progress: progress, pace: pace, pauses: .endedByGracefulShutdown,
            policy: RetryPolicy.forKnownGateway(settings.retries), logger: logger)
    }
}

/// The outcomes of a batch.
struct ImportResults: Sendable {
    private var recorded: [ImportOutcome?]
    /// The documents that would be written, by index of the entry; only in a dry run with a mapping.
    private(set) var documents: [Int: [UInt8]] = [:]

    /// - Parameter count: How many entries the batch has.
    init(count: Int) { recorded = Array(repeating: nil, count: count) }

    /// One outcome for each entry.
    var outcomes: [ImportOutcome] { recorded.map { $0 ?? .rejected(reason: "it was not written") } }

    /// - Parameter index: The index of the entry.
    mutating func record(_ outcome: ImportOutcome, at index: Int) { recorded[index] = outcome }

    mutating func show(_ document: [UInt8]?, at index: Int) { documents[index] = document }
}

/// A document of a batch that has no outcome yet.
struct PendingDocument {
    let index: Int
    var document: ImportDocument
    /// The gateway's document; nil if it was not read.
    var lookup: DocumentLookup?
    /// Writes that failed or met a conflict. Temporary refusals of the gateway do not count: the retry policy of the
    /// run handles them.
    var failures = 0

    /// What to do after the answer to a write.
    enum NextStep {
        case ended(ImportOutcome)
        case retry(PendingDocument)
    }

    /// - Parameters:
    ///   - wanted: The outcome if the write is accepted.
    ///   - conflict: The final outcome of a conflict. Nil: retry after a conflict.
    func nextStep(
        _ outcome: BulkOutcome, wanted: ImportOutcome, ifConflict conflict: ImportOutcome?
    ) -> NextStep {
        switch outcome {
        case .written: return .ended(wanted)
        case .rejected: return .ended(.rejected(reason: outcome.explanation))
        case .undecided: return .retry(self)
        case .conflict, .unmentioned, .failed:
            if outcome == .conflict, let conflict { return .ended(conflict) }
            var open = self
            open.failures += 1
            return open.failures < AttemptLimits.failures ? .retry(open) : .ended(.notAccepted(outcome))
        }
    }
}

/// Decides which documents are read before they are written.
struct LookupPolicy: Sendable {
    /// While most documents already exist, about one in 32 upsert batches is written without reading. This detects when
    /// documents are new again.
    private static let batchesPerTrial = 32

    private let mode: ImportMode
    private let isDryRun: Bool
    /// Whether most recent documents already existed, so that reading before writing is cheaper.
    private(set) var expectsDocuments = false

    /// Whether a policy decides about conflicts.
    private let hasPolicies: Bool

    init(_ mode: ImportMode, isDryRun: Bool, hasPolicies: Bool = false) {
        self.mode = mode
        self.isDryRun = isDryRun
        self.hasPolicies = hasPolicies
    }

    func needsLookup(_ document: ImportDocument, isFirstAttempt: Bool) -> Bool {
        if !isFirstAttempt || isDryRun || expectsDocuments { return true }
        switch mode {
        case .merge, .delete: return true
        // For streamed documents, reading first avoids sending large attachments in vain. If the document was deleted
        // meanwhile, a gateway accepts the write as a new document.
        case .insert where hasPolicies && document.revision != nil: return true
        case .insert, .upsert, .restore: return document.hasBareStubs || document.isStreamed || document.isDeletion
        }
    }

    /// Learns from the first attempt of a batch whether to read first. Documents whose write met a conflict already
    /// existed.
    ///
    /// - Parameters:
    ///   - again: How many of them must be retried.
    ///   - isTrial: Whether to try writing without reading. Reading first produces no conflicts to learn from.
    mutating func noteFirstAttempt(
        of documents: Int, again: Int, isTrial: @autoclosure () -> Bool = Int.random(in: 0..<batchesPerTrial) == 0
    ) {
        guard mode == .upsert else { return }
        expectsDocuments = expectsDocuments ? !isTrial() : again * 2 > documents
    }
}

/// Writes without an answer: each may or may not have succeeded.
struct UnansweredWrites {
    private struct Write {
        /// The outcome if the write succeeded.
        let wanted: ImportOutcome
        /// Whether the gateway's document was read before the write.
        let hasReadBefore: Bool
    }

    private var writes: [DocumentID: Write] = [:]

    mutating func note(_ open: PendingDocument, wanted: ImportOutcome) {
        writes[open.document.id] = Write(wanted: wanted, hasReadBefore: open.lookup != nil)
    }

    func contains(_ id: DocumentID) -> Bool { writes[id] != nil }

    /// The outcome for a document that turns out to be equivalent; nil if another write may be the reason.
    func outcome(of id: DocumentID) -> ImportOutcome? {
        guard let write = writes[id], write.hasReadBefore else { return nil }
        return write.wanted
    }

    /// The outcome once it is known whether the document was written since the start of the run.
    func outcome(of id: DocumentID, isWritten: Bool) -> ImportOutcome? { isWritten ? writes[id]?.wanted : nil }
}

/// Finds documents that were written since the start of the run, by this run or by other clients.
private struct RecentWrites: Sendable {
    let gateway: Gateway
    let contact: GatewayContact
    /// The database's newest sequence when the run began; nil if not known.
    let newestSequenceAtStart: SequenceID?

    /// The documents with changes in the feed after the sequence at the start. Nil if that sequence is not known.
    func documents(among ids: [DocumentID]) async throws -> Set<DocumentID>? {
        guard let newestSequenceAtStart else { return nil }
        let request = ChangesRequest(since: newestSequenceAtStart, includesDocuments: false, filter: .documents(ids))
        return try await contact.ask {
            var answer = try await gateway.changes(request)
            var written: Set<DocumentID> = []
            while let batch = try await answer.next() {
                for change in batch where change.kind != .principal { written.insert(change.id) }
            }
            return written
        }
    }
}

extension ImportOutcome {
    /// The outcome of an insert if a document with this id exists.
    static var alreadyExists: ImportOutcome {
        .rejected(reason: "a document with this _id exists; --mode upsert replaces it")
    }

    /// The outcome of a restore if the gateway keeps one leaf per document and has another one.
    static var otherLeaf: ImportOutcome {
        .rejected(reason: "the gateway keeps only one leaf revision of a document, and already has another one")
    }

    fileprivate static func notAccepted(_ outcome: BulkOutcome) -> ImportOutcome {
        .rejected(reason: "not accepted in \(AttemptLimits.failures) attempts; last result: \(outcome.explanation)")
    }
}
