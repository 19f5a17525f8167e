internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON

/// Writes batches: looks at what is there where that decides, sends what is to be written, and repeats what the gateway
/// could not decide about.
///
/// Any number of batches at once, none with a document of another. Doing it again, as after a crash, changes nothing that
/// is as it should be already.
struct ImportWriter: Sendable {
    /// Writes of one document that may meet another revision, or fail, one after the other. Those that the gateway refuses
    /// for now do not count: of them the run gives up as a whole.
    static let attemptLimit = 10
    /// Bytes of what is there, of several documents at once.
    private static let answerLimit = 4 << 20

    let gateway: Gateway
    let settings: ImportSettings
    /// An earlier run may have written what is there.
    let isResumed: Bool
    /// The database's newest sequence when the run began; nil if it could not be known.
    let newestAtStart: SequenceID?
    let progress: RunProgress
    let pace: WritePace
    let reading: AttachmentReading
    let contact: GatewayContact
    let logger: Logger
    /// Attachments that were read to be compared.
    let attachmentsRead = Arrivals()
    /// Whether most of the last documents were there already: then it is cheaper to look first.
    let looksFirst = Locked(false)

    /// A document of a batch that is not done with.
    struct Open {
        let index: Int
        let document: ImportDocument
        /// What the gateway has; nil as long as nobody asked.
        var lookup: DocumentLookup?
        /// Writes that met another revision, or failed.
        var failures = 0
    }

    /// What is to be done about a document.
    enum Need {
        case nothing(ImportOutcome)
        /// A body to be sent, and what has become of the document if that is accepted.
        case write(ImportBody, ImportOutcome)
        /// The same, with attachments that are sent while they are read.
        case stream(ImportBody, [StreamedAttachment], ImportOutcome)
    }

    /// An attachment whose bytes were found to be right.
    struct StreamedAttachment: Sendable {
        let name: String
        let contentType: String
        let digest: AttachmentDigest
        let byteCount: Int
        /// Each attempt to send it needs another one.
        let source: @Sendable () -> ByteSource?
    }

    /// - Returns: What became of each entry, or would become of it.
    /// - Throws: `RunFailure`, `RunIsStopping`, `CancellationError`: some may have been written then.
    func write(_ batch: ImportBatch) async throws -> ImportResults {
        var documents: [Int: [UInt8]] = [:]
        var outcomes: [ImportOutcome?] = []
        var open: [Open] = []
        for (index, entry) in batch.entries.enumerated() {
            switch entry {
            case .refused(_, _, let reason): outcomes.append(.rejected(reason: reason))
            case .document(let document):
                outcomes.append(nil)
                open.append(Open(index: index, document: document))
            }
        }
        if settings.mode == .restore {
            try await restore(open, &outcomes, &documents)
        } else {
            try await write(open, &outcomes, &documents)
        }
        return ImportResults(
            outcomes: outcomes.map { $0 ?? .rejected(reason: "nothing became of it") }, documents: documents)
    }

    /// - Parameter shown: Gets the documents that would be written.
    private func write(
        _ documents: [Open], _ outcomes: inout [ImportOutcome?], _ shown: inout [Int: [UInt8]]
    ) async throws {
        var lost = LostAnswers()
        var attempts = 0
        var open = documents
        var sender = makeSender()
        while !open.isEmpty {
            try Task.checkCancellation()
            attempts += 1
            try await lookUp(&open, isFirst: attempts == 1, &sender)
            var planned: [(open: Open, need: Need)] = []
            var ambiguous: [Open] = []
            for document in open {
                switch try await need(document, isTolerant: isTolerant(document.document, lost)) {
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
                    if showsDocuments { shown[open.index] = need.body?.bytes }
                }
                return
            }
            let answers = try await send(planned, &lost, &sender)
            open = book(answers, &lost, &outcomes)
            if attempts == 1, settings.mode == .upsert { learn(documents, open) }
        }
    }

    /// Whether a document that is there as it should be is no conflict.
    private func isTolerant(_ document: ImportDocument, _ lost: LostAnswers) -> Bool {
        isResumed || document.isShared || lost.contains(document.id)
    }

    /// Reads the documents where what is there decides, and those that met another revision.
    private func lookUp(_ open: inout [Open], isFirst: Bool, _ sender: inout BulkSender) async throws {
        let needsAll = !isFirst || settings.preview != nil || [.merge, .delete].contains(settings.mode)
        let isExpected = settings.mode == .upsert && looksFirst.withLock { $0 }
        // Nor are large attachments sent for nothing.
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

    /// Takes in what the gateway said.
    ///
    /// - Returns: Those that are to be looked at again.
    private func book(
        _ answers: [(open: Open, outcome: BulkOutcome, wanted: ImportOutcome)],
        _ lost: inout LostAnswers, _ outcomes: inout [ImportOutcome?]
    ) -> [Open] {
        var again: [Open] = []
        for (open, outcome, wanted) in answers {
            switch outcome {
            case .written: outcomes[open.index] = wanted
            case .conflict where settings.mode == .insert && !isTolerant(open.document, lost):
                outcomes[open.index] = Self.isThere
            case .rejected: outcomes[open.index] = .rejected(reason: outcome.explanation)
            case .conflict, .undecided, .unmentioned, .failed:
                guard let next = open.after(outcome) else {
                    outcomes[open.index] = Self.notAccepted(outcome)
                    continue
                }
                // It may have been written all the same.
                if outcome != .conflict { lost.note(next, wanted: wanted) }
                again.append(next)
            }
        }
        return again
    }

    /// Whether a dry run shows what would be written: a mapping makes other documents than those of the input.
    var showsDocuments: Bool { settings.preview != nil && settings.mapping != nil }

    static var isThere: ImportOutcome {
        .rejected(reason: "there is a document with this _id already; --mode upsert replaces it")
    }

    static func notAccepted(_ outcome: BulkOutcome) -> ImportOutcome {
        .rejected(reason: "not accepted \(attemptLimit) times: \(outcome.explanation)")
    }

    /// Documents that met another revision were there already.
    private func learn(_ documents: [Open], _ again: [Open]) {
        let wasLookedUp = looksFirst.withLock { $0 }
        // Once it looks first nothing meets another revision any more; now and then it is tried without.
        let isMostlyThere = wasLookedUp ? Int.random(in: 0..<32) != 0 : again.count * 2 > documents.count
        looksFirst.withLock { $0 = isMostlyThere }
    }

    func makeSender() -> BulkSender {
        BulkSender(
            gateway: gateway, progress: progress, pace: pace, pauses: .endedByGracefulShutdown,
            policy: RetryPolicy(settings.retries, hasSucceeded: true), logger: logger)
    }
}

extension ImportWriter.Open {
    /// The document after a write that was not accepted; nil if it is not to be written again.
    func after(_ outcome: BulkOutcome) -> Self? {
        if case .undecided = outcome { return self }
        var open = self
        open.failures += 1
        return open.failures < ImportWriter.attemptLimit ? open : nil
    }
}

extension ImportWriter.Need {
    var outcome: ImportOutcome {
        switch self {
        case .nothing(let outcome), .write(_, let outcome), .stream(_, _, let outcome): outcome
        }
    }

    var body: ImportBody? {
        switch self {
        case .nothing: nil
        case .write(let body, _), .stream(let body, _, _): body
        }
    }
}
