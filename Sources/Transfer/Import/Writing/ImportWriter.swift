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
    /// Whether most recent documents existed already, so that reading before writing is cheaper.
    private let looksFirst = Locked(false)

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
        written = WrittenInRun(gateway: gateway, contact: contact, newestAtStart: newestAtStart)
    }

    /// - Returns: The outcome of each entry; in a dry run, the expected one.
    /// - Throws: `RunError`, `RunIsStopping`, `CancellationError`. Some documents may have been written.
    func write(_ batch: ImportBatch) async throws -> ImportResults {
        var documents: [Int: [UInt8]] = [:]
        var outcomes: [ImportOutcome?] = []
        var open: [OpenDocument] = []
        for (index, entry) in batch.entries.enumerated() {
            switch entry {
            case .refused(_, _, let reason): outcomes.append(.rejected(reason: reason))
            case .document(let document):
                outcomes.append(nil)
                open.append(OpenDocument(index: index, document: document))
            }
        }
        if settings.mode == .restore {
            var sender = makeSender()
            try await restorer.restore(open, by: &sender, &outcomes, &documents)
        } else {
            try await write(open, &outcomes, &documents)
        }
        return ImportResults(
            outcomes: outcomes.map { $0 ?? .rejected(reason: "it was not written") }, documents: documents)
    }

    /// - Parameter shown: Gets the documents that would be written.
    private func write(
        _ documents: [OpenDocument], _ outcomes: inout [ImportOutcome?], _ shown: inout [Int: [UInt8]]
    ) async throws {
        var lost = LostAnswers()
        var attempts = 0
        var open = documents
        var sender = makeSender()
        while !open.isEmpty {
            try Task.checkCancellation()
            attempts += 1
            try await lookUp(&open, isFirst: attempts == 1, &sender)
            var planned: [(open: OpenDocument, need: ImportNeed)] = []
            var ambiguous: [OpenDocument] = []
            for document in open {
                switch try await planner.need(document, isTolerant: isTolerant(document.document, lost)) {
                case .nothing(.unchanged) where lost.contains(document.document.id):
                    outcomes[document.index] = lost.outcome(of: document.document.id)
                    if outcomes[document.index] == nil { ambiguous.append(document) }
                case .nothing(let outcome): outcomes[document.index] = outcome
                case let need: planned.append((document, need))
                }
            }
            try await settle(ambiguous, lost, &outcomes)
            guard settings.preview == nil else {
                for (open, need) in planned {
                    outcomes[open.index] = need.outcome
                    if settings.showsDocuments { shown[open.index] = need.body?.bytes }
                }
                return
            }
            let answers = try await bodies.send(planned, &lost, &sender)
            open = book(answers, &lost, &outcomes)
            if attempts == 1, settings.mode == .upsert { learn(documents, open) }
        }
    }

    /// Whether an existing equivalent document is not a conflict.
    private func isTolerant(_ document: ImportDocument, _ lost: LostAnswers) -> Bool {
        isResumed || document.isShared || lost.contains(document.id)
    }

    /// Reads existing documents where they matter, and those whose write met a conflict.
    private func lookUp(_ open: inout [OpenDocument], isFirst: Bool, _ sender: inout BulkSender) async throws {
        let needsAll = !isFirst || settings.preview != nil || [.merge, .delete].contains(settings.mode)
        let isExpected = settings.mode == .upsert && looksFirst.withLock { $0 }
        // For streamed documents, it avoids sending large attachments in vain.
        let wanted = open.indices.filter { index in
            let document = open[index].document
            return needsAll || isExpected || document.hasBareStubs || document.isStreamed || document.isDeletion
        }
        guard !wanted.isEmpty else { return }
        let lookups = try await sender.reader.read(
            wanted.map { open[$0].document.id }[...], includesBodies: settings.mode != .delete,
            limit: Self.answerLimit)
        for (index, lookup) in zip(wanted, lookups) { open[index].lookup = lookup }
    }

    /// Records the gateway's answers.
    ///
    /// - Returns: The documents to try again.
    private func book(
        _ answers: [(open: OpenDocument, outcome: BulkOutcome, wanted: ImportOutcome)],
        _ lost: inout LostAnswers, _ outcomes: inout [ImportOutcome?]
    ) -> [OpenDocument] {
        var again: [OpenDocument] = []
        for (open, outcome, wanted) in answers {
            switch outcome {
            case .written: outcomes[open.index] = wanted
            case .conflict where settings.mode == .insert && !isTolerant(open.document, lost):
                outcomes[open.index] = .isThere
            case .rejected: outcomes[open.index] = .rejected(reason: outcome.explanation)
            case .conflict, .undecided, .unmentioned, .failed:
                guard let next = open.after(outcome) else {
                    outcomes[open.index] = .notAccepted(outcome)
                    continue
                }
                // It may have been written nevertheless.
                if outcome != .conflict { lost.note(next, wanted: wanted) }
                again.append(next)
            }
        }
        return again
    }

    /// Decides for documents that turned out to be equivalent whether this import wrote them: their answers were lost,
    /// and they had not been read before.
    private func settle(_ documents: [OpenDocument], _ lost: LostAnswers, _ outcomes: inout [ImportOutcome?])
        async throws
    {
        guard !documents.isEmpty else { return }
        let written = try await self.written.documents(among: documents.map(\.document.id))
        for open in documents {
            let id = open.document.id
            let was: ImportOutcome =
                isResumed || open.document.isShared || settings.mode != .insert ? .unchanged : .isThere
            outcomes[open.index] = lost.outcome(of: id, isWritten: written?.contains(id) ?? true) ?? was
        }
    }

    /// Learns whether to read first: documents whose write met a conflict existed already.
    private func learn(_ documents: [OpenDocument], _ again: [OpenDocument]) {
        let wasLookedUp = looksFirst.withLock { $0 }
        // When it reads first there are no conflicts to learn from, so it sometimes tries without.
        let isMostlyThere = wasLookedUp ? Int.random(in: 0..<32) != 0 : again.count * 2 > documents.count
        looksFirst.withLock { $0 = isMostlyThere }
    }

    private func makeSender() -> BulkSender {
        BulkSender(
            gateway: gateway, progress: progress, pace: pace, pauses: .endedByGracefulShutdown,
            policy: RetryPolicy(settings.retries, hasSucceeded: true), logger: logger)
    }
}
