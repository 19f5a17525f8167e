internal import Rules

/// What a run decides, what it keeps, and when it ends. Each kind of run is one composition; nothing else asks which kind
/// it is.
package struct Mode: Sendable {
    /// Which documents are decided.
    package enum Scope: Sendable {
        /// Every change: tombstones and conflicts, too. Own revisions are passed over.
        case changes
        /// Live documents, whatever brings them. Own revisions are decided again if they were written before that time, in
        /// seconds since 1970; nil: up to an hour ago.
        case documents(writtenBefore: Int?)
    }

    var scope = Scope.changes
    /// Whether a later run goes on where this one ends.
    var keepsCheckpoint = true
    /// Guards against rules that write the same documents over and over. Nil for what can't loop.
    var guards: EffectLimits?
    /// Whether the run ends once all that it has read and written is settled: then it decides what its rules write itself,
    /// without waiting for the feed.
    var endsOnceSettled = false
    /// The time for which scheduled rules run, in seconds since 1970: what they do outside the database is other than what
    /// they did the time before. Nil: they have none.
    var passTime: Int?

    /// `run`: follows the feed for ever.
    package static func follow(_ guards: EffectLimits?) -> Mode { Mode(guards: guards) }

    /// `run --once`: follows the feed to its end.
    package static func once(_ guards: EffectLimits?) -> Mode { Mode(guards: guards, endsOnceSettled: true) }

    /// A member that shares the work with others: the log keeps its place.
    package static func share(_ guards: EffectLimits?) -> Mode { Mode(keepsCheckpoint: false, guards: guards) }

    /// `dead-letters retry`.
    package static let retry = Mode(keepsCheckpoint: false, endsOnceSettled: true)

    /// `fix`, and changed rules for all documents.
    package static let pass = Mode(
        scope: .documents(writtenBefore: nil), keepsCheckpoint: false, endsOnceSettled: true)

    /// Rules with `every`.
    ///
    /// - Parameters:
    ///   - began: When the pass began, in seconds since 1970: it decides again what was written before.
    ///   - time: The time for which it runs.
    package static func scheduledPass(began: Int, time: Int) -> Mode {
        Mode(
            scope: .documents(writtenBefore: began), keepsCheckpoint: false, endsOnceSettled: true, passTime: time)
    }

    /// Whether every change is decided, as a change.
    var decidesChanges: Bool { if case .changes = scope { true } else { false } }
}
