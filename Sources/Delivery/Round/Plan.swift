internal import BotState
internal import DocumentFlow
internal import Rules

/// A decision about a candidate, to be carried out.
struct Plan: Sendable {
    var report: DecisionReport
    /// Why it must not be carried out.
    var refusal: DeadLetter?
    /// Why no related document may be changed; nil if they may.
    var refusalOfRelated: String?
    /// Whether anything was written or sent for it so far.
    var hasEffect = false

    init(_ report: DecisionReport) { self.report = report }

    var decision: Decision { report.decision }

    /// Whether there is anything to write or to report.
    var needsAction: Bool { isEffective || decision.error != nil }

    /// Whether there may be anything to write.
    var isEffective: Bool { decision.isChanged || reachesFurther }

    /// Whether there may be anything to do beside the write of the changed document.
    var reachesFurther: Bool { !decision.effects.isEmpty }

    var sendsWebhooks: Bool { decision.outside.contains { $0.webhook != nil } }
}

/// What a decision leaves in the state once it is carried out.
struct PlanResult: Sendable {
    /// The names of the rules that fired.
    var rules: [String] = []
    /// Rules that failed and were skipped. Their dead letters are saved once the effects of the other rules are written.
    var skippedRules: [SkippedRule] = []
    /// Whether the document becomes a tombstone.
    var isDeletion = false
    /// The content that led to its write. Nil if its writes are not counted.
    var fingerprint: ContentFingerprint?
    /// The times of its rules with `at:`; nil if nothing is known of them.
    var times: [RuleTime]?
    /// The rules whose receivers' answers are in the write; nil if there are none. Then the new revision is a change that
    /// rules must see.
    var cause: RuleChain?
    /// The rules that led to the revision that is replaced. Nil if they are not needed. The new one has the same.
    var keptChain: RuleChain?
    /// What the document adds to totals; nil: nothing is known of that.
    var contributed: ContributedAmounts?
}
