internal import GRDB
internal import GatewayClient

extension Ledger {
    /// What the run before died over, for a run that has the state alone; others take no notes.
    func interruptedDecisions() async throws(StateError) -> InterruptedDecisions {
        guard access == .alone else { return InterruptedDecisions() }
        return try await InterruptedDecisions(ledger: self, path: path + ".deciding")
    }

    /// Notes that the process died while it decided these revisions.
    ///
    /// - Returns: All revisions over which it has died so often that they must not be decided any more.
    func noteInterruptions(
        _ revisions: [(id: DocumentID, revision: RevisionID)]
    ) async throws(StateError) -> [(id: DocumentID, revision: RevisionID)] {
        if !revisions.isEmpty {
            try await write { database in
                for (id, revision) in revisions {
                    try database.execute(
                        sql: """
                            INSERT INTO interrupted_decision (id, revision, deaths) VALUES (?, ?, 1)
                            ON CONFLICT (id, revision) DO UPDATE SET deaths = deaths + 1
                            """,
                        arguments: [WholeText(id.text), WholeText(revision.text)])
                }
            }
        }
        return try await read { database in
            try Row.fetchAll(
                database, sql: "SELECT id, revision FROM interrupted_decision WHERE deaths >= ?",
                arguments: [InterruptedDecisions.limit]
            ).map { row in
                (
                    DocumentID((row["id"] as WholeText?)?.text ?? ""),
                    RevisionID((row["revision"] as WholeText?)?.text ?? "")
                )
            }
        }
    }
}
