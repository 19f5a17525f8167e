internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Rules

/// A decision about a candidate that must be carried out.
struct Plan: Sendable {
    var report: DecisionReport
    /// Why it must not be carried out.
    var refusal: DeadLetter?
    /// Why related documents may not be changed; nil if they may.
    var refusalOfRelated: String?
    /// Whether anything was written or sent for it so far.
    var hasEffect = false

    init(_ report: DecisionReport) { self.report = report }

    var decision: Decision { report.decision }

    /// Whether there is anything to write or to report.
    var needsAction: Bool { isEffective || decision.error != nil }

    /// Whether there may be anything to write.
    var isEffective: Bool { decision.isChanged || hasOtherEffects }

    /// Whether there may be effects besides the write of the changed document.
    var hasOtherEffects: Bool { !decision.effects.isEmpty }

    var sendsWebhooks: Bool { decision.outside.contains { $0.webhook != nil } }
}

/// What the state must record once a decision is carried out.
struct PlanResult: Sendable {
    /// The names of the rules that fired.
    var rules: [String] = []
    /// Rules that failed and were skipped. Their dead letters are saved once the other rules' effects are written.
    var skippedRules: [SkippedRule] = []
    /// Whether the document becomes a tombstone.
    var isDeletion = false
    /// The content that led to its write. Nil if such writes are not counted.
    var fingerprint: ContentFingerprint?
    /// The times of its rules with `at:`; nil if they are unknown.
    var times: [RuleTime]?
    /// The states that rules with `changed`, `enter` or `leave` see now, if they differ from the earlier ones.
    var seen: [SeenByRule] = []
    /// The rules among these that see the document for the first time, in a pass that only learns.
    var learned: [String] = []
    /// The rules whose receivers' answers are in the write; nil if there are none. With such answers, the rules must
    /// decide the new revision.
    var cause: RuleChain?
    /// The rules that led to the replaced revision, which the new revision inherits. Nil if they are not needed.
    var keptChain: RuleChain?
    /// The revision that its write replaced. Nil: it was not written.
    var replacedRevision: RevisionID?
    /// Accepted webhooks and emitted lines, for the trace.
    var effects: [TraceEntry.Effect] = []
    /// The document's contributions to totals; nil: unknown.
    var contributed: ContributedAmounts?
}
