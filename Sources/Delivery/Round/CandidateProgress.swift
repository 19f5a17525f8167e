internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// The state machine of one candidate in a round: answer in, command out. It has no I/O and no clock.
///
/// A candidate is read, decided, carried out in stages, and written. Each step has its own type of answer. An answer
/// leads to the next step, to the end of the candidate, or out of the round.
package struct CandidateProgress: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package private(set) var candidate: Candidate
    /// What the state knows about the document.
    var known = StoredFacts()
    /// Nil before the decision, and once the write of the document is prepared.
    private(set) var plan: Plan?
    /// What the state must record about the decision.
    private(set) var result: PlanResult
    /// Whether it has left the round.
    private(set) var isOver = false

    /// - Parameter result: Empty before the decision.
    init(_ candidate: Candidate, result: PlanResult = PlanResult()) {
        self.candidate = candidate
        self.result = result
    }

    /// What the round must do with the candidate.
    enum Command: Sendable {
        /// Continue with the next step.
        case proceed
        /// Decide it again in the next round. Its document is read first, unless it is in memory.
        case again
        /// Decide it again at this time, with its content at that time.
        case wait(until: Instant)
        case end(CandidateOutcome)
        /// Leave it unfinished, because the run ends.
        case abandon
    }

    /// Notes that the candidate leaves the round, unless it continues.
    private mutating func apply(_ command: Command) -> Command {
        if case .proceed = command { return command }
        isOver = true
        return command
    }

    /// Leaves the candidate unchanged to the next round.
    mutating func leave() -> Command { apply(.again) }

    /// A candidate with a decision, as a stage sees it.
    var staged: StagedPlan? { plan.map { StagedPlan(candidate: candidate, known: known, plan: $0) } }

    mutating func edit(_ change: (inout Plan, inout PlanResult, inout History) -> Void) {
        guard var plan else { return }
        self.plan = nil
        change(&plan, &result, &candidate.history)
        self.plan = plan
    }
}

/// What the state knows about a candidate's document.
struct StoredFacts: Sendable {
    /// The writes of earlier decisions.
    var earlierWrites = EarlierWrites()
    /// Whether this rule set wrote its revision. It is then decided only if a rule may see another state than it last
    /// saw: another branch has won in the meantime, or the document is no longer visible.
    var isOwnRevision = false
    /// Whether only a rule that resolves its conflict applies to the own revision.
    var onlyResolves = false
    /// Whether rules with `changed`, `enter` or `leave` only look at it, and no other rule applies.
    var onlyLearns = false
    /// The times of its rules with `at:`; nil if they were not read.
    var earlierTimes: [RuleTime]?
    /// The states of it that rules with `changed`, `enter` or `leave` last saw, by the rule's name.
    var lastSeen: [String: LastSeen] = [:]
    /// The rules that led to the document; nil if they are not needed.
    var chain: RuleChain?
}

/// The part of a candidate that a stage uses.
struct StagedPlan: Sendable {
    let candidate: Candidate
    let known: StoredFacts
    let plan: Plan

    var decision: Decision { plan.decision }
}

// MARK: - Reading

extension CandidateProgress {
    /// The result of reading a document.
    enum Found: Sendable {
        case document(RevisionID, [UInt8])
        /// The candidate's tombstone is the current revision; nil: its members can't be read.
        case tombstone([UInt8]?)
        /// The document is gone. `contributed`: that it no longer adds to totals.
        case gone(ContributedAmounts?)
        case unreadable(reason: String)
        /// It has several leaves.
        case conflict(Conflict)
        /// It has one leaf.
        case noConflict
    }

    mutating func take(_ found: Found) -> Command {
        switch found {
        case .document(let revision, let document):
            // The new revision explains earlier conflicts.
            if revision != candidate.content.revision { candidate.history.unexplainedConflicts = 0 }
            candidate.content.set(revision, document)
            return .proceed
        case .tombstone(let members):
            candidate.setTombstone(members)
            return .proceed
        case .gone(let contributed):
            // The feed returns its tombstone, or has done so. Its dead letters may be about the tombstone, and so are
            // not resolved here.
            if !candidate.reason.isRetry { candidate.content.highestDeadLetterNumber = 0 }
            result.contributed = contributed
            if candidate.reason.countsOnly { return apply(.end(.skipped)) }
            result.times = []
            return apply(.end(.unchanged))
        case .unreadable(let reason):
            return apply(.end(.deadLettered(candidate.deadLetter(reason: reason))))
        case .conflict(let conflict):
            // Another leaf wins by now, and rules must see its content. A gateway with another order of leaves is asked
            // only a few times.
            let winner = conflict.leaves.first.map { RevisionID($0.revision) }
            if winner != candidate.content.revision, candidate.history.outdatedDecisions < Self.maxOutdatedDecisions,
                !InjectedFault.outdatedWinner.isActive
            {
                candidate.content.drop()
                candidate.history.outdatedDecisions += 1
                return apply(.again)
            }
            candidate.content.conflict = conflict
            candidate.history.unresolved = nil
            return .proceed
        case .noConflict:
            candidate.reason.leaves = []
            return .proceed
        }
    }
}

// MARK: - Deciding

extension CandidateProgress {
    /// The result of the decision.
    enum DecisionResult: Sendable {
        /// This rule set wrote the revision after a completed decision. `isCounted`: its contributions to totals must be
        /// recorded nevertheless, because another leaf may have won in between.
        case ownRevision(isCounted: Bool)
        case plan(Plan, PlanResult)
        /// Only its counts were requested. `failure`: a dead letter if they can't be computed.
        case counted(failure: DeadLetter?)
        /// The document can't be decided.
        case impossible(reason: String)
        /// It must not be carried out.
        case refused(DeadLetter)
        /// Decide it again: alone, unless only the effects of others take much memory.
        case deferred(Decision.Deferral)
        /// No process can be started for its programs.
        case noProcess
        /// Something that it needs is not available yet. `lastRule`: the last one that fired.
        case waits(until: Instant, lastRule: String?)
        /// Nothing to do: the run has reached its limit of changes, or a dry run has shown the document already.
        case skipped
        /// The run ends: it has reached its limit of dead letters.
        case abandoned
    }

    mutating func take(_ decided: DecisionResult) -> Command {
        switch decided {
        case .ownRevision(let isCounted):
            guard isCounted || candidate.reason.isFromCount || candidate.reason.recount != nil else {
                return apply(.end(.skipped))
            }
            candidate.reason.countsOnly = true
            return .proceed
        case .plan(let plan, let result):
            self.plan = plan
            self.result = result
            candidate.history.lastRule = result.rules.last
            return .proceed
        case .counted(let failure): return apply(.end(failure.map { .deadLettered($0) } ?? .skipped))
        case .impossible(let reason): return apply(.end(.deadLettered(candidate.deadLetter(reason: reason))))
        case .refused(let deadLetter): return apply(.end(.deadLettered(deadLetter)))
        case .deferred(let reason):
            if reason == .slow, !candidate.history.isSlow { candidate.history.isolationReason = .slow }
            if reason == .large { candidate.history.isolationReason = .large }
            return apply(.again)
        case .noProcess: return apply(.again)
        case .waits(let due, let lastRule):
            candidate.history.lastRule = lastRule
            return apply(.wait(until: due))
        case .skipped: return apply(.end(.skipped))
        case .abandoned: return apply(.abandon)
        }
    }
}

// MARK: - Stages

extension CandidateProgress {
    /// The result of a stage for one candidate.
    enum StageAnswer: Sendable {
        /// All is done. `hasEffect`: whether there was anything to do.
        case done(hasEffect: Bool)
        /// A document that the decision depends on has changed: decide again.
        case outdated
        /// The effect is impossible. `rule`: the rule that requested it; nil: the last one that fired.
        case impossible(rule: String?, reason: String)
        /// Decide again at this time.
        case waits(until: Instant)
        /// The answers of receivers must be written. `cause`: the rules that led to them.
        case answered(DecisionReport, cause: RuleChain)
        /// Its conflict is resolved: one leaf is left.
        case resolved
        /// It was not in conflict, or the rule that can't resolve it is skipped: decide it by the other rules.
        case notResolved(SkippedRule?)
    }

    /// How many consecutive decisions may be outdated because the document keeps changing. After that, a change from
    /// the feed is carried out anyway, since the feed will return the next one. Other candidates are postponed.
    static let maxOutdatedDecisions = 5

    mutating func take(_ answer: StageAnswer, now: Instant) -> Command {
        switch answer {
        case .done(let hasEffect):
            if hasEffect { plan?.hasEffect = true }
            return .proceed
        case .outdated:
            candidate.content.drop()
            candidate.history.outdatedDecisions += 1
            let isBusy = candidate.history.outdatedDecisions.isMultiple(of: Self.maxOutdatedDecisions)
            return apply(isBusy ? .wait(until: now + AttemptLimits.contestedWait) : .again)
        case .impossible(let rule, let reason):
            return apply(.end(.deadLettered(candidate.deadLetter(rule: rule, reason: reason))))
        case .waits(let due): return apply(.wait(until: due))
        case .answered(let report, let cause):
            plan?.report = report
            result.cause = cause
            return .proceed
        case .resolved: return apply(.end(.resolved))
        case .notResolved(let skipped):
            candidate.history.unresolved = skipped ?? candidate.history.unresolved
            candidate.history.isCounted = false
            candidate.content.conflict = nil
            candidate.reason.leaves = []
            return apply(.again)
        }
    }

    /// Notes effects outside the database, for the trace.
    mutating func note(_ effects: [TraceEntry.Effect]) { result.effects += effects }

    /// All stages are done, and the document itself needs no write.
    mutating func endWithoutWrite() -> Command {
        apply(.end(plan?.hasEffect == true ? .hadOtherEffects : .unchanged))
    }

    /// Ends the candidate after a dry run has shown it.
    mutating func endShown() -> Command { apply(.end(.shown)) }
}

// MARK: - Writing

extension CandidateProgress {
    /// The write of the document itself. Frees the content and the decision: after a refusal the document is read
    /// again.
    ///
    /// - Parameter keepsContent: Whether ``OwnWriteRequest/before`` is needed.
    mutating func makeWrite(keepsContent: Bool) -> OwnWriteRequest? {
        guard let plan else { return nil }
        let before = keepsContent ? try? JSONText(candidate.content.document).withoutVersion() : nil
        let document = BulkDocument(id: candidate.id, segments: plan.decision.bodySegments())
        result.isDeletion = plan.decision.isDeletion
        result.replacedRevision = candidate.content.revision
        candidate.history.lastRule = plan.report.lastChange ?? candidate.history.lastRule
        if !InjectedFault.unreadRetry.isActive { candidate.content.free() }
        self.plan = nil
        return OwnWriteRequest(document: document, before: before)
    }

    /// Takes the answer to the write.
    ///
    /// A conflict is not a reason to give up: a document that other clients write often is decided with its current
    /// content. But it is dead-lettered after `attemptLimit` conflicts without another revision, or after as many
    /// writes on which the gateway failed, whatever conflicts came in between.
    mutating func take(_ outcome: BulkOutcome, attemptLimit: Int, now: Instant) -> Command {
        candidate.history.note(outcome)
        switch outcome {
        case .written(let revision):
            candidate.content.revision = revision
            return apply(.end(.wrote(revision)))
        case .failed where InjectedFault.forgottenFailure.isActive: return apply(.end(.unchanged))
        case .failed where candidate.history.failures < attemptLimit: return decideAgain(after: outcome, now)
        case .rejected where InjectedFault.acceptedRefusal.isActive: return apply(.end(.unchanged))
        case .failed, .rejected:
            return apply(.end(.deadLettered(candidate.deadLetter(reason: outcome.explanation))))
        case .undecided: return decideAgain(after: outcome, now)
        case .conflict, .unmentioned:
            candidate.history.unexplainedConflicts += 1
            guard candidate.history.unexplainedConflicts >= attemptLimit else {
                return decideAgain(after: outcome, now)
            }
            let attempts = candidate.history.attempts.counted("attempt")
            let reason = "not accepted in \(attempts); last result: \(outcome.explanation)"
            return apply(.end(.deadLettered(candidate.deadLetter(reason: reason))))
        }
    }

    /// Decides again because there is or may be another revision. A document that other clients write constantly is
    /// postponed.
    private mutating func decideAgain(after outcome: BulkOutcome, _ now: Instant) -> Command {
        // A tombstone is written again unchanged if the gateway did not answer.
        if outcome == .conflict || !candidate.content.isDeleted, !InjectedFault.unreadRetry.isActive {
            candidate.content.drop()
        }
        return apply(candidate.history.isContested ? .wait(until: now + AttemptLimits.contestedWait) : .again)
    }
}

/// The write of a changed document.
struct OwnWriteRequest: Sendable {
    let document: BulkDocument
    /// The document before the rules were applied; nil unless an observer of the run needs it.
    let before: JSONText?
}
