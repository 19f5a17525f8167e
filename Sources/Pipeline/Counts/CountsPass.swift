internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Counts all documents for rules that are new, that have changed, or whose counts were lost; beside the feed, which
/// brings what changes meanwhile.
struct CountsPass {
    let gateway: Gateway
    let ruleSet: RuleSet
    let counts: Counts
    let delivery: Delivery
    let retries: RetryPolicy.Settings
    let logger: Logger

    /// Returns once all documents are counted. Killed before, the next run begins again.
    ///
    /// - Parameter info: Says where the feed ends, if it must be read instead of a list of the documents.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`.
    func run(_ info: DatabaseInfo) async throws {
        guard !counts.isComplete else { return }
        let names = counts.incomplete.compactMap(counts.name).joined(separator: ", ")
        logger.notice("counting all documents for new and changed rules", metadata: [LogKey.rules: "\(names)"])
        let intake = delivery.makeIntake(decider: ruleSet.onlyAggregates().makeDecider())
        if try await !readPages(intake) {
            logger.notice(DocumentListReader.readsFeedInstead)
            try await readFeed(info, intake)
        }
        try await counts.untilPassed()
        try await counts.complete()
        logger.notice("counted all documents for new and changed rules", metadata: [LogKey.rules: "\(names)"])
    }

    /// - Returns: False if this user may not list the documents.
    private func readPages(_ intake: Intake) async throws -> Bool {
        let progress = delivery.progress
        var list = DocumentListReader(
            DocumentPages(of: gateway),
            Retrier(RetryPolicy.ofKnownGateway(retries), logger: logger) { await progress.noteRetry() })
        while let batch = try await list.next() {
            try await intake.count(
                batch.lazy.compactMap { row in
                    row.kind == .document ? row.document.map { (row.id, $0) } : nil
                }, counts)
        }
        return !list.isForbidden
    }

    private func readFeed(_ info: DatabaseInfo, _ intake: Intake) async throws {
        let progress = delivery.progress
        let reader = FeedReader(
            gateway: gateway, end: .caughtUp(with: info.newestSequence), retries: retries, logger: logger,
            noteRetry: { await progress.noteRetry() })
        try await reader.read(from: .start) { rows, _ in
            try await intake.count(
                (rows.map(Array.init) ?? []).lazy.compactMap { row in
                    row.kind == .document ? row.document.map { (row.id, $0) } : nil
                }, counts)
        }
    }
}

extension Intake {
    /// Takes documents of a pass that counts them.
    ///
    /// Each is read again before it is counted: the feed may have brought a newer content meanwhile, and no older one
    /// may come after that.
    func count(_ documents: some Sequence<(DocumentID, JSONValue)>, _ counts: Counts) async throws {
        var candidates: [Candidate] = []
        var leftovers: [(rule: Int, id: DocumentID, members: Int)] = []
        for (id, document) in documents {
            if !id.text.utf8.contains(0) {
                leftovers += counts.leftovers(document).map { ($0.rule, id, $0.members) }
            }
            guard filter.decider.mayFire(on: document, isDeleted: false) else { continue }
            var candidate = Candidate(id: id, revision: nil, document: [], expectedBytes: document.bytes.count)
            candidate.countsOnly = true
            candidate.passCandidates = 1
            candidates.append(candidate)
        }
        try await ledger.noteLeftovers(leftovers)
        counts.noteOpenOfPass(candidates.count)
        try await submit(candidates, deadLettered.newest)
    }

    /// Takes the documents that must be counted again.
    ///
    /// - Returns: Whether there are any.
    func takeRecounts() async throws -> Bool {
        guard let counts else { return false }
        let recounts = try await counts.nextRecounts()
        let candidates = recounts.map { number, id in
            var candidate = Candidate(id: id, revision: nil, document: [])
            candidate.countsOnly = true
            candidate.recount = number
            return candidate
        }
        try await submit(candidates, deadLettered.newest)
        return !candidates.isEmpty
    }
}
