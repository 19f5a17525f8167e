internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON

/// Writes batches: reads existing documents where they matter, sends the writes, and repeats those that the gateway did
/// not decide.
///
/// Several batches may be written at once, if no two share a document. Repeating a batch, as after a crash, changes
/// nothing that was written before.
struct ImportWriter: Sendable {
    /// The most bytes of existing documents read in one request.
    private static let answerLimit = 4 << 20

    private let gateway: Gateway
    private let settings: ImportSettings
    /// Whether an earlier run may have written what exists.
    private let isResumed: Bool
    let progress: RunProgress
    private let pace: WritePace
    private let logger: Logger
    private let planner: ImportPlanner
    private let bodies: BodySender
    private let restorer: RevisionRestorer
    private let written: WrittenInRun
    private let lookups: Locked<LookupPolicy>

    /// - Parameter newestAtStart: The database's newest sequence when the run began; nil if not known.
    init(
        gateway: Gateway, settings: ImportSettings, isResumed: Bool, newestAtStart: SequenceID?,
        progress: RunProgress, pace: WritePace, reading: AttachmentReading, contact: GatewayContact, logger: Logger
    ) {
        self.gateway = gateway
        self.settings = settings
        self.isResumed = isResumed
        self.progress = progress
        self.pace = pace
        self.logger = logger
        let rendering = AttachmentRendering(reading: reading, gateway: gateway, mode: settings.mode)
        planner = ImportPlanner(
            gateway: gateway, settings: settings, rendering: rendering, contact: contact, logger: logger)
        bodies = BodySender(gateway: gateway, progress: progress)
        restorer = RevisionRestorer(gateway: gateway, settings: settings, rendering: rendering, contact: contact)
        lookups = Locked(LookupPolicy(settings.mode, isDryRun: settings.preview != nil))
        written = WrittenInRun(gateway: gateway, contact: contact, newestAtStart: newestAtStart)
    }

    /// - Returns: The outcome of each entry; in a dry run, the expected one.
    /// - Throws: `RunError`, `RunIsStopping`, `CancellationError`. Some documents may have been written.
    func write(_ batch: ImportBatch) async throws -> ImportResults {
        var results = ImportResults(count: batch.entries.count)
        var open: [OpenDocument] = []
        for (index, entry) in batch.entries.enumerated() {
            switch entry {
            case .refused(_, _, let reason): results.record(.rejected(reason: reason), at: index)
            case .document(let document): open.append(OpenDocument(index: index, document: document))
            }
        }
        var sender = makeSender()
        if settings.mode == .restore {
            try await restorer.restore(open, by: &sender, &results)
        } else {
            try await write(open, by: &sender, &results)
        }
        return results
    }

    private func write(
        _ documents: [OpenDocument], by sender: inout BulkSender, _ results: inout ImportResults
    ) async throws {
        var lost = LostAnswers()
        var open = documents
        var isFirst = true
        while !open.isEmpty {
            try Task.checkCancellation()
            try await lookUp(&open, isFirstAttempt: isFirst, &sender)
            let planned = try await plan(open, lost, &results)
            guard settings.preview == nil else { return show(planned, &results) }
            open = readAnswers(try await bodies.send(planned, &lost, &sender), &lost, &results)
            if isFirst {
                lookups.withLock { $0.noteFirstAttempt(of: documents.count, again: open.count) }
            }
            isFirst = false
        }
    }

    /// Reads existing documents where they matter, and those whose write met a conflict.
    private func lookUp(
        _ open: inout [OpenDocument], isFirstAttempt: Bool, _ sender: inout BulkSender
    ) async throws {
        let policy = lookups.withLock { $0 }
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
    /// - Returns: The others, with what they need.
    private func plan(
        _ open: [OpenDocument], _ lost: LostAnswers, _ results: inout ImportResults
    ) async throws -> [BodySender.Planned] {
        var planned: [BodySender.Planned] = []
        var ambiguous: [OpenDocument] = []
        for document in open {
            switch try await planner.need(document, acceptsExisting: acceptsExisting(document.document, lost)) {
            case .nothing(.unchanged) where lost.contains(document.document.id):
                if let outcome = lost.outcome(of: document.document.id) {
                    results.record(outcome, at: document.index)
                } else {
                    ambiguous.append(document)
                }
            case .nothing(let outcome): results.record(outcome, at: document.index)
            case let need: planned.append((document, need))
            }
        }
        try await recordAmbiguous(ambiguous, lost, &results)
        return planned
    }

    /// Decides for documents that turned out to be equivalent whether this import wrote them: their answers were lost,
    /// and they had not been read before.
    private func recordAmbiguous(
        _ documents: [OpenDocument], _ lost: LostAnswers, _ results: inout ImportResults
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

    /// Records what a dry run expects.
    private func show(_ planned: [BodySender.Planned], _ results: inout ImportResults) {
        for (open, need) in planned {
            results.record(need.outcome, at: open.index)
            if settings.showsDocuments { results.show(need.body?.bytes, at: open.index) }
        }
    }

    /// Records the gateway's answers.
    ///
    /// - Returns: The documents to try again.
    private func readAnswers(
        _ answers: [BodySender.Answer], _ lost: inout LostAnswers, _ results: inout ImportResults
    ) -> [OpenDocument] {
        var again: [OpenDocument] = []
        for (open, outcome, wanted) in answers {
            let isFinal = settings.mode == .insert && !acceptsExisting(open.document, lost)
            switch open.afterAnswer(outcome, wanted: wanted, ifConflict: isFinal ? .alreadyExists : nil) {
            case .ended(let result): results.record(result, at: open.index)
            case .tryAgain(let next):
                // It may have been written nevertheless.
                if outcome != .conflict { lost.note(next, wanted: wanted) }
                again.append(next)
            }
        }
        return again
    }

    /// Whether an existing equivalent document is not a conflict.
    private func acceptsExisting(_ document: ImportDocument, _ lost: LostAnswers) -> Bool {
        isResumed || document.isShared || lost.contains(document.id)
    }

    private func makeSender() -> BulkSender {
        BulkSender(
            gateway: gateway, progress: progress, pace: pace, pauses: .endedByGracefulShutdown,
            policy: RetryPolicy(settings.retries, hasSucceeded: true), logger: logger)
    }
}

/// Decides which documents are read before they are written.
struct LookupPolicy: Sendable {
    /// While most documents exist already, about one in 32 batches of upserts is written without reading, to learn
    /// whether documents are new again.
    private static let batchesPerTrial = 32

    private let mode: ImportMode
    private let isDryRun: Bool
    /// Whether most recent documents existed already, so that reading before writing is cheaper.
    private(set) var expectsDocuments = false

    init(_ mode: ImportMode, isDryRun: Bool) {
        self.mode = mode
        self.isDryRun = isDryRun
    }

    func needsLookup(_ document: ImportDocument, isFirstAttempt: Bool) -> Bool {
        if !isFirstAttempt || isDryRun || expectsDocuments { return true }
        switch mode {
        case .merge, .delete: return true
        // For streamed documents, it avoids sending large attachments in vain.
        case .insert, .upsert, .restore: return document.hasBareStubs || document.isStreamed || document.isDeletion
        }
    }

    /// Learns from the first attempt of a batch whether to read first: documents whose write met a conflict existed
    /// already.
    ///
    /// - Parameters:
    ///   - again: How many of them must be tried again.
    ///   - isTrial: When it reads first there are no conflicts to learn from, so it sometimes tries without.
    mutating func noteFirstAttempt(
        of documents: Int, again: Int, isTrial: @autoclosure () -> Bool = Int.random(in: 0..<batchesPerTrial) == 0
    ) {
        guard mode == .upsert else { return }
        expectsDocuments = expectsDocuments ? !isTrial() : again * 2 > documents
    }
}
