internal import GRDB
internal import GatewayClient

// Which rules led to a revision that a `put` wrote. Such a revision is decided like any other; its chain tells how many
// rules lie between it and a change made by somebody else.
extension Ledger {
    /// A revision that a `put` wrote.
    struct CausedRevision: Sendable {
        /// The document that was written.
        let id: DocumentID
        /// As the gateway answered it.
        let revision: RevisionID
        /// The rules that led to it, the last one included.
        let chain: RuleChain
    }

    /// Records revisions that `put`s wrote. One transaction; the oldest beyond 200,000 are forgotten.
    ///
    /// - Throws: ``StateError``: nothing was written.
    func recordCausedRevisions(_ revisions: [CausedRevision]) async throws(StateError) {
        guard !revisions.isEmpty else { return }
        try await write { database in
            let insert = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO caused_revision (id, revision, chain) VALUES (?, ?, ?)")
            for caused in revisions {
                let chain = WholeText(String(decoding: caused.chain.json, as: UTF8.self))
                try insert.execute(
                    arguments: [WholeText(caused.id.text), WholeText(caused.revision.text), chain])
            }
            try database.execute(
                sql: "DELETE FROM caused_revision WHERE rowid <= (SELECT MAX(rowid) FROM caused_revision) - ?",
                arguments: [Self.ownRevisionLimit])
        }
    }

    /// For each revision the rules that led to it; an empty chain if it was written by somebody else.
    func chains(
        of revisions: [(id: DocumentID, revision: RevisionID)]
    ) async throws(StateError) -> [RuleChain] {
        guard !revisions.isEmpty else { return [] }
        return try await read { database in
            let select = try database.cachedStatement(
                sql: "SELECT chain FROM caused_revision WHERE id = ? AND revision = ?")
            return try revisions.map { caused in
                let chain = try WholeText.fetchOne(
                    select, arguments: [WholeText(caused.id.text), WholeText(caused.revision.text)])
                return chain.map { RuleChain(json: Array($0.text.utf8)) } ?? RuleChain()
            }
        }
    }
}
