internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// One candidate on its way through a round: answer in, command out. Without I/O and without a clock.
///
/// It is read, then decided, then carried out in stages, then written. Each step has answers of its own; each answer leads
/// to the next step, to the end of the candidate, or out of the round.
package struct Course: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package private(set) var candidate: Candidate
    /// What the state knows of the document.
    var known = Known()
    /// Nil before the decision, and once the write of the document is prepared.
    private(set) var plan: Plan?
    /// What the decision leaves in the state.
    private(set) var result: PlanResult
    /// Whether it has left the round.
    private(set) var isOver = false

    /// - Parameter result: Nothing, before the decision.
    init(_ candidate: Candidate, result: PlanResult = PlanResult()) {
        self.candidate = candidate
        self.result = result
    }

    /// What is to be done about the candidate.
    enum Command: Sendable {
        /// It goes on to the next step.
        case goOn
        /// It is decided again in the next round. Its document is read before, unless it is in memory.
        case again
        /// It is decided again then, as it is then.
        case wait(until: Instant)
        case end(Ending)
        /// The run ends, and leaves it as it is.
        case abandon
    }

    /// Notes that the candidate leaves the round, unless it goes on.
    private mutating func obey(_ command: Command) -> Command {
        if case .goOn = command { return command }
        isOver = true
        return command
    }

    /// Leaves the candidate to the next round, as it is.
    mutating func leave() -> Command { obey(.again) }

    /// A candidate with a decision, as a stage sees it.
    var staged: StagedPlan? { plan.map { StagedPlan(candidate: candidate, known: known, plan: $0) } }

    mutating func edit(_ change: (inout Plan, inout PlanResult, inout History) -> Void) {
        guard var plan else { return }
        self.plan = nil
        change(&plan, &result, &candidate.history)
        self.plan = plan
    }
}

/// What the state knows of a candidate's document.
struct Known: Sendable {
    /// The writes to which earlier decisions led.
    var earlierWrites = EarlierWrites()
    /// The times of its rules with `at:`; nil if they were not asked for.
    var earlierTimes: [RuleTime]?
    /// The rules that led to the document; nil if they make no difference.
    var chain: RuleChain?
}

/// What a stage sees of a candidate.
struct StagedPlan: Sendable {
    let candidate: Candidate
    let known: Known
    let plan: Plan

    var decision: Decision { plan.decision }
}

// MARK: - Reading

extension Course {
    /// What was read of a document.
    enum Found: Sendable {
        case document(RevisionID, [UInt8])
        /// The tombstone that the candidate has is the newest; nil: its members can't be read.
        case tombstone([UInt8]?)
        /// There is nothing left to write to, to wait for, or to count. `contributed`: that it adds nothing.
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
            // Earlier conflicts are explained by the new revision.
            if revision != candidate.content.revision { candidate.history.unexplainedConflicts = 0 }
            candidate.content.set(revision, document)
            return .goOn
        case .tombstone(let members):
            candidate.setTombstone(members)
            return .goOn
        case .gone(let contributed):
            // The feed brings its tombstone, or has brought it. Dead letters may be those of the tombstone, about which
            // this says nothing.
            if !candidate.reason.isRetry { candidate.content.highestDeadLetterNumber = 0 }
            result.contributed = contributed
            if candidate.reason.countsOnly { return obey(.end(.passedOver)) }
            result.times = []
            return obey(.end(.unchanged))
        case .unreadable(let reason):
            return obey(.end(.deadLettered(candidate.deadLetter(reason: reason))))
        case .conflict(let conflict):
            candidate.content.conflict = conflict
            candidate.history.unresolved = nil
            return .goOn
        case .noConflict:
            candidate.reason.leaves = []
            return .goOn
        }
    }
}

// MARK: - Deciding

extension Course {
    /// What became of the decision.
    enum Decided: Sendable {
        /// This rule set wrote the revision after a completed decision.
        case ownRevision
        case plan(Plan, PlanResult)
        /// Only its counts were asked for. `failure`: why they are not known, if a dead letter must say so.
        case counted(failure: DeadLetter?)
        /// The document is not what it should be.
        case impossible(reason: String)
        /// It must not be carried out.
        case refused(DeadLetter)
        /// Its programs are slow: it is decided without others.
        case slow
        /// No process can be started for its programs.
        case noProcess
        /// What it needs is not there yet. `lastRule`: the last one that fired.
        case waits(until: Instant, lastRule: String?)
        /// Nothing is to be done: the run has changed as much as it may, or a dry run has shown the document already.
        case passedOver
        /// The run ends: it has as many dead letters as it may.
        case abandoned
    }

    mutating func take(_ decided: Decided) -> Command {
        switch decided {
        case .ownRevision:
            guard candidate.reason.isOfCount || candidate.reason.recount != nil else {
                return obey(.end(.passedOver))
            }
            candidate.reason.countsOnly = true
            return .goOn
        case .plan(let plan, let result):
            self.plan = plan
            self.result = result
            candidate.history.lastRule = result.rules.last
            return .goOn
        case .counted(let failure): return obey(.end(failure.map { .deadLettered($0) } ?? .passedOver))
        case .impossible(let reason): return obey(.end(.deadLettered(candidate.deadLetter(reason: reason))))
        case .refused(let deadLetter): return obey(.end(.deadLettered(deadLetter)))
        case .slow:
            candidate.history.isSlow = true
            return obey(.again)
        case .noProcess: return obey(.again)
        case .waits(let due, let lastRule):
            candidate.history.lastRule = lastRule
            return obey(.wait(until: due))
        case .passedOver: return obey(.end(.passedOver))
        case .abandoned: return obey(.abandon)
        }
    }
}

// MARK: - Stages

extension Course {
    /// What became of what a decision wants of a stage.
    enum StageAnswer: Sendable {
        /// All of it is done. `hasEffect`: whether there was anything to do.
        case done(hasEffect: Bool)
        /// A document that it depends on has changed: it is decided again.
        case outdated
        /// It is impossible. `rule`: the one that wants it; nil: the last one that fired.
        case impossible(rule: String?, reason: String)
        /// The change is decided again then.
        case waits(until: Instant)
        /// Receivers have answered with something to write. `cause`: the rules that led to that.
        case answered(DecisionReport, cause: RuleChain)
        /// Its leaves are one now.
        case resolved
        /// It was not in conflict, or the rule that can't resolve it is skipped: it is decided by the other rules.
        case notResolved(SkippedRule?)
    }

    /// How many consecutive decisions may be outdated at once because the document keeps changing. After that, a change
    /// from the feed is carried out anyway, since the feed will bring its successor. Others are postponed.
    static let outdatedBeforeInsisting = 5

    mutating func take(_ answer: StageAnswer, now: Instant) -> Command {
        switch answer {
        case .done(let hasEffect):
            if hasEffect { plan?.hasEffect = true }
            return .goOn
        case .outdated:
            candidate.content.drop()
            candidate.history.outdatedDecisions += 1
            let isBusy = candidate.history.outdatedDecisions.isMultiple(of: Self.outdatedBeforeInsisting)
            return obey(isBusy ? .wait(until: now + AttemptLimits.contestedWait) : .again)
        case .impossible(let rule, let reason):
            return obey(.end(.deadLettered(candidate.deadLetter(rule: rule, reason: reason))))
        case .waits(let due): return obey(.wait(until: due))
        case .answered(let report, let cause):
            plan?.report = report
            result.cause = cause
            return .goOn
        case .resolved: return obey(.end(.resolved))
        case .notResolved(let skipped):
            candidate.history.unresolved = skipped ?? candidate.history.unresolved
            candidate.history.isCounted = false
            candidate.content.conflict = nil
            candidate.reason.leaves = []
            return obey(.again)
        }
    }

    /// All stages are done, and the document itself needs no write.
    mutating func endWithoutWrite() -> Command {
        obey(.end(plan?.hasEffect == true ? .tookEffect : .unchanged))
    }

    /// A dry run has shown what it would do.
    mutating func endShown() -> Command { obey(.end(.shown)) }
}

// MARK: - Writing

extension Course {
    /// The write of the document itself. Frees what was read and decided: after a refusal the document is read again.
    ///
    /// - Parameter keepsContent: Whether ``OwnWriteRequest/before`` is wanted.
    mutating func makeWrite(keepsContent: Bool) -> OwnWriteRequest? {
        guard let plan else { return nil }
        let before = keepsContent ? try? JSONText(candidate.content.document).withoutVersion() : nil
        let document = BulkDocument(id: candidate.id, segments: plan.decision.bodySegments())
        result.isDeletion = plan.decision.isDeletion
        candidate.content.free()
        self.plan = nil
        return OwnWriteRequest(document: document, before: before)
    }

    /// Takes the answer to the write.
    ///
    /// A conflict is no reason to give up: a document that others write often is decided with its current content. But
    /// after `attemptLimit` conflicts without another revision it is dead-lettered. The same goes for as many writes on
    /// which the gateway failed, however many conflicts came between them.
    mutating func take(_ outcome: BulkOutcome, attemptLimit: Int, now: Instant) -> Command {
        candidate.history.note(outcome)
        switch outcome {
        case .written(let revision):
            candidate.content.revision = revision
            return obey(.end(.wrote(revision)))
        case .failed where candidate.history.failures < attemptLimit: return decideAgain(after: outcome, now)
        case .failed, .rejected:
            return obey(.end(.deadLettered(candidate.deadLetter(reason: outcome.explanation))))
        case .undecided: return decideAgain(after: outcome, now)
        case .conflict, .unmentioned:
            candidate.history.unexplainedConflicts += 1
            guard candidate.history.unexplainedConflicts >= attemptLimit else {
                return decideAgain(after: outcome, now)
            }
            let attempts = candidate.history.attempts.counted("attempt")
            let reason = "not accepted in \(attempts); the last one: \(outcome.explanation)"
            return obey(.end(.deadLettered(candidate.deadLetter(reason: reason))))
        }
    }

    /// There is or may be another revision, or the gateway could not say. A document that others write all the time is
    /// left alone for a while.
    private mutating func decideAgain(after outcome: BulkOutcome, _ now: Instant) -> Command {
        // A tombstone that the gateway left undecided is written again unchanged.
        if outcome == .conflict || !candidate.content.isDeleted { candidate.content.drop() }
        return obey(candidate.history.isContested ? .wait(until: now + AttemptLimits.contestedWait) : .again)
    }
}

/// The write of a changed document.
struct OwnWriteRequest: Sendable {
    let document: BulkDocument
    /// The document as the rules found it; nil unless it is wanted for those who watch the run.
    let before: JSONText?
}
