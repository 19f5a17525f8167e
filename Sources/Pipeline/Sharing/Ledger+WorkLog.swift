internal import Encodings
internal import Fleet

/// What waits in a log that is in a state's file.
package struct OwnLogStanding: Sendable {
    /// Changes in the log.
    package let waiting: Int
    /// Since when the oldest of them waits, in seconds; nil if there is none.
    package let oldest: Int?
    /// Changes that wait for another try outside the log.
    package let parked: Int
}

// The log of those that share the work, beside the rest of the state.
extension Ledger {
    /// The log in the state's file, which this process holds.
    ///
    /// - Throws: ``StateError``: `.unreadable` if it has another number of partitions.
    func workLog(partitions: Int) async throws(StateError) -> SQLiteWorkLog {
        let log = SQLiteWorkLog(store, path: path, partitions: partitions)
        try await log.prepare()
        do { try await log.beginAlone() } catch { throw .file(path, error) }
        return log
    }

    /// What waits in the log of the state's file. Nil: it has none.
    ///
    /// - Throws: ``StateError``.
    package func ownLog() throws(StateError) -> OwnLogStanding? {
        guard store.language == .sqlite else { return nil }
        return try read { session in
            guard try session.hasTable("work_lease") else { return nil }
            let log = try SQLiteLog(session, owner: "", now: Timestamp.secondsNow * 1000, leaseTime: 0)
            let backlog = try log.backlog()
            let oldest = backlog.parts.compactMap(\.oldestAge).max()
            return OwnLogStanding(
                waiting: backlog.entries, oldest: oldest.map { max(0, Int($0.components.seconds)) },
                parked: backlog.parts.reduce(0) { $0 + $1.parked })
        }
    }

    /// Moves the log, if there is one, elsewhere in the feed. Forgets what waits in it.
    ///
    /// - Parameter sequence: JSON text; nil: where a new bot begins.
    static func moveLog(to sequence: String?, _ session: any StateSession) throws {
        guard try session.hasTable("work_lease") else { return }
        try session.execute("UPDATE fleet SET seq = ?", [sequence])
        for table in ["work", "parked", "mark"] { try session.execute("DELETE FROM \(table)") }
    }

    /// Removes the log from the state's file, if there is one: a run without it begins at the checkpoint. That is before
    /// all that waits in the log, so nothing is lost. A later run with a log does not decide again what this one decides.
    func leaveLog() async throws(StateError) {
        guard store.language == .sqlite, try await read({ try $0.hasTable("work_lease") }) else { return }
        try await write { try SQLiteLogTables.remove($0) }
    }
}

extension StateError {
    /// What an error of a log in a state's file means.
    static func file(_ path: String, _ error: WorkLogError) -> StateError {
        switch error {
        case .unavailable(let reason): .locked(holder: reason)
        case .fenced(let reason), .unknownCommit(let reason), .refused(let reason):
            .cannotWrite(path: path, reason: reason)
        }
    }
}
