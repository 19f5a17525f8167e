package import BotState
package import GatewayClient
package import Locking
package import LosslessJSON
package import Rules

/// The counts of a run: what its writers record about them, and when the totals may be written.
///
/// The ledger stores the last contribution of each document, and the totals. Processing a change updates both in one
/// transaction, before its ticket is finished. ``TotalsWriter`` writes the documents with the totals later.
package final class Counts: Sendable {
    private struct State {
        /// Whether all documents are counted for all rules.
        var isComplete: Bool
        /// What the ledger knows about the rules, by their indexes in the rule set.
        var known: [Int: Ledger.CountedRule]
        /// When the rules were last looked up.
        var refreshedAt = ContinuousClock.now
        /// Documents that a run with an end wrote and decided without the feed.
        var decidedWrites: [DocumentID: RevisionID] = [:]
        /// When it was last known that no member has rules that count.
        var lastWithoutCounting: ContinuousClock.Instant?
    }

    /// Whether another process keeps the counts. Then it must count again the documents that this process decides.
    let requestsRecounts: Bool
    private let ledger: Ledger
    private let aggregates: [AggregateRule]
    private let state: Locked<State>
    /// Raised when a total has changed, or may be written from now on.
    package let changed = Signal("changed counts")

    /// Nil if no rule counts. If no other process counts, deletes what the ledger has about other rules.
    package static func open(_ ruleSet: RuleSet, in ledger: Ledger) async throws(StateError) -> Counts? {
        let rules = try await ledger.openCounts(ruleSet.aggregates, countsAlone: !ledger.isShared)
        // Other processes may count what this process decides.
        return ruleSet.aggregates.isEmpty && !ledger.isShared ? nil : Counts(ruleSet.aggregates, rules, ledger)
    }

    /// For a process that works next to the one that keeps the counts. Nil if no rule counts.
    package static func requestingRecounts(_ ruleSet: RuleSet, in ledger: Ledger) -> Counts? {
        ruleSet.aggregates.isEmpty ? nil : Counts([], [:], ledger, requestsRecounts: true)
    }

    private init(
        _ rules: [AggregateRule], _ known: [Int: Ledger.CountedRule], _ ledger: Ledger, requestsRecounts: Bool = false
    ) {
        self.requestsRecounts = requestsRecounts
        self.ledger = ledger
        aggregates = rules
        state = Locked(State(isComplete: known.values.allSatisfy(\.isComplete), known: known))
    }

    /// Whether this process has no rule that counts.
    package var isIdle: Bool { aggregates.isEmpty }

    /// The rules by their numbers in the ledger. Numbers change if a process that shares its work was silent for long.
    private var rules: [Int: AggregateRule] {
        let known = state.withLock(\.known)
        var rules: [Int: AggregateRule] = [:]
        for rule in aggregates { if let number = known[rule.index]?.number { rules[number] = rule } }
        return rules
    }

    /// The numbers of the rules for which not all documents are counted.
    package var incomplete: [Int] {
        state.withLock { $0.known.values.filter { !$0.isComplete }.map(\.number).sorted() }
    }

    /// The names of the rules for which not all documents are counted, for messages.
    package var incompleteNames: String { incomplete.compactMap(name).joined(separator: ", ") }

    /// The names of the members with the totals of a rule.
    func members(of number: Int) -> [String] { rules[number]?.members ?? [] }

    func name(of number: Int) -> String? { rules[number]?.name }

    // MARK: - What decisions change

    func contributed(_ contributions: [Contribution]) -> ContributedAmounts {
        let known = state.withLock(\.known)
        var byNumber: [Int: Contribution] = [:]
        for contribution in contributions {
            if let number = known[contribution.rule]?.number { byNumber[number] = contribution }
        }
        return ContributedAmounts(contributions: byNumber)
    }

    /// What to record about finished candidates. Nil: no rule counts.
    func changes(of outcomes: CandidateOutcomes) async throws(StateError) -> CountChanges? {
        guard try await isCounting() else { return nil }
        if InjectedFault.totalsWithoutEngine.isActive, ledger.isShared { return nil }
        var changes = makeChanges()
        if requestsRecounts {
            changes.undecided = outcomes.candidates.map(\.id)
            return changes
        }
        changes.documents = (outcomes.decided + outcomes.skipped).compactMap { ended in
            ended.result.contributed.map { CountChanges.Document(ended.candidate.id, $0) }
        }
        changes.recounted = outcomes.candidates.compactMap { candidate in
            candidate.reason.recount.map { (candidate.id, $0) }
        }
        changes.undecided = outcomes.deadLettered.lazy.map(\.ended.candidate).filter { !$0.reason.countsOnly }.map(\.id)
        return changes
    }

    /// What to record about candidates that stay in a log while they wait: their contributions to totals need not wait.
    /// Nil: nothing.
    func changes(ofWaiting waiting: [Round.WaitingCandidate]) async throws(StateError) -> CountChanges? {
        guard try await isCounting() else { return nil }
        var changes = makeChanges()
        changes.documents = waiting.compactMap { waiting in
            waiting.contributed.map { CountChanges.Document(waiting.candidate.id, $0) }
        }
        return changes
    }

    private func makeChanges() -> CountChanges {
        CountChanges(rules: rules.mapValues(\.name), isShared: ledger.isShared)
    }

    /// Whether there is anything to count. Members that share the work must regularly look up each other's rules.
    private func isCounting() async throws(StateError) -> Bool {
        guard ledger.isShared, !requestsRecounts else { return true }
        if aggregates.isEmpty, try await noMemberHasCounts() { return false }
        if state.withLock(\.refreshedAt).duration(to: .now) > Self.countingCheckInterval { try await refreshRules() }
        return true
    }

    /// Records which rules this process has, for other members, and reads the rules' numbers.
    private func refreshRules() async throws(StateError) {
        let now = ContinuousClock.now
        let known = try await ledger.openCounts(aggregates, countsAlone: false)
        state.withLock { state in
            (state.known, state.refreshedAt) = (known, now)
            state.isComplete = known.values.allSatisfy(\.isComplete)
        }
    }

    /// Keeps this process's rules on record for the other members, until it is cancelled.
    package func keepRulesRecorded() async throws {
        while true {
            try await Task.sleep(for: Self.countingCheckInterval * 5)
            guard !aggregates.isEmpty else { continue }
            // Other tasks notice whether the engine answers.
            try? await refreshRules()
        }
    }

    /// How soon a process without rules that count notices that another process has some.
    package static let countingCheckInterval: Duration = .seconds(1)

    private func noMemberHasCounts() async throws(StateError) -> Bool {
        let now = ContinuousClock.now
        if let at = state.withLock(\.lastWithoutCounting), at.duration(to: now) < Self.countingCheckInterval {
            return true
        }
        guard try await ledger.countedRules().isEmpty else { return false }
        state.withLock { $0.lastWithoutCounting = now }
        return true
    }

    /// A total has changed.
    func noteChange() { changed.raise() }

    // MARK: - What the feed brings

    /// The documents of a batch that must be decided even if no rule can fire: they add to a total already, or may do
    /// so soon. Documents with totals that another client changed are compared with the totals.
    func documentsToDecide(
        among rows: ChangesBatch.SubSequence, _ queue: CandidateQueue
    ) async throws(StateError) -> Set<DocumentID> {
        let documents = rows.lazy.filter { [.document, .tombstone].contains($0.kind) }.map { ($0.id, $0.revision) }
        let listed = Array(documents)
        // Documents in progress first: once they are settled, the ledger has them.
        let busy = await queue.busy(among: listed.map(\.0))
        let found = try await ledger.counted(among: listed.map { (id: $0.0, revision: $0.1) })
        if !found.holders.isEmpty {
            try await ledger.markTotals(found.holders)
            changed.raise()
        }
        return found.contributors.union(busy)
    }

    /// Notes documents that a run with an end is about to decide without waiting for the feed.
    func noteDecided(_ written: [WrittenTarget]) {
        state.withLock { state in
            for other in written { state.decidedWrites[other.place.id] = other.revision }
        }
    }

    /// The documents of these rows that ``noteDecided(_:)`` noted with another revision.
    ///
    /// Such a row is older: the gateway prepared its answer before the write. The row's contribution to totals would
    /// replace that of the write, and the row of the write may come only in the next run.
    func outdated(among rows: ChangesBatch.SubSequence) -> [DocumentID] {
        state.withLock { state in
            guard !state.decidedWrites.isEmpty else { return [] }
            return rows.compactMap { row in
                guard let written = state.decidedWrites[row.id] else { return nil }
                let revision = row.revision
                guard written == revision || (revision?.generation ?? 0) > (written.generation ?? 0) else {
                    return row.id
                }
                // The feed has reached the write: no older row follows.
                state.decidedWrites[row.id] = nil
                return nil
            }
        }
    }

    /// Marks those of these documents that hold totals and were changed by another client.
    package func markChangedTotals(among documents: [(id: DocumentID, revision: RevisionID?)]) async throws(StateError)
    {
        guard !aggregates.isEmpty else { return }
        let holders = try await ledger.counted(among: documents).holders
        guard !holders.isEmpty else { return }
        try await ledger.markTotals(holders)
        changed.raise()
    }

    /// The maximum number of documents that are counted again at a time.
    package static let recountLimit = 250

    // MARK: - The pass over all documents

    /// Whether the totals may be written.
    package var isComplete: Bool { state.withLock(\.isComplete) }

    /// The incomplete rules of which a document may hold old totals.
    package func leftovers(_ document: JSONValue) -> [(rule: Int, members: Int)] {
        let rules = rules
        return incomplete.compactMap { number in
            guard let rule = rules[number], rule.mayHoldTotals(document) else { return nil }
            return (number, rule.members.count)
        }
    }

    /// All documents are counted.
    package func complete() async throws(StateError) {
        let numbers = incomplete
        try await ledger.completeCounts(numbers)
        CrashPoint.countsCompleted.pass()
        state.withLock { state in
            state.known = state.known.mapValues { rule in
                Ledger.CountedRule(
                    number: rule.number, isComplete: rule.isComplete || numbers.contains(rule.number))
            }
            state.isComplete = state.known.values.allSatisfy(\.isComplete)
        }
        changed.raise()
    }

    // MARK: - For the one that writes the totals

    /// If other members share the work, checks again for which rules not all documents are counted, and deletes rules
    /// that no process has any longer.
    ///
    /// - Returns: Their numbers.
    package func uncountedRules() async throws(StateError) -> [Int] {
        guard ledger.isShared else { return incomplete }
        try await refreshRules()
        try await ledger.dropUnusedCounts(otherThan: state.withLock { $0.known.values.map(\.number) })
        return incomplete
    }

    /// Deletes the counts of rules whose documents are about to be counted. If no other process counts, this happened
    /// when the counts were opened.
    package func restart(_ rules: [Int]) async throws(StateError) {
        if ledger.isShared { try await ledger.restartCounts(rules) }
    }
}
