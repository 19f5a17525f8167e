internal import Foundation
internal import Locking

/// The places between two effects of a run: whatever is lost when the process dies there must be found again.
///
/// In debug builds, and only there, the process kills itself (SIGKILL) at the place that `CHANGEBOT_CRASH_AT` names:
/// `PLACE`, or `PLACE:N` for the Nth time it is passed. That is how tests see that the promise holds at each of them. A
/// test in the same process observes the places that its own tasks pass.
package enum CrashPoint: String, CaseIterable, Sendable {
    /// Decided; nothing is written yet.
    case decided
    /// The other documents of a decision are accepted, and it is not remembered who wrote them.
    case othersWritten
    /// It is; the changed documents themselves are not written.
    case othersRemembered
    /// The gateway has accepted documents, and nothing of that is remembered.
    case written
    case deadLettersSaved
    case ownRevisionsSaved
    /// Finished; the checkpoint does not say so yet.
    case finished
    case checkpointSaved
    /// The database has its nonce, the state does not.
    case databaseMarked
    /// The copy of the checkpoint is in the database.
    case checkpointCopied
    /// The state has forgotten the database that was, the new one has no mark yet.
    case stateForgotten

    /// Ends the process if this is the place.
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
        /// Called by the task that passes a place.
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
