internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules
internal import ServiceLifecycle

/// Keeps the counts of rules with `aggregate`: recounts documents, counts all documents for new and changed rules, and
/// writes the totals.
struct CountsTask: BackgroundTask {
    let counts: Counts
    let delivery: Delivery
    let ruleSet: RuleSet
    /// All documents.
    let list: ListSource

    /// By then, all members know which rules are counted.
    private static let propagationTime = Counts.countingCheckInterval * 3
    /// The shortest time between two recounts in a log. A member with other rules requests a recount of each document
    /// that it gets; without this pause the same documents would be enqueued over and over.
    private static let recountInterval: Duration = .seconds(5)

    /// When documents were last enqueued in a log for a recount.
    private var enqueuedAt: ContinuousClock.Instant?
    /// The number of the last recount that was enqueued without a log.
    private var lastRecount = 0

    init(_ counts: Counts, _ delivery: Delivery, _ ruleSet: RuleSet, _ list: ListSource) {
        (self.counts, self.delivery, self.ruleSet, self.list) = (counts, delivery, ruleSet, list)
    }

    var woken: Signal { counts.changed }

    private var ledger: Ledger { delivery.ledger }

    mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
        -> BackgroundTaskResult
    {
        var result = BackgroundTaskResult()
        if phase != .stopping {
            let incomplete = try await counts.uncountedRules()
            guard !counts.isIdle else { return BackgroundTaskResult(rest: Self.recountInterval) }
            result.hasEnqueued = try await enqueueRecounts(enqueuer)
            if !incomplete.isEmpty {
                // Other members may not know the rules yet.
                if enqueuer.isDurable { try await Task.sleep(for: Self.propagationTime) }
                try await cancelWhenGracefulShutdown { [self] in
                    var task = self
                    try await task.countAll(incomplete, enqueuer)
                }
                result.hasEnqueued = true
            }
        }
        guard counts.isComplete else { return result }
        var writer = delivery.makeTotalsWriter(counts, isConcurrentWithFeed: phase == .readingFeed)
        let totals = try await writer.writeAll()
        if totals.hasQueued { result.hasEnqueued = true }
        result.next = totals.due
        result.rest = await delivery.totalsInterval
        return result
    }

    /// Enqueues the documents that must be counted again.
    ///
    /// - Returns: Whether there were any.
    private mutating func enqueueRecounts(_ enqueuer: any CandidateEnqueuer) async throws -> Bool {
        let newest = try await ledger.newestRecount()
        guard newest > lastRecount else { return false }
        if enqueuer.isDurable, let enqueuedAt, enqueuedAt.duration(to: .now) < Self.recountInterval { return true }
        enqueuedAt = .now
        var last = lastRecount
        // Recounts that are added meanwhile are left to the next call.
        while last < newest, try await enqueuer.room() {
            let next = try await ledger.recounts(after: last, limit: Counts.recountLimit)
            guard let end = next.last else { break }
            _ = try await enqueuer.enqueue(
                next.map { number, id in Candidate(unread: id, reason: Reason(countsOnly: true, recount: number)) })
            // A log keeps them from here on. Without a log, counting a document removes its recount.
            if enqueuer.isDurable { try await ledger.dropRecounts(next) }
            last = end.number
        }
        if !enqueuer.isDurable { lastRecount = last }
        return true
    }

    // MARK: - New and changed rules

    /// Enqueues all documents that may contribute, and waits until they are counted. If the process is killed before
    /// that, the next run starts over. Later changes arrive through the feed.
    private mutating func countAll(_ rules: [Int], _ enqueuer: any CandidateEnqueuer) async throws {
        // A rule was added or removed meanwhile: the next pass counts the new set.
        guard counts.incomplete == rules else { return }
        let names: Logger.Metadata = [LogKey.rules: "\(counts.incompleteNames)"]
        delivery.logger.log(
            level: delivery.logger.stepLevel, "counting all documents for new and changed rules", metadata: names)
        try await counts.restart(rules)
        try await enqueueAll(enqueuer)
        // Members with other rules request recounts of the documents that they could not count, and only then report
        // them as done.
        var isCounted = false
        while !isCounted {
            // Stop counting rules that no member has any more.
            _ = try await counts.uncountedRules()
            let isSettled = try await enqueuer.waitUntilSettled()
            isCounted = try await !enqueueRecounts(enqueuer) && isSettled
        }
        // If another rule was added meanwhile, the next pass starts over.
        guard try await counts.uncountedRules() == rules else { return }
        try await counts.complete()
        delivery.logger.log(
            level: delivery.logger.stepLevel, "counted all documents for new and changed rules", metadata: names)
    }

    private func enqueueAll(_ enqueuer: any CandidateEnqueuer) async throws {
        let intake = delivery.makeIntake(decider: ruleSet.onlyAggregates().makeDecider())
        let take = { [counts] (documents: [CountedDocument]) in
            let candidates = try await intake.documentsToCount(documents, counts)
            guard !candidates.isEmpty else { return }
            while try await !enqueuer.room() {}
            _ = try await enqueuer.enqueue(candidates)
        }
        try await list.read(delivery) { batch in
            try await take(
                batch.compactMap { row in row.kind == .document ? row.document.map { (row.id, $0) } : nil })
        } takeRows: { rows, _ in
            try await take(
                (rows.map(Array.init) ?? []).compactMap { row in
                    row.kind == .document ? row.document.map { (row.id, $0) } : nil
                })
        }
    }
}

typealias CountedDocument = (id: DocumentID, document: JSONValue)

extension Intake {
    /// The documents of a counting pass that may contribute. Records those that hold leftover totals.
    ///
    /// Each document is read again before it is counted: the feed may have delivered newer content meanwhile, which the
    /// older content must not replace.
    func documentsToCount(
        _ documents: [CountedDocument], _ counts: Counts
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
                    reason: Reason(countsOnly: true, isFromCount: true)))
        }
        try await ledger.noteLeftovers(leftovers)
        return candidates
    }
}
