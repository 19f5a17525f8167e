internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules
internal import ServiceLifecycle

/// Keeps the counts of rules with `aggregate`: has documents counted that must be counted again, counts all documents for
/// new and changed rules, and writes the totals.
struct CountsDuty: Duty {
    let counts: Counts
    let delivery: Delivery
    let ruleSet: RuleSet
    /// All documents.
    let list: ListSource

    /// When all members know which rules are counted.
    private static let timeToLearn = Counts.othersInterval * 3
    /// A member with other rules asks again for each document: so those of a short time ago are not brought at once.
    private static let recountInterval: Duration = .seconds(5)

    /// When documents to be counted again were last brought to a log.
    private var broughtAt: ContinuousClock.Instant?
    /// The number of the last one that was brought to the queue.
    private var lastRecount = 0

    init(_ counts: Counts, _ delivery: Delivery, _ ruleSet: RuleSet, _ list: ListSource) {
        (self.counts, self.delivery, self.ruleSet, self.list) = (counts, delivery, ruleSet, list)
    }

    var woken: Signal { counts.changed }

    private var ledger: Ledger { delivery.ledger }

    mutating func look(_ occasion: DutyOccasion, _ bringer: any Bringer) async throws -> DutyLook {
        var look = DutyLook()
        if occasion != .stopping {
            let incomplete = try await counts.look()
            guard !counts.isIdle else { return DutyLook(rest: Self.recountInterval) }
            look.hasBrought = try await bringRecounts(bringer)
            if !incomplete.isEmpty {
                // Others may have to learn of the rules.
                if bringer.isDurable { try await Task.sleep(for: Self.timeToLearn) }
                try await cancelWhenGracefulShutdown { [self] in
                    var duty = self
                    try await duty.countAll(incomplete, bringer)
                }
                look.hasBrought = true
            }
        }
        guard counts.isComplete else { return look }
        var writer = delivery.makeTotalsWriter(counts, isBesideFeed: occasion == .besideFeed)
        let totals = try await writer.writeAll()
        if totals.hasQueued { look.hasBrought = true }
        look.next = totals.due
        look.rest = await delivery.totalsInterval
        return look
    }

    /// Brings the documents that must be counted again.
    ///
    /// - Returns: Whether there are any.
    private mutating func bringRecounts(_ bringer: any Bringer) async throws -> Bool {
        let newest = try await ledger.newestRecount()
        guard newest > lastRecount else { return false }
        if bringer.isDurable, let broughtAt, broughtAt.duration(to: .now) < Self.recountInterval { return true }
        broughtAt = .now
        var last = lastRecount
        // Not those that come meanwhile.
        while last < newest, try await bringer.room() {
            let next = try await ledger.recounts(after: last, limit: Counts.recountLimit)
            guard let end = next.last else { break }
            _ = try await bringer.bring(
                next.map { number, id in Candidate(unread: id, reason: Reason(countsOnly: true, recount: number)) })
            // From here on, a log has them. Otherwise they are done once they are counted.
            if bringer.isDurable { try await ledger.dropRecounts(next) }
            last = end.number
        }
        if !bringer.isDurable { lastRecount = last }
        return true
    }

    // MARK: - New and changed rules

    /// Brings all documents that may add anything, and waits until they are counted. Killed before, the next run begins
    /// again. What changes meanwhile is brought by the feed.
    private mutating func countAll(_ rules: [Int], _ bringer: any Bringer) async throws {
        // A rule that came meanwhile is not among them.
        guard counts.incomplete == rules else { return }
        let names: Logger.Metadata = [LogKey.rules: "\(counts.incompleteNames)"]
        delivery.logger.notice("counting all documents for new and changed rules", metadata: names)
        try await counts.restart(rules)
        try await bringAll(bringer)
        // Members with other rules ask again for what they could not count: before they pass it.
        var isCounted = false
        while !isCounted {
            // Rules that no member has any more are not counted.
            _ = try await counts.look()
            let isSettled = try await bringer.untilSettled()
            isCounted = try await !bringRecounts(bringer) && isSettled
        }
        // Another rule may have come meanwhile.
        guard try await counts.look() == rules else { return }
        try await counts.complete()
        delivery.logger.notice("counted all documents for new and changed rules", metadata: names)
    }

    private func bringAll(_ bringer: any Bringer) async throws {
        let intake = delivery.makeIntake(decider: ruleSet.onlyAggregates().makeDecider())
        let take = { [counts] (documents: [CountedDocument]) in
            let candidates = try await intake.toBeCounted(documents, counts)
            guard !candidates.isEmpty else { return }
            while try await !bringer.room() {}
            _ = try await bringer.bring(candidates)
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
    /// Of documents of a pass that counts them, those that may add anything. Notes those that hold totals.
    ///
    /// Each is read again before it is counted: the feed may have brought a newer content meanwhile, and no older one
    /// may come after that.
    func toBeCounted(
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
                    reason: Reason(countsOnly: true, isOfCount: true)))
        }
        try await ledger.noteLeftovers(leftovers)
        return candidates
    }
}
