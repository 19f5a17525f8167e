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
        let names = begin()
        let intake = makeIntake()
        try await read(info) { documents in
            let candidates = try await intake.toBeCounted(documents, counts)
            counts.noteOpenOfPass(candidates.count)
            try await intake.submit(candidates, intake.deadLettered.newest)
        }
        try await counts.untilPassed()
        try await complete(names)
    }

    /// - Returns: The names of the rules.
    func begin() -> String {
        let names = counts.incompleteNames
        logger.notice("counting all documents for new and changed rules", metadata: [LogKey.rules: "\(names)"])
        return names
    }

    func complete(_ names: String) async throws(StateError) {
        try await counts.complete()
        logger.notice("counted all documents for new and changed rules", metadata: [LogKey.rules: "\(names)"])
    }

    /// Finds the documents that may add anything.
    func makeIntake() -> Intake { delivery.makeIntake(decider: ruleSet.onlyAggregates().makeDecider()) }

    typealias Document = (id: DocumentID, document: JSONValue)

    /// Calls `take` with all documents, in portions. What it throws ends the reading.
    func read(_ info: DatabaseInfo, _ take: @escaping ([Document]) async throws -> Void) async throws {
        if try await !readPages(take) {
            logger.notice(DocumentListReader.readsFeedInstead)
            try await readFeed(info, take)
        }
    }

    /// - Returns: False if this user may not list the documents.
    private func readPages(_ take: ([Document]) async throws -> Void) async throws -> Bool {
        let progress = delivery.progress
        var list = DocumentListReader(
            DocumentPages(of: gateway),
            Retrier(RetryPolicy.ofKnownGateway(retries), logger: logger) { await progress.noteRetry() })
        while let batch = try await list.next() {
            try await take(
                batch.compactMap { row in row.kind == .document ? row.document.map { (row.id, $0) } : nil })
        }
        return !list.isForbidden
    }

    private func readFeed(_ info: DatabaseInfo, _ take: @escaping ([Document]) async throws -> Void) async throws {
        let progress = delivery.progress
        let reader = FeedReader(
            gateway: gateway, end: .caughtUp(with: info.newestSequence), retries: retries, logger: logger,
            noteRetry: { await progress.noteRetry() })
        try await reader.read(from: .start) { rows, _ in
            try await take(
                (rows.map(Array.init) ?? []).compactMap { row in
                    row.kind == .document ? row.document.map { (row.id, $0) } : nil
                })
        }
    }
}

extension Intake {
    /// Of documents of a pass that counts them, those that may add anything. Notes those that hold totals.
    ///
    /// Each is read again before it is counted: the feed may have brought a newer content meanwhile, and no older one
    /// may come after that.
    func toBeCounted(
        _ documents: [CountsPass.Document], _ counts: Counts
    ) async throws(StateError) -> [Candidate] {
        var candidates: [Candidate] = []
        var leftovers: [(rule: Int, id: DocumentID, members: Int)] = []
        for (id, document) in documents {
            if !id.text.utf8.contains(0) {
                leftovers += counts.leftovers(document).map { ($0.rule, id, $0.members) }
            }
            guard filter.decider.mayFire(on: document, isDeleted: false) else { continue }
            candidates.append(
                Candidate(
                    unread: id, expectedBytes: document.bytes.count,
                    reason: Reason(countsOnly: true, passDocuments: 1)))
        }
        try await ledger.noteLeftovers(leftovers)
        return candidates
    }

    /// Takes the documents that must be counted again.
    ///
    /// - Returns: Whether there are any.
    func takeRecounts() async throws -> Bool {
        guard let counts else { return false }
        let recounts = try await counts.nextRecounts()
        let candidates = recounts.map { number, id in
            Candidate(unread: id, reason: Reason(countsOnly: true, recount: number))
        }
        try await submit(candidates, deadLettered.newest)
        return !candidates.isEmpty
    }
}
