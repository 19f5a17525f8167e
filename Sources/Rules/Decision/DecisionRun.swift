internal import Encodings
internal import JQ
internal import LosslessJSON

/// One decision in progress. It advances until it is complete or needs answers, which the caller fetches.
struct DecisionRun {
    enum Step {
        /// The caller must run these calls, then call ``advance(with:_:)`` with one outcome for each.
        case needsCalls([JQCall])
        /// The caller must fetch this, then call ``provide(_:to:)`` and ``advance(with:_:)``.
        case needs(DownloadRequest)
        case decided(Decision)
    }

    /// The maximum number of passes. A document that still changes in the last one is dead-lettered.
    static let passLimit = 5

    let input: DecisionInput
    let ruleSet: RuleSet
    private let now: Int
    var decision: Decision
    var draft: Draft
    var candidates: RuleBits
    private var hasBegun = false
    var pass: Pass
    private var attempt: RuleAttempt?
    /// The outcomes for repeating the attempt's step after a download.
    private var repeated: [JQOutcome]?
    /// The rules that do not take part, and those that failed and are skipped from now on.
    private var skipped: Set<Int> = []
    private var programTime: ProgramTime

    /// One evaluation of all rules.
    struct Pass {
        /// Which rules run.
        var phase: DecisionPhase
        /// The next rule.
        var next = 0
        /// The rules that changed the document.
        var changing: [Int] = []
        /// The times that rules with `at:` gave, by rule.
        var times: [Int: RuleTime] = [:]
        /// The rules that changed the document in each of the passes before.
        var earlier: [[Int]] = []
        /// The states of the document that rules saw, by rule. Nil: nothing to record.
        var seen: [Int: LastSeen?] = [:]
        /// The states that rules saw when they fired in this decision, by rule.
        var firedAt: [Int: LastSeen] = [:]
        /// Whether a rule has deleted the document. Then only rules with `leave` run.
        var isLeaving = false

        /// In a conflict, the rules with `resolve` run first.
        init(_ input: DecisionInput) {
            phase = input.countsOnly ? .counting : input.isInConflict ? .resolving : .editing
        }

        mutating func begin(_ phase: DecisionPhase) { (self.phase, next) = (phase, 0) }

        mutating func beginNext() {
            earlier.append(changing)
            (next, changing, times, seen) = (0, [], [:], [:])
        }

        mutating func beginLeaving() { (isLeaving, next) = (true, 0) }
    }

    init(_ input: DecisionInput, _ ruleSet: RuleSet, now: Int, _ limits: ProgramTime.Limits = ProgramTime.Limits()) {
        programTime = ProgramTime(limits)
        pass = Pass(input)
        self.input = input
        self.ruleSet = ruleSet
        self.now = now
        decision = Decision(input.document)
        decision.isMapping = ruleSet.kind == .mapping
        draft = Draft(document: input.document, now: now)
        candidates = ruleSet.index.makeBits()
        skipped = absent
    }

    /// The rules that do not take part.
    private var absent: Set<Int> {
        guard let participants = input.test.participants else { return [] }
        return Set(ruleSet.rules.indices.filter { !participants.contains(ruleSet.rules[$0].name) })
    }

    /// Provides the answer that a step requested.
    mutating func provide(_ answer: DownloadAnswer, to request: DownloadRequest) {
        draft.downloads[request] = answer
        attempt?.provide(answer, to: request)
        if case .later(let reason, let wait) = answer {
            decision.status = .failed(
                DecisionError(rule: attempt?.rule.name, reason: "attach: \(reason)", wait: wait))
        }
    }

    /// Starts the decision over, with all answers so far.
    mutating func startOver() {
        skipped = absent
        programTime = ProgramTime(programTime.limits)
        decision = Decision(input.document)
        decision.isMapping = ruleSet.kind == .mapping
        hasBegun = false
        startAgain()
    }

    /// Records the processor time of the requested programs.
    mutating func note(_ time: Duration) {
        if let attempt { programTime.add(time, of: attempt.index) }
    }

    /// Whether other documents should not wait for this one.
    var isSlow: Bool { programTime.isSlow }

    /// The memory that the effects so far take.
    var effectBytes: Int { draft.effects.byteCount + (attempt?.effectBytes ?? 0) }

    mutating func advance(with outcomes: [JQOutcome], _ scratch: MatchScratch) -> Step {
        // The decision must start over.
        if decision.error != nil { return .decided(decision) }
        do throws(DecisionError) {
            var outcomes = repeated ?? outcomes
            repeated = nil
            while true {
                if attempt == nil { attempt = try nextAttempt(scratch) }
                guard var attempt else { break }
                let programs = attempt.programs
                if outcomes.count < programs.count {
                    if let error = programTime.error(attempt.rule, names: { ruleSet.rules[$0].name }) {
                        self.attempt = nil
                        try skip([attempt.index], after: error)
                        continue
                    }
                    return .needsCalls(
                        ruleSet.calls(
                            programs, of: attempt.rule, document: attempt.document, matched: draft.document, input,
                            now: now, edge: attempt.possibleEdge,
                            locals: (attempt.element?.locals ?? []) + input.locals, scratch))
                }
                if let request = try proceed(&attempt, outcomes) {
                    repeated = outcomes
                    return .needs(request)
                }
                outcomes = []
            }
            return .decided(try finished())
        } catch {
            decision.status = .failed(error)
            return .decided(decision)
        }
    }

    /// Advances the attempt by one step.
    ///
    /// - Returns: What the step needs. Nil if the step is done.
    private mutating func proceed(
        _ attempt: inout RuleAttempt, _ outcomes: [JQOutcome]
    ) throws(DecisionError) -> DownloadRequest? {
        self.attempt = nil
        let stage = attempt.stage
        if let stage { input.recorder?.noteStart(stage, of: attempt.index, outcomes, now: now) }
        do throws(DecisionError) {
            let outcome = try attempt.proceed(outcomes)
            if let stage, outcome.isProgress { input.recorder?.noteEnd(stage, of: attempt.index) }
            switch outcome {
            case .continues: self.attempt = attempt
            case .fires: try commit(attempt)
            case .doesNotFire: noteSeen(attempt)
            case .notDue(let time): pass.times[attempt.index] = time
            case .needs(let request):
                self.attempt = attempt
                return request
            }
        } catch {
            try skip([attempt.index], after: error)
        }
        return nil
    }

    /// Continues without the rules that failed, if all of them can be skipped.
    ///
    /// The decision starts over without them, which also undoes their work of earlier passes.
    private mutating func skip(_ failed: [Int], after error: DecisionError) throws(DecisionError) {
        guard !failed.isEmpty, !error.isTemporary, failed.allSatisfy(ruleSet.skipsErrors(of:)) else { throw error }
        for rule in failed where skipped.insert(rule).inserted {
            decision.skipped.append(Decision.Skip(rule: ruleSet.rules[rule].name, reason: error.reason))
        }
        if decision.fired.contains(where: failed.contains) { startAgain() }
    }

    private mutating func startAgain() {
        let downloads = draft.downloads
        draft = Draft(document: input.document, now: now)
        draft.downloads = downloads
        decision.fired = []
        decision.reasons = Decision.Reasons()
        attempt = nil
        pass = Pass(input)
        findCandidates()
    }

    /// The next rule whose selectors hold, in this pass or the next. Nil after a pass without changes, once the rules
    /// with `aggregate` have run. A mapping has one pass.
    private mutating func nextAttempt(_ scratch: MatchScratch) throws(DecisionError) -> RuleAttempt? {
        if !hasBegun {
            guard try isWanted(scratch) else { return nil }
            hasBegun = true
            findCandidates()
        }
        while draft.effects.of(ResolveEffect.self).isEmpty {
            if draft.isDeleted, !pass.isLeaving { pass.beginLeaving() }
            while let index = candidates.next(from: pass.next) {
                pass.next = index + 1
                do throws(DecisionError) {
                    if let attempt = try attempt(index, scratch) { return attempt }
                } catch {
                    try skip([index], after: error)
                }
            }
            if pass.isLeaving { return nil }
            switch pass.phase {
            case .resolving: pass.begin(.editing)
            case .editing where !pass.changing.isEmpty && !ruleSet.hasOnePass: try beginPass()
            case .editing where !ruleSet.aggregates.isEmpty: pass.begin(.counting)
            case .editing, .counting: return nil
            }
        }
        return nil
    }

    /// Nil if the rule does not run on the document as it is now.
    private mutating func attempt(_ index: Int, _ scratch: MatchScratch) throws(DecisionError) -> RuleAttempt? {
        let rule = ruleSet.rules[index]
        guard !skipped.contains(index), rule.phase == pass.phase || pass.isLeaving else { return nil }
        if let edges = rule.edges { return try comparison(rule, index, edges, scratch) }
        guard !pass.isLeaving, !input.isLost, !input.onlyLearns else { return nil }
        input.recorder?.noteMatch(index, draft.document.root, scratch)
        do throws(MatchError) {
            guard try rule.fires(on: draft.document.root, scratch) else { return nil }
        } catch {
            throw DecisionError(rule: rule.name, reason: error.description)
        }
        return RuleAttempt(rule, index, draft, clock(of: index))
    }

    private mutating func beginPass() throws(DecisionError) {
        pass.beginNext()
        guard pass.earlier.count == Self.passLimit else { return }
        let rules = loopingRules
        let skippable = rules.filter(ruleSet.skipsErrors(of:))
        try skip(skippable, after: loop(of: rules))
    }

    private func isWanted(_ scratch: MatchScratch) throws(DecisionError) -> Bool {
        do throws(MatchError) {
            return try ruleSet.filter?.selector.matches(input.document.root, scratch) ?? true
        } catch {
            throw DecisionError(rule: nil, reason: error.description)
        }
    }

    private mutating func findCandidates() {
        ruleSet.index.find(for: draft.document.root, isDeleted: input.isDeleted, into: &candidates)
        for index in ruleSet.comparingRules
        where pass.firedAt[index] != nil || input.lastSeen[ruleSet.rules[index].name] != nil {
            candidates.insert(Int32(index))
        }
    }

    /// A rule with `at:` fires once for each time: in one decision and, according to the recorded firings, overall.
    private func clock(of rule: Int) -> RuleAttempt.Clock {
        guard ruleSet.rules[rule].time != nil else { return RuleAttempt.Clock(now: now, fired: []) }
        let fired = [decision.firedTimes[rule], input.firedTimes[ruleSet.rules[rule].name]]
        return RuleAttempt.Clock(now: now, fired: fired.compactMap { $0 })
    }

    private mutating func commit(_ attempt: RuleAttempt) throws(DecisionError) {
        let before = draft.document
        let result = attempt.draft(onto: draft)
        let isChanged = result.document !== before && result.document.bytes != before.bytes
        // Gateways keep one of two members with the same name. Writing the document would pick one arbitrarily.
        if isChanged, before === input.document, !result.isDeleted, let name = before.root.duplicateMemberName {
            throw DecisionError(
                rule: attempt.rule.name,
                reason: Decision.duplicateReason(name))
        }
        guard result.effects.byteCount <= RuleAttempt.effectLimit else {
            throw RuleAttempt.tooManyEffects(rule: attempt.rule.name)
        }
        draft = result
        if !decision.fired.contains(attempt.index) { decision.fired.append(attempt.index) }
        input.recorder?.noteFiring(attempt.index, attempt.edge, isDeleted: input.isDeleted)
        if let due = attempt.due {
            decision.reasons.times[attempt.index] = due
            pass.times[attempt.index] = RuleTime(rule: attempt.rule.name, due: due, hasFired: true)
        }
        if let edge = attempt.edge {
            decision.reasons.edges[attempt.index] = edge
            pass.firedAt[attempt.index] = attempt.seen
        }
        noteSeen(attempt)
        guard isChanged || result.isDeleted else { return }
        pass.changing.append(attempt.index)
        findCandidates()
    }

    /// Gateway attachments that may have the same content as one that the rules added. If so, it need not be sent.
    var uncomparedAttachments: [StoredAttachment] {
        draft.unknown.compactMap { name, stored in
            draft.attachments[name]?.content === stored.content ? stored : nil
        }
    }

    private func finished() throws(DecisionError) -> Decision {
        var decision = decision
        decision.document = draft.document
        decision.attachments = draft.attachments
        decision.effects = draft.effects
        decision.contributions = draft.isDeleted ? [] : draft.contributions
        // The last pass evaluated the final document.
        decision.records.times = draft.isDeleted ? [] : pass.times.sorted { $0.key < $1.key }.map(\.value)
        let isChanged = draft.document !== input.document && draft.document.bytes != input.document.bytes
        decision.records.seen = seen(isWritten: isChanged)
        let last = pass.changing.last ?? pass.earlier.joined().last
        decision.result = draft.isDeleted ? .deleted(last: last) : isChanged ? .changed(last: last) : .unchanged
        if decision.isMapping {
            if decision.fired.isEmpty { try decision.finishUnmatched(ruleSet.otherwise) }
            decision.dropLostAttachments()
            let names = decision.fired.map { ruleSet.rules[$0].name }
            if let error = mappedIDError ?? decision.mappingError(fired: names) { throw error }
        }
        return decision
    }

    private var mappedIDError: DecisionError? {
        guard !draft.isDeleted else { return nil }
        return ReservedID.error(
            inMapping: draft.document.root["_id"]?.string, was: input.document.root["_id"]?.string)
    }

    /// The rules that changed the document in the last two passes.
    private var loopingRules: [Int] { Set(pass.earlier.suffix(2).joined()).sorted() }

    private func loop(of rules: [Int]) -> DecisionError {
        let names = rules.map { ruleSet.rules[$0].name }
        return DecisionError(rule: nil, reason: "rule loop: " + names.joined(separator: " ↔ "))
    }
}
