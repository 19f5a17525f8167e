internal import JQ
internal import LosslessJSON

/// One decision on its way. It goes on by itself until it is made or needs answers from jq; those are fetched by
/// whoever drives it.
struct DecisionRun {
    enum Step {
        /// ``advance(with:_:)`` is to be called again with one outcome for each call.
        case asks([JQCall])
        case decided(Decision)
    }

    /// After so many passes the rules must leave the document alone.
    static let passLimit = 5

    private let input: DecisionInput
    private let ruleSet: RuleSet
    private let now: Int
    private var decision: Decision
    private var draft: Draft
    private var candidates: RuleBits
    /// The rule to look at next in this pass.
    private var next = 0
    private var hasBegun = false
    /// The rules that changed the document in this pass, and in those before.
    private var changing: [Int] = []
    private var passes: [[Int]] = []
    private var attempt: RuleAttempt?

    init(_ input: DecisionInput, _ ruleSet: RuleSet, now: Int) {
        self.input = input
        self.ruleSet = ruleSet
        self.now = now
        decision = Decision(input.document)
        decision.isMapping = ruleSet.kind == .mapping
        draft = Draft(document: input.document)
        candidates = ruleSet.index.makeBits()
    }

    mutating func advance(with outcomes: [JQOutcome], _ scratch: MatchScratch) -> Step {
        do throws(Decision.Fault) {
            var outcomes = outcomes
            while true {
                if attempt == nil { attempt = try nextAttempt(scratch) }
                guard var attempt else { break }
                let programs = attempt.programs
                if outcomes.count < programs.count {
                    return .asks(
                        ruleSet.calls(
                            programs, of: attempt.rule, document: attempt.document, matched: draft.document, input,
                            now: now, scratch))
                }
                switch try attempt.proceed(outcomes) {
                case .goesOn: self.attempt = attempt
                case .fires:
                    try commit(attempt)
                    self.attempt = nil
                case .doesNotFire: self.attempt = nil
                }
                outcomes = []
            }
            return .decided(try finished())
        } catch {
            decision.fault = error
            return .decided(decision)
        }
    }

    /// The next rule whose selectors hold, in this pass or the next; nil when a pass has changed nothing. A mapping has
    /// one pass.
    private mutating func nextAttempt(_ scratch: MatchScratch) throws(Decision.Fault) -> RuleAttempt? {
        if !hasBegun {
            guard try isWanted(scratch) else { return nil }
            hasBegun = true
            findCandidates()
        }
        while !draft.isDeleted {
            while let index = candidates.next(from: next) {
                next = index + 1
                let rule = ruleSet.rules[index]
                do throws(MatchFault) {
                    guard try rule.fires(on: draft.document.root, scratch) else { continue }
                } catch {
                    throw Decision.Fault(rule: rule.name, reason: error.description)
                }
                return RuleAttempt(rule, index, draft)
            }
            if changing.isEmpty || ruleSet.kind == .mapping { return nil }
            passes.append(changing)
            guard passes.count < Self.passLimit else { throw loop() }
            changing = []
            next = 0
            findCandidates()
        }
        return nil
    }

    private func isWanted(_ scratch: MatchScratch) throws(Decision.Fault) -> Bool {
        do throws(MatchFault) {
            return try ruleSet.filter?.selector.matches(input.document.root, scratch) ?? true
        } catch {
            throw Decision.Fault(rule: nil, reason: error.description)
        }
    }

    private mutating func findCandidates() {
        ruleSet.index.find(for: draft.document.root, isDeleted: input.isDeleted, into: &candidates)
    }

    private mutating func commit(_ attempt: RuleAttempt) throws(Decision.Fault) {
        let before = draft.document
        let result = attempt.draft(onto: draft)
        let isChanged = result.document !== before && result.document.bytes != before.bytes
        // Gateways keep one of two members with the same name. Writing such a document would choose for them.
        if isChanged, before === input.document, !result.isDeleted, let name = before.root.duplicateMemberName {
            throw Decision.Fault(
                rule: attempt.rule.name,
                reason: "two members are named '\(name)': gateways keep one of them, and writing the document would "
                    + "be a guess at which")
        }
        draft = result
        if !decision.fired.contains(attempt.index) { decision.fired.append(attempt.index) }
        guard isChanged else { return }
        changing.append(attempt.index)
        findCandidates()
    }

    private func finished() throws(Decision.Fault) -> Decision {
        var decision = decision
        decision.document = draft.document
        decision.attachments = draft.attachments
        decision.puts = draft.puts
        decision.isDeletion = draft.isDeleted
        decision.isChanged =
            draft.document !== input.document && draft.document.bytes != input.document.bytes
        if decision.isMapping {
            decision.dropLostAttachments()
            let names = decision.fired.map { ruleSet.rules[$0].name }
            if let fault = decision.mappingFault(fired: names) { throw fault }
        }
        return decision
    }

    /// Names the rules that changed the document in the last two passes.
    private func loop() -> Decision.Fault {
        let rules = Set(passes.suffix(2).joined()).sorted()
        let names = rules.map { ruleSet.rules[$0].name }
        return Decision.Fault(rule: nil, reason: "rule loop: " + names.joined(separator: " ↔ "))
    }
}
