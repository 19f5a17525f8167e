package import BotState
internal import GatewayClient
internal import Locking
package import Rules

/// What the rules with `changed`, `enter` or `leave` saw last of the documents. The ledger stores it; this is the run's
/// view of it. The run and its passes over all documents share one.
package final class LastSeenDocuments: Sendable {
    /// The ledger of the run.
    package let ledger: Ledger
    private let rules: [Int: ComparingRule]
    private let numbers: [String: Int]
    /// Documents that rules with `enter` or `leave` know; they are not removed before the end of the run. Nil: any
    /// document may be known, because other processes share the state, or no rule needs this.
    private let known: Locked<BloomFilter>?
    /// Whether documents must be decided that are known, even if no rule can fire on them.
    private let looksAtKnown: Bool

    /// Nil if no rule compares. If no other process has rules with this state, deletes what the ledger has about other
    /// rules.
    ///
    /// - Parameter belongsToRun: Whether this belongs to the run that owns the ledger, with all its rules.
    /// - Returns: Also the names of rules that start anew, because they were edited.
    package static func open(
        _ ruleSet: RuleSet, in ledger: Ledger, belongsToRun: Bool = true
    ) async throws(StateError) -> (documents: LastSeenDocuments?, edited: [String]) {
        let rules = ruleSet.comparing
        let found = try await ledger.openLastSeen(rules, isAlone: belongsToRun && !ledger.isShared)
        guard !rules.isEmpty else { return (nil, []) }
        return (try LastSeenDocuments(rules, found.numbers, ledger), found.edited)
    }

    private init(_ rules: [ComparingRule], _ numbers: [Int?], _ ledger: Ledger) throws(StateError) {
        self.ledger = ledger
        var known = BloomFilter()
        var byNumber: [Int: ComparingRule] = [:]
        var byName: [String: Int] = [:]
        for (rule, number) in zip(rules, numbers) {
            guard let number else { continue }
            byNumber[number] = rule
            byName[rule.name] = number
        }
        (self.rules, self.numbers) = (byNumber, byName)
        looksAtKnown = rules.contains(where: \.tracksMatches)
        if looksAtKnown, !ledger.isShared {
            try ledger.forEachSeenDocument { known.insert($0.hashValue) }
            self.known = Locked(known)
        } else {
            self.known = nil
        }
    }

    /// Whether the document must be decided because a rule may know it.
    ///
    /// - Parameter id: Evaluated only if any document may be known.
    func mayKnow(_ id: @autoclosure () -> DocumentID) -> Bool {
        guard looksAtKnown else { return false }
        guard let known else { return true }
        guard known.withLock({ !$0.isEmpty }) else { return false }
        let hash = id().hashValue
        return known.withLock { $0.mayContain(hash) }
    }

    /// What rules saw last of each of these documents, by the rule's name.
    func lastSeen(of documents: [DocumentID]) async throws(StateError) -> [[String: LastSeen]] {
        try await ledger.lastSeen(of: documents).map { records in
            var seen: [String: LastSeen] = [:]
            for record in records {
                guard let rule = rules[record.rule] else { continue }
                seen[rule.name] = LastSeen(encoded: record.encoded, memberCount: rule.memberCount)
            }
            return seen
        }
    }

    /// The changes that result from decisions. Record them at once: later changes already find these documents.
    func changes(_ decided: [CandidateOutcomes.Ended], onlyAdds: Bool) -> SeenChanges {
        let documents = decided.compactMap { ended -> SeenDocument? in
            let seen = ended.result.seen.compactMap { seen in numbers[seen.rule].map { ($0, seen.lastSeen) } }
            return seen.isEmpty ? nil : SeenDocument(id: ended.candidate.id, seen: seen)
        }
        if let known, !documents.isEmpty {
            known.withLock { known in for document in documents { known.insert(document.id.hashValue) } }
        }
        return SeenChanges(documents: documents, onlyAdds: onlyAdds)
    }
}
