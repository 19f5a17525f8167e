internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Outside
internal import Rules

/// Applies the rules to candidates. Without I/O, except for jq programs and downloads.
struct Planner {
    let ruleSet: RuleSet
    let decider: Decider
    var downloads: Downloads?
    /// Nil: attachments count as different if their digests can't be compared.
    var stored: StoredAttachmentReader?
    let interruptions: InterruptedDecisions
    /// Records which document is being decided, in case it crashes the process.
    let note: DecisionNote
    /// Whether to count how many times a content leads to a write.
    let countsEffects: Bool
    /// Whether rules with `changed`, `enter` or `leave` only look at documents, without firing.
    let onlyLearns: Bool
    /// The numbers of such rules in the state, by their names.
    var ruleNumbers: [String: Int] = [:]
    /// Seconds since 1970.
    let now: @Sendable () -> Int
    /// The memory for the effects of documents that are decided together, in bytes.
    var effectLimit = Int.max

    /// Decides candidates whose documents are in memory.
    ///
    /// - Returns: The result of each, in order.
    func plan(_ active: [CandidateProgress]) async -> [CandidateProgress.DecisionResult] {
        var answers: [CandidateProgress.DecisionResult?] = []
        var decidable: [Int] = []
        var inputs: [DecisionInput] = []
        for (index, progress) in active.enumerated() {
            do throws(Undecidable) {
                inputs.append(try input(progress))
                decidable.append(index)
                answers.append(nil)
            } catch {
                answers.append(.impossible(reason: error.reason))
            }
        }
        note.end()
        let decisions = await decider.decide(
            on: inputs, now: now(), downloader: downloads?.downloader, stored: stored,
            mayDefer: { !active[decidable[$0]].candidate.history.isSlow },
            effects: EffectMemory(limit: effectLimit) { active[decidable[$0]].candidate.history.hasLargeEffects },
            willDecide: { index in
                guard let index else { return note.end() }
                let candidate = active[decidable[index]].candidate
                note.begin(candidate.id, candidate.content.revision)
            })
        note.end()
        for (index, place) in decidable.enumerated() {
            answers[place] = answer(active[place], inputs[index], decisions[index])
        }
        return answers.compactMap(\.self)
    }

    /// Compares an own revision with what rules last saw.
    func compare(_ progress: CandidateProgress) -> Decider.OwnRevision {
        guard !progress.known.lastSeen.isEmpty, let input = try? input(progress) else { return .same }
        note.end()
        let revision = progress.candidate.content.revision ?? RevisionID("")
        return decider.compare(input, isNewest: progress.known.earlierWrites.end(with: revision))
    }

    private func input(_ progress: CandidateProgress) throws(Undecidable) -> DecisionInput {
        let candidate = progress.candidate
        let content = candidate.content
        guard !interruptions.isExcluded(candidate.id, content.revision) || candidate.reason.isRetry else {
            throw Undecidable(reason: InterruptedDecisions.reason)
        }
        note.begin(candidate.id, content.revision)
        let text: JSONText
        do { text = try JSONText(content.document).withoutVersion() } catch { throw Undecidable(reason: "\(error)") }
        // The write goes to the document's `_id`: a different one, or none, would create a document that no rule
        // requested.
        guard text.root["_id"]?.isString(candidate.id.text) == true else {
            throw Undecidable(
                reason:
                    "the gateway returned a document whose _id is not the id of the change; does a proxy mix up answers?"
            )
        }
        let fired = (progress.known.earlierTimes ?? []).filter(\.hasFired).map { ($0.rule, $0.due) }
        return DecisionInput(
            text, isDeleted: content.isDeleted && !content.isLost, sequence: candidate.reason.sequence?.json,
            firedTimes: Dictionary(fired) { first, _ in first }, lastSeen: progress.known.lastSeen,
            ruleNumbers: ruleNumbers, isLost: content.isLost,
            onlyLearns: onlyLearns || progress.known.onlyLearns,
            countsOnly: candidate.reason.countsOnly, isInConflict: content.conflict != nil)
    }

    private struct Undecidable: Error {
        let reason: String
    }

    private func answer(_ progress: CandidateProgress, _ input: DecisionInput, _ decision: Decision)
        -> CandidateProgress.DecisionResult
    {
        if let deferral = decision.deferral { return .deferred(deferral) }
        if decision.error?.isTemporary == true { return .noProcess }
        if let wait = decision.error?.wait {
            return .waits(until: .now + wait, lastRule: decision.fired.last.map { ruleSet.names[$0] })
        }
        let candidate = progress.candidate
        let plan = Plan(DecisionReport(input.document, decision, names: ruleSet.names, aggregates: ruleSet.aggregates))
        var result = PlanResult()
        if decision.error == nil, !candidate.reason.countsOnly, decision.resolution == nil {
            if !candidate.content.isLost, !progress.known.onlyLearns { result.times = decision.times }
            let isPartial = progress.known.onlyLearns
            result.seen = decision.seen.filter { !isPartial || input.lastSeen[$0.rule] != nil }
            if onlyLearns { result.learned = decision.seen.map(\.rule).filter { input.lastSeen[$0] == nil } }
        }
        result.rules = decision.fired.map { ruleSet.names[$0] }
        result.isDeletion = decision.isDeletion
        result.skippedRules = decision.skipped.map { SkippedRule(rule: $0.rule, reason: $0.reason) }
        if let unresolved = candidate.history.unresolved { result.skippedRules.append(unresolved) }
        if countsEffects, plan.isEffective { result.fingerprint = ContentFingerprint(input.document.root) }
        return .plan(plan, result)
    }
}

extension CandidateProgress.DecisionResult {
    /// Whether no rule applies to an own revision: it is not in conflict, or no rule resolves the conflict, and no rule
    /// sees another state than before.
    func leavesOwnRevision(_ known: StoredFacts) -> Bool {
        guard known.isOwnRevision, case .plan(let plan, _) = self, plan.decision.error == nil,
            plan.decision.resolution == nil
        else { return false }
        return known.onlyResolves || isSame(as: known.lastSeen)
    }

    /// Whether it is a completed decision in which no rule saw another state than before.
    ///
    /// - Parameter before: The states that rules last saw, by the rule's name.
    func isSame(as before: [String: LastSeen]) -> Bool {
        guard case .plan(let plan, let result) = self, plan.decision.error == nil else { return false }
        return result.seen.allSatisfy { $0.lastSeen.isSame(as: before[$0.rule]) }
    }
}
