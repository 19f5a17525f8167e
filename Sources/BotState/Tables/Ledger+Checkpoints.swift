internal import DocumentFlow
internal import Encodings
package import GatewayClient

extension Ledger {
    /// The newest checkpoint, and the hash of the rules then in force; nil if there is none or it was removed.
    package func checkpoint() throws(StateError) -> (sequence: SequenceID, ruleSetHash: String)? {
        guard let newest = try checkpoints(limit: 1).first, let sequence = newest.sequence else { return nil }
        return (sequence, newest.ruleSetHash)
    }

    /// How long ago the checkpoint was saved; nil if there is none.
    package func checkpointAge() throws(StateError) -> Duration? {
        guard let newest = try checkpoints(limit: 1).first, newest.sequence != nil,
            let savedAt = UTCDate(rfc3339: newest.savedAt)
        else { return nil }
        return .seconds(max(0, Timestamp.secondsNow - savedAt.seconds))
    }

    /// Whether the checkpoint was removed: then no copy of it may replace it.
    package func isCheckpointReset() throws(StateError) -> Bool {
        guard let newest = try checkpoints(limit: 1).first else { return false }
        return newest.sequence == nil
    }

    /// The checkpoint and about a hundred earlier ones, from each run, hour and day; the newest first.
    package func checkpointHistory() throws(StateError) -> [CheckpointEntry] { try checkpoints(limit: nil) }

    /// Saves the safe sequence: it is on disk when this returns. Call it only after everything up to it is finished.
    ///
    /// - Parameter reason: Why it was set; nil: regular progress of a run.
    package func saveCheckpoint(_ sequence: SequenceID, reason: String? = nil) async throws(StateError) {
        let checkpoint = newCheckpoint(sequence, reason: reason)
        try await write { database in
            try Self.append(checkpoint, database)
            guard reason != nil else { return }
            try Self.invalidateCounts(database)
            try Self.moveLog(to: sequence.description, database)
        }
    }

    /// Removes the checkpoint. Its history stays.
    package func resetCheckpoint(reason: String) async throws(StateError) {
        let checkpoint = newCheckpoint(nil, reason: reason)
        try await write { database in
            try Self.append(checkpoint, database)
            try Self.invalidateCounts(database)
            try Self.moveLog(to: nil, database)
        }
    }

    private func checkpoints(limit: Int?) throws(StateError) -> [CheckpointEntry] {
        let rows = try read { database in
            try database.rows("SELECT * FROM checkpoint ORDER BY number DESC LIMIT ?", [limit ?? Int.max])
        }
        var entries: [CheckpointEntry] = []
        for row in rows { entries.append(try entry(row)) }
        return entries
    }

    private func entry(_ row: StateRow) throws(StateError) -> CheckpointEntry {
        let text: String? = row["sequence"]
        let sequence = text.flatMap { SequenceID($0) }
        guard text == nil || sequence != nil else {
            throw .unreadable(
                path: path,
                reason: "its checkpoint is not a sequence; restore the file from a backup, or move it away")
        }
        return CheckpointEntry(
            number: row["number"], sequence: sequence, ruleSetHash: row["rule_set"], savedAt: row["saved_at"],
            reason: row["reason"])
    }

    // MARK: - Saving

    /// A checkpoint to save.
    struct NewCheckpoint {
        let sequence: SequenceID?
        let ruleSetHash: String
        let run: String
        let reason: String?
    }

    func newCheckpoint(_ sequence: SequenceID?, reason: String?) -> NewCheckpoint {
        NewCheckpoint(sequence: sequence, ruleSetHash: ruleSetHash, run: run, reason: reason)
    }

    private static let ruleSetBefore = "(SELECT rule_set FROM checkpoint ORDER BY number DESC LIMIT 1)"

    /// Also removes superfluous entries of the history. Without rules, the new entry keeps the rule set of the previous
    /// one.
    static func append(_ checkpoint: NewCheckpoint, _ database: any StateSession) throws {
        try database.execute(
            """
            INSERT INTO checkpoint (sequence, rule_set, saved_at, run, reason)
            VALUES (?, COALESCE(NULLIF(?, ''), \(ruleSetBefore), ''), ?, ?, ?)
            """,
            [
                checkpoint.sequence?.description, checkpoint.ruleSetHash, Timestamp.now, checkpoint.run,
                checkpoint.reason,
            ])
        let items = try database.rows(
            "SELECT number, saved_at, run, reason IS NOT NULL AS has_reason FROM checkpoint ORDER BY number DESC"
        ).map { row in
            CheckpointHistory.Item(
                number: row["number"], savedAt: row["saved_at"], run: row["run"], hasReason: row["has_reason"])
        }
        try database.executeEach(
            "DELETE FROM checkpoint WHERE number = ?", CheckpointHistory.obsolete(items).map { [$0] })
    }
}

/// One entry of the history: a checkpoint, or its removal.
package struct CheckpointEntry: Sendable, Equatable {
    /// Increases with every entry and is never reused.
    package let number: Int
    /// Nil: the checkpoint was removed.
    package let sequence: SequenceID?
    /// The hash of the rules in force then, or else that of the previous entry; empty if there never were any.
    package let ruleSetHash: String
    /// UTC (RFC 3339).
    package let savedAt: String
    /// Why it was set or removed; nil: regular progress of a run.
    package let reason: String?
}

/// Decides which old checkpoints are kept, because a run may save one every second.
enum CheckpointHistory {
    /// The facts that the choice depends on.
    struct Item {
        let number: Int
        let savedAt: String
        /// Distinguishes runs.
        let run: String
        let hasReason: Bool
    }

    /// The maximum number of entries of each kind that are kept; 101 in total, with the newest one.
    private static let maxEntriesPerKind = 40
    private static let runEnds = 20
    private static let hours = 20
    private static let days = 20

    /// The numbers of the entries to delete. Kept are the newest, those with a reason, the first and the last of each
    /// run, and the last of each hour and of each day.
    ///
    /// - Parameter items: Newest first.
    static func obsolete(_ items: [Item]) -> [Int] {
        var kept: Set<Int> = []
        func keep(_ candidates: some Sequence<Item>, atMost limit: Int) {
            kept.formUnion(candidates.prefix(limit).map(\.number))
        }
        keep(items, atMost: 1)
        keep(items.lazy.filter(\.hasReason), atMost: maxEntriesPerKind)
        let ends = items.indices.filter { index in
            index == 0 || items[index - 1].run != items[index].run || index == items.count - 1
                || items[index + 1].run != items[index].run
        }
        keep(ends.map { items[$0] }, atMost: runEnds)
        // `2026-11-20T10:00:00Z`
        keep(newest(items, withPrefixLength: "2026-11-20T10".utf8.count), atMost: hours)
        keep(newest(items, withPrefixLength: "2026-11-20".utf8.count), atMost: days)
        return items.map(\.number).filter { !kept.contains($0) }
    }

    /// The newest item of each group whose times share a prefix of this length.
    private static func newest(_ items: [Item], withPrefixLength length: Int) -> [Item] {
        items.indices.filter { index in
            index == 0 || items[index - 1].savedAt.prefix(length) != items[index].savedAt.prefix(length)
        }.map { items[$0] }
    }
}
