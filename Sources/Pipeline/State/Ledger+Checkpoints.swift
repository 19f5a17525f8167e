internal import DocumentFlow
internal import Encodings
internal import GRDB
package import GatewayClient

extension Ledger {
    /// The newest checkpoint, and the hash of the rules then in force; nil if there is none or it was removed.
    package func checkpoint() throws(StateError) -> (sequence: SequenceID, ruleSetHash: String)? {
        guard let newest = try checkpoints(limit: 1).first, let sequence = newest.sequence else { return nil }
        return (sequence, newest.ruleSetHash)
    }

    /// Whether the checkpoint was removed: then no copy of it may replace it.
    func isCheckpointReset() throws(StateError) -> Bool {
        guard let newest = try checkpoints(limit: 1).first else { return false }
        return newest.sequence == nil
    }

    /// The checkpoint and its predecessors, newest first: about a hundred, from each run, hour and day.
    package func checkpointHistory() throws(StateError) -> [CheckpointEntry] { try checkpoints(limit: nil) }

    /// Saves the safe sequence. To be called only after everything up to it is finished.
    ///
    /// - Parameter reason: Why it was set; nil: the run went on.
    package func saveCheckpoint(_ sequence: SequenceID, reason: String? = nil) async throws(StateError) {
        let checkpoint = newCheckpoint(sequence, reason: reason)
        try await write { try Self.append(checkpoint, $0) }
    }

    /// Removes the checkpoint. Its history stays.
    package func resetCheckpoint(reason: String) async throws(StateError) {
        let checkpoint = newCheckpoint(nil, reason: reason)
        try await write { try Self.append(checkpoint, $0) }
    }

    private func checkpoints(limit: Int?) throws(StateError) -> [CheckpointEntry] {
        let rows = try read { database in
            try Row.fetchAll(
                database, sql: "SELECT * FROM checkpoint ORDER BY number DESC LIMIT ?", arguments: [limit ?? -1])
        }
        var entries: [CheckpointEntry] = []
        for row in rows { entries.append(try entry(row)) }
        return entries
    }

    private func entry(_ row: Row) throws(StateError) -> CheckpointEntry {
        let text: String? = row["sequence"]
        let sequence = text.flatMap { SequenceID($0) }
        guard text == nil || sequence != nil else {
            throw .unreadable(path: path, reason: "its checkpoint is not a sequence")
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

    /// Also thins out the history. Without rules, the entry keeps the rule set of the one before.
    static func append(_ checkpoint: NewCheckpoint, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO checkpoint (sequence, rule_set, saved_at, run, reason)
                VALUES (?, COALESCE(NULLIF(?, ''), \(ruleSetBefore), ''), ?, ?, ?)
                """,
            arguments: [
                checkpoint.sequence?.description, checkpoint.ruleSetHash, Timestamp.now, checkpoint.run,
                checkpoint.reason,
            ])
        let select = try database.cachedStatement(
            sql: "SELECT number, saved_at, run, reason IS NOT NULL AS has_reason FROM checkpoint ORDER BY number DESC")
        let items = try Row.fetchAll(select).map { row in
            CheckpointHistory.Item(
                number: row["number"], savedAt: row["saved_at"], run: row["run"], hasReason: row["has_reason"])
        }
        let delete = try database.cachedStatement(sql: "DELETE FROM checkpoint WHERE number = ?")
        for number in CheckpointHistory.superfluous(items) { try delete.execute(arguments: [number]) }
    }
}
