internal import Rules

/// What a run decides, what it keeps, and when it ends. Each kind of run is one combination of these properties; no
/// other code distinguishes kinds of runs.
package struct Mode: Sendable {
    /// Which documents are decided.
    package enum Scope: Sendable {
        /// Every change, including tombstones and conflicts. Own revisions are skipped.
        case changes
        /// Live documents, from any source. Own revisions are decided again if they were written before this time, in
        /// seconds since 1970; nil: more than an hour ago.
        case documents(writtenBefore: Int?)
    }

    var scope = Scope.changes
    /// Whether a later run continues where this one ends.
    var keepsCheckpoint = true
    /// Limits for rules that write the same documents over and over. Nil for runs that can't loop.
    var guards: EffectLimits?
    /// Whether the run ends once everything that it has read and written is settled. Then it decides what it wrote itself,
    /// without waiting for the feed.
    var endsOnceSettled = false
    /// The scheduled time of the pass, in seconds since 1970. It distinguishes the events of this pass from those of
    /// earlier passes. Nil: the pass is not scheduled.
    var passTime: Int?
    /// Whether the run only records what rules with `changed`, `enter` or `leave` see. Nothing fires.
    package var onlyLearns = false

    /// `run`: follows the feed until it is stopped.
    package static func follow(_ guards: EffectLimits?) -> Mode { Mode(guards: guards) }

    /// `run --once`: follows the feed to its end.
    package static func once(_ guards: EffectLimits?) -> Mode { Mode(guards: guards, endsOnceSettled: true) }

    /// A member that shares the work with others: the log stores its position.
    package static func share(_ guards: EffectLimits?) -> Mode { Mode(keepsCheckpoint: false, guards: guards) }

    /// `dead-letters retry`.
    package static let retry = Mode(keepsCheckpoint: false, endsOnceSettled: true)

    /// `fix`, and changed rules for all documents.
    package static let pass = Mode(
        scope: .documents(writtenBefore: nil), keepsCheckpoint: false, endsOnceSettled: true)

    /// `fix --learn`, and rules with `changed`, `enter` or `leave` that are new in a run.
    package static let learn = Mode(
        scope: .documents(writtenBefore: Int.max), keepsCheckpoint: false, endsOnceSettled: true, onlyLearns: true)

    /// Rules with `every`.
    ///
    /// - Parameters:
    ///   - began: When the pass began, in seconds since 1970. Revisions written earlier are decided again.
    ///   - time: The scheduled time.
    package static func scheduledPass(began: Int, time: Int) -> Mode {
        Mode(
            scope: .documents(writtenBefore: began), keepsCheckpoint: false, endsOnceSettled: true, passTime: time)
    }

    /// A resumed rule, for the changes of the feed that it missed while it was paused.
    package static func makeUp(_ guards: EffectLimits?) -> Mode {
        Mode(keepsCheckpoint: false, guards: guards, endsOnceSettled: true)
    }

    /// Whether every change is decided, as a change.
    var decidesChanges: Bool { if case .changes = scope { true } else { false } }
}
