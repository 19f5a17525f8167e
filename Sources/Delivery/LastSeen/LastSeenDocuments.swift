package import BotState
internal import GatewayClient
internal import Locking
package import Rules

/// The states of documents that rules with `changed`, `enter` or `leave` last saw. The ledger stores them; this type
/// reads them for the run. The run and its passes over all documents share one instance.
package final class LastSeenDocuments: Sendable {
    /// The ledger of the run.
    package let ledger: Ledger
    private let rules: [Int: ComparingRule]
    /// The numbers of the rules in the ledger, by their names.
    let numbers: [String: Int]
    /// The documents that rules with `enter` or `leave` remember. None is removed before the end of the run. Nil if any
    /// document may be remembered, because other processes share the state, or if no rule needs this.
    private let known: Locked<BloomFilter>?
    /// Whether remembered documents must be decided even if they no longer match any rule.
    private let decidesRemembered: Bool

    /// The names of the rules.
    package var ruleNames: [String] { Array(numbers.keys) }

    /// Looks up the rules in the ledger, and adds new ones. Deletes the records of removed rules, unless another process
    /// may have them. Returns nil documents if no rule compares.
    ///
    /// - Parameter belongsToRun: Whether the caller is the run that owns the ledger, with all its rules.
    /// - Returns: Also the names of edited rules, which forget all documents.
    package static func open(
        _ ruleSet: RuleSet, in ledger: Ledger, belongsToRun: Bool = true
    ) async throws(StateError) -> (documents: LastSeenDocuments?, edited: [String]) {
        let rules = ruleSet.comparing
        let use: Ledger.ComparingRulesUse = !belongsToRun ? .command : ledger.isShared ? .shared : .alone
        let found = try await ledger.openLastSeen(rules, use)
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
        decidesRemembered = rules.contains(where: \.tracksMatches)
        if decidesRemembered, !ledger.isShared {
            try ledger.forEachSeenDocument { known.insert($0.hashValue) }
            self.known = Locked(known)
        } else {
            self.known = nil
        }
    }

    /// Deletes what rules remember that no member of the fleet has any longer, until it is cancelled.
    ///
    /// - Parameter documents: Those of this process. Nil: none of its rules compares.
    package static func deleteForgotten(by documents: LastSeenDocuments?, in ledger: Ledger) async throws {
        let own = documents.map { Array($0.rules.keys) } ?? []
        while true {
            // Other tasks notice whether the engine answers.
            let hasMore = (try? await ledger.deleteForgottenRules(own: own)) ?? false
            try await Task.sleep(for: hasMore ? .milliseconds(100) : .seconds(5))
        }
    }

    /// Whether the document must be decided because a rule may remember it.
    ///
    /// - Parameter id: Evaluated only if any document may be remembered.
    func mayRemember(_ id: @autoclosure () -> DocumentID) -> Bool {
        guard decidesRemembered else { return false }
        guard let known else { return true }
        guard known.withLock({ !$0.isEmpty }) else { return false }
        let hash = id().hashValue
        return known.withLock { $0.mayContain(hash) }
    }

    /// The last seen state of each of these documents, by the rule's name.
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

    /// The changes that result from decisions. The caller must store them at once, because later changes already count
    /// these documents as remembered.
    func changes(_ decided: [CandidateOutcomes.Ended], keepsExisting: Bool) -> SeenChanges {
        let documents = decided.compactMap { ended -> SeenDocument? in
            let seen = ended.result.seen.compactMap { seen in numbers[seen.rule].map { ($0, seen.lastSeen) } }
            return seen.isEmpty ? nil : SeenDocument(id: ended.candidate.id, seen: seen)
        }
        if let known, !documents.isEmpty {
            known.withLock { known in for document in documents { known.insert(document.id.hashValue) } }
        }
        return SeenChanges(documents: documents, keepsExisting: keepsExisting)
    }
}
