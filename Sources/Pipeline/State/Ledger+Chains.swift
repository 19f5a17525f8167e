internal import GRDB
package import GatewayClient

// Which rules led to a revision that a `put` wrote. Such a revision is decided like any other; the chain tells how far
// it is from a change that somebody made.
extension Ledger {
    /// A revision that a `put` wrote.
    package struct CausedRevision: Sendable {
        package let id: DocumentID
        package let revision: RevisionID
        package let chain: RuleChain

        package init(id: DocumentID, revision: RevisionID, chain: RuleChain) {
            self.id = id
            self.revision = revision
            self.chain = chain
        }
    }

    package func recordCausedRevisions(_ revisions: [CausedRevision]) async throws(StateError) {
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

    /// The rules that led to each of these revisions; none for those that somebody else wrote.
    package func chains(
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
