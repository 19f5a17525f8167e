internal import GRDB
package import GatewayClient

extension Ledger {
    /// How many of its own revisions a bot remembers.
    static let ownRevisionLimit = 200_000

    /// Remembers that this rule set wrote these revisions, and when.
    ///
    /// - Parameter areCounted: Whether they count in ``ownWriteCounts(of:since:)``. What was written for another
    ///   document's sake does not.
    package func recordOwnRevisions(
        _ revisions: [(id: DocumentID, revision: RevisionID)], areCounted: Bool = true
    ) async throws(StateError) {
        guard !revisions.isEmpty else { return }
        // Below zero: not counted.
        let now = areCounted ? Timestamp.secondsNow : -Timestamp.secondsNow
        try await write { [ruleSetHash] database in
            let insert = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO own_revision (id, revision, rule_set, written_at) VALUES (?, ?, ?, ?)")
            for own in revisions {
                try insert.execute(
                    arguments: [WholeText(own.id.text), WholeText(own.revision.text), ruleSetHash, now])
            }
            try database.execute(
                sql: "DELETE FROM own_revision WHERE rowid <= (SELECT MAX(rowid) FROM own_revision) - ?",
                arguments: [Self.ownRevisionLimit])
        }
    }

    /// Which of these did this very rule set write? Their positions in `revisions`.
    ///
    /// - Parameter seconds: What was written before this point in time (since 1970) does not count.
    package func ownRevisions(
        among revisions: [(id: DocumentID, revision: RevisionID)], since seconds: Int = 0
    ) async throws(StateError) -> Set<Int> {
        guard !revisions.isEmpty else { return [] }
        return try await read { [ruleSetHash] database in
            let select = try database.cachedStatement(
                sql:
                    "SELECT 1 FROM own_revision WHERE id = ? AND revision = ? AND rule_set = ? AND ABS(written_at) >= ?"
            )
            var found: Set<Int> = []
            for (index, candidate) in revisions.enumerated() {
                let arguments: StatementArguments = [
                    WholeText(candidate.id.text), WholeText(candidate.revision.text), ruleSetHash, seconds,
                ]
                if try Row.fetchOne(select, arguments: arguments) != nil { found.insert(index) }
            }
            return found
        }
    }

    /// How often this bot wrote each of these documents at `seconds` (since 1970) or later, by whatever rules. Only
    /// what is remembered counts.
    package func ownWriteCounts(of ids: [DocumentID], since seconds: Int) async throws(StateError) -> [Int] {
        guard !ids.isEmpty else { return [] }
        return try await read { database in
            let select = try database.cachedStatement(
                sql: "SELECT COUNT(*) FROM own_revision WHERE id = ? AND written_at >= ?")
            return try ids.map { id in
                try Int.fetchOne(select, arguments: [WholeText(id.text), seconds]) ?? 0
            }
        }
    }
}
