internal import DocumentFlow
internal import GatewayClient

/// The attempts for a candidate so far.
package struct History: Sendable {
    /// How many writes were attempted, whatever their results.
    var attempts = 0
    /// Consecutive writes that conflicted.
    var conflicts = 0
    /// Writes on which the gateway failed.
    var failures = 0
    /// Writes that conflicted although no revision other than the candidate's was found.
    var unexplainedConflicts = 0
    /// Consecutive decisions whose document changed before the other documents were written.
    var outdatedDecisions = 0
    /// Whether it has waited for something before.
    package var hasWaited = false
    /// Why it is decided alone.
    var isolationReason = IsolationReason.none
    /// Whether the fired rules are counted already: a second decision does not count.
    var isCounted = false
    /// Whether it is counted as a match.
    var isMatched = false
    /// How many dead letters of skipped rules are counted already.
    var countedSkips = 0
    /// The rule that could not resolve its conflict and was skipped. The other rules see the winning revision.
    var unresolved: SkippedRule?
    /// The last rule that fired in a decision or, once the document is written, that changed it. A dead letter names it
    /// if no other rule is known to have failed.
    var lastRule: String?

    /// What its decision needs.
    enum IsolationReason: Int, Sendable {
        case none
        /// Its programs are slow.
        case slow
        /// Its effects take much memory.
        case large
    }

    /// Whether it was postponed because its programs are slow, or its effects take much memory: then it is decided
    /// alone.
    var isSlow: Bool { isolationReason != .none }
    var hasLargeEffects: Bool { isolationReason == .large }

    /// Whether it has just had another ten consecutive conflicts.
    var isContested: Bool { conflicts > 0 && conflicts.isMultiple(of: AttemptLimits.conflicts) }

    /// Counts a write and its outcome.
    mutating func note(_ outcome: BulkOutcome) {
        attempts += 1
        conflicts = outcome == .conflict ? conflicts + 1 : 0
        if case .failed = outcome { failures += 1 }
    }

    mutating func merge(_ other: History) {
        hasWaited = hasWaited || other.hasWaited
        isCounted = isCounted || other.isCounted
        isMatched = isMatched || other.isMatched
    }
}

/// A rule that failed for a document and was skipped (`on_error: skip`).
struct SkippedRule: Sendable {
    let rule: String
    let reason: String
}
