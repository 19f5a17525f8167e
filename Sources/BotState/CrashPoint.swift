internal import FoundationEssentials
internal import Glibc
internal import Locking

/// The places between two effects of a run. If the process crashes there, the next run must recover.
///
/// In debug builds only, the process kills itself (SIGKILL) at the place that `CHANGEBOT_CRASH_AT` names: `PLACE`, or
/// `PLACE:N` for the Nth time it passes. Tests use this to check each place. A test in the same process can observe the
/// places that its own tasks pass.
package enum CrashPoint: String, CaseIterable, Sendable {
    /// Decided; nothing is written yet.
    case decided
    /// The other documents of a decision are accepted; their rule chains are not recorded.
    case othersWritten
    /// The rule chains are recorded; the changed documents themselves are not written.
    case othersRemembered
    /// Related documents are accepted; their rule chains are not recorded.
    case relatedWritten
    /// The rule chains of related documents are recorded; the changed documents themselves are not written.
    case relatedRemembered
    /// The effects outside the database are done; the changed documents themselves are not written.
    case outsideEffectsDone
    /// The gateway has accepted documents; this is not recorded.
    case written
    /// The gateway has accepted documents with totals; the ledger still lists them as unwritten.
    case totalsWritten
    /// All documents are counted and the ledger has recorded that; no total is written yet.
    case countsCompleted
    /// The results of decisions are recorded: own revisions, dead letters, timers, counts.
    case recorded
    /// Finished, but not covered by a checkpoint yet.
    case finished
    case checkpointSaved
    /// The state has recorded that a pass of scheduled rules began.
    case passBegun
    /// The pass has ended; the state has not recorded that.
    case passDone
    /// The database has its mark; the state has not recorded that.
    case databaseMarked
    /// The copy of the checkpoint is in the database.
    case checkpointCopied
    /// The data about the old database is deleted from the state. The run has not restarted.
    case stateForgotten

    /// Kills the process if it was told to crash at this place. Does nothing in release builds.
    package func pass() {
        #if DEBUG
            Self.observer?(self)
            guard let wanted = Self.wanted, wanted.place == self else { return }
            let passed = Self.passed.withLock { count in
                count += 1
                return count
            }
            if passed == wanted.time { kill(getpid(), SIGKILL) }
        #endif
    }

    #if DEBUG
        /// Called with each place that a task passes.
        @TaskLocal package static var observer: (@Sendable (CrashPoint) -> Void)?

        private static let passed = Locked(0)

        private static let wanted: (place: CrashPoint, time: Int)? = {
            let value = ProcessInfo.processInfo.environment["CHANGEBOT_CRASH_AT"] ?? ""
            let parts = value.split(separator: ":")
            guard let place = parts.first.flatMap({ CrashPoint(rawValue: String($0)) }) else { return nil }
            return (place, parts.dropFirst().first.flatMap { Int($0) } ?? 1)
        }()
    #endif
}
