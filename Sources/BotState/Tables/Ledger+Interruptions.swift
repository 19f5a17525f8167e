package import GatewayClient

extension Ledger {
    /// Records that the process crashed while it decided these revisions.
    ///
    /// - Returns: All revisions during whose decision the process crashed, and how many times.
    package func noteInterruptions(
        _ revisions: [(id: DocumentID, revision: RevisionID)]
    ) async throws(StateError) -> [(id: DocumentID, revision: RevisionID, crashCount: Int)] {
        if !revisions.isEmpty {
            try await write { database in
                for (id, revision) in revisions {
                    try database.execute(
                        """
                        INSERT INTO interrupted_decision (id, revision, deaths) VALUES (?, ?, 1)
                        ON CONFLICT (id, revision) DO UPDATE SET deaths = interrupted_decision.deaths + 1
                        """, [TextAsBytes(id.text), TextAsBytes(revision.text)])
                }
            }
        }
        return try await read { database in
            try database.rows(
                "SELECT id, revision, deaths FROM interrupted_decision"
            ).map { row in
                (
                    DocumentID((row["id"] as TextAsBytes?)?.text ?? ""),
                    RevisionID((row["revision"] as TextAsBytes?)?.text ?? ""), row["deaths"]
                )
            }
        }
    }

    /// Deletes the records of crashes for these documents, whose decision was completed.
    static func forgetInterruptions(of documents: [DocumentID], in database: any StateSession) throws {
        try database.executeEach(
            "DELETE FROM interrupted_decision WHERE id = ?", documents.map { [TextAsBytes($0.text)] })
    }
}
