internal import Encodings
internal import LosslessJSON

/// Why a rule fires or does not fire for a document.
package struct RuleExplanation: Sendable {
    /// The result of the rule's `if:`.
    package enum Condition: Hashable, Sendable {
        /// The rule has no `if:`.
        case none
        case holds
        case fails
        case notEvaluated
        /// The program gave no answer.
        case failed(String)
    }

    /// The result of the rule's `at:`.
    package enum Time: Hashable, Sendable {
        /// The rule has no `at:`.
        case none
        /// The time has passed.
        case past
        /// The time is in the future, in seconds since 1970.
        case future(Int)
        /// The program gives no time.
        case missing
        case notEvaluated
        case failed(String)
    }

    /// Whether the rule fires.
    package enum Outcome: Hashable, Sendable {
        case fires
        case doesNotFire
        /// Undecided, because the rule fails.
        case undecided
    }

    /// The result of the rule's actions.
    package enum Consequence: Hashable, Sendable {
        /// The actions were not tried, or they succeeded.
        case none
        /// A `test` of a patch failed.
        case testFailed
        case failed(String)
    }

    /// The rule's name, as in the file.
    package let name: String
    /// All clauses are explained, even if an early one decides.
    package let when: SelectorExplanation
    /// Nil without `unless`.
    package let unless: SelectorExplanation?
    /// Set by a caller that can run jq. Initially ``Time/notEvaluated`` if the rule has an `at:`.
    package var time: Time
    /// Set by a caller that can run jq. Initially ``Condition/notEvaluated`` if the rule has an `if:`.
    package var condition: Condition
    /// Set by a caller that has run the actions.
    package var consequence = Consequence.none
    /// The rule's `if:` and the values that it read. Nil if it was not evaluated.
    package var conditionDetails: ConditionExplanation?
    /// How the outcome differs when all rules run together. Nil if it does not differ.
    package var combinedRemark: String?
    /// Whether the decision continues without the rule if it fails.
    private let isSkippedOnError: Bool
    private let kind: RuleFileKind
    /// Why the rule can't fire for this kind of change, whatever its selectors. Nil if it can.
    private let exclusion: String?
    /// How the rule compares the document with the state that it last saw. Nil if it does not compare.
    let comparison: EdgeExplanation?

    /// - Parameter lastSeen: The state of the document that the rule last saw.
    init(
        _ rule: Rule, _ document: JSONValue, isDeleted: Bool, isInConflict: Bool, lastSeen: LastSeen? = nil,
        _ explainer: inout SelectorExplainer
    ) {
        name = rule.name
        when = explainer.explain(rule.when, named: "when", of: document)
        if let selector = rule.unless {
            unless = explainer.explain(selector, named: "unless", of: document)
        } else {
            unless = nil
        }
        time = rule.time == nil ? .none : .notEvaluated
        condition = rule.condition == nil ? .none : .notEvaluated
        isSkippedOnError = rule.definition.onError == .skip
        kind = rule.kind
        comparison = rule.edges.map { edges in
            let observation = try? edges.observe(
                rule, document, isDeleted ? .deleted : .present, before: lastSeen, MatchScratch())
            return EdgeExplanation(edges: edges, before: lastSeen, observation: observation ?? nil)
        }
        let holds = when.result == .holds
        exclusion = Self.exclusion(
            rule, document, isDeleted: isDeleted, isInConflict: isInConflict,
            isHidden: holds && (try? rule.sees(document, MatchScratch())) == false)
    }

    /// - Parameter isHidden: Whether the rule can't see the document, although its `when` holds.
    private static func exclusion(
        _ rule: Rule, _ document: JSONValue, isDeleted: Bool, isInConflict: Bool, isHidden: Bool
    ) -> String? {
        if rule.phase == .resolving, !isInConflict {
            return "it applies only to documents in conflict (use --in-conflict to explain it for one)"
        }
        guard rule.edges != nil || rule.on.contains(isDeleted ? .delete : .change) else {
            return isDeleted
                ? "it does not apply to deletions; that needs `on: [delete]`"
                : "it applies only to deletions (`on: [delete]`)"
        }
        guard !isHidden, rule.seesDesignDocuments || !document.isDesignDocument else {
            return "the document is a design document, which rules see only if a condition on `_id` in their `when` "
                + "names `_design/`"
        }
        return document.kind == .object ? nil : "the document is not an object"
    }

    /// The outcome if it does not depend on `if:`. Otherwise nil.
    private var earlyOutcome: (outcome: Outcome, reason: String)? {
        if let exclusion { return (.doesNotFire, "does not fire: \(exclusion)") }
        switch when.result {
        case .holds: break
        case .fails: return (.doesNotFire, "does not fire: `when` does not hold")
        case .noAnswer(let reason): return (.undecided, "can't be decided: \(reason)")
        }
        switch unless?.result {
        case .fails, nil: return nil
        case .holds: return (.doesNotFire, "does not fire: `unless` holds")
        case .noAnswer(let reason): return (.undecided, "can't be decided: \(reason)")
        }
    }

    /// The outcome if `at:` decides it. Otherwise nil.
    private var timeOutcome: (outcome: Outcome, reason: String)? {
        switch time {
        case .none, .past: nil
        case .future(let due): (.doesNotFire, "does not fire before \(Timestamp.text(due)), its time (`at`)")
        case .missing: (.doesNotFire, "does not fire: `at` gives no time")
        case .notEvaluated: (.undecided, "would fire when its time comes; `at` was not evaluated")
        case .failed(let reason): (.undecided, "can't be decided: \(DisplayText.plain(reason, limit: 400))")
        }
    }

    private var firing: (outcome: Outcome, reason: String) {
        switch consequence {
        case .none: (.fires, "fires")
        case .testFailed: (.doesNotFire, "does not fire: a `test` of its patch fails")
        case .failed(let reason):
            (
                .undecided,
                (isSkippedOnError ? "fails and is skipped: " : "fails, and the document \(kind.failure): ")
                    + DisplayText.plain(reason, limit: 400)
            )
        }
    }

    /// Whether only `at:` and `if:` can still prevent the rule from firing.
    package var selectorsHold: Bool { earlyOutcome == nil }

    /// Whether only `if:` can still prevent the rule from firing.
    var dependsOnlyOnCondition: Bool {
        earlyOutcome == nil && timeOutcome == nil && comparison?.dependsOnCondition != false
    }

    /// The outcome for the rule alone, from its selectors, ``condition`` and ``consequence``.
    package var outcome: Outcome { decision.outcome }

    /// The outcome and its reason, on one line.
    package var reason: String { combinedRemark.map { "\(decision.reason); \($0)" } ?? decision.reason }

    private var decision: (outcome: Outcome, reason: String) {
        guard let comparison else { return decisionBySelectors }
        let bySelectors = decisionBySelectors
        if exclusion != nil || bySelectors.outcome == .undecided { return bySelectors }
        let (fires, reason) = comparison.outcome(matches: bySelectors.outcome == .fires)
        guard fires else {
            return bySelectors.outcome == .fires
                ? (.doesNotFire, "does not fire: \(reason)")
                : (bySelectors.outcome, bySelectors.reason + comparison.remarkOnMismatch)
        }
        return (firing.outcome, "\(firing.reason): \(reason)")
    }

    /// The outcome without the comparison with the last seen state.
    private var decisionBySelectors: (outcome: Outcome, reason: String) {
        if let earlyOutcome = earlyOutcome ?? timeOutcome { return earlyOutcome }
        return switch condition {
        case .none, .holds: firing
        case .fails: (.doesNotFire, "does not fire: `if` is not true")
        case .notEvaluated where comparison?.dependsOnCondition == false: firing
        case .notEvaluated: (.undecided, "would fire if its `if` is true; `if` was not evaluated")
        case .failed(let reason): (.undecided, "can't be decided: \(DisplayText.plain(reason, limit: 400))")
        }
    }
}
