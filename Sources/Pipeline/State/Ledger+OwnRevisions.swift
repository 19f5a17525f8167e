internal import DocumentFlow
internal import Encodings
internal import FoundationEssentials
internal import GRDB
internal import GatewayClient

extension Ledger {
    /// How many own revisions, effects and caused revisions are kept, each.
    static let ownRevisionLimit = 200_000

    /// A content of a document that led to a write.
    struct Effect: Sendable {
        /// The document that was decided, whichever was written.
        let id: DocumentID
        /// Its content before the write.
        let content: ContentFingerprint
    }

    /// Records that this rule set completed the decisions about these documents and wrote these revisions, and the
    /// contents that led to it. One transaction.
    func recordOwnRevisions(
        _ revisions: [(id: DocumentID, revision: RevisionID)], effects: [Effect] = []
    ) async throws(StateError) {
        guard !revisions.isEmpty || !effects.isEmpty else { return }
        try await write { [ruleSetHash] database in
            let now = Timestamp.secondsNow
            let insert = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO own_revision (id, revision, rule_set, written_at) VALUES (?, ?, ?, ?)")
            for own in revisions {
                try insert.execute(
                    arguments: [WholeText(own.id.text), WholeText(own.revision.text), ruleSetHash, now])
            }
            try Self.insert(effects, at: now, database)
            for table in ["own_revision", "effect"] { try Self.forgetOldest(table, database) }
        }
    }

    private static func insert(_ effects: [Effect], at now: Int, _ database: Database) throws {
        let insert = try database.cachedStatement(
            sql: "INSERT INTO effect (id, content, written_at) VALUES (?, ?, ?)")
        for effect in effects {
            try insert.execute(
                arguments: [WholeText(effect.id.text), effect.content.databaseValue, now])
        }
    }

    private static func forgetOldest(_ table: String, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM \(table) WHERE rowid <= (SELECT MAX(rowid) FROM \(table)) - ?",
            arguments: [ownRevisionLimit])
    }

    /// Finds the revisions that this very rule set wrote: their indexes in `revisions`.
    ///
    /// - Parameter seconds: Only revisions written since this time (since 1970), and none in the future: a clock may
    ///   have been ahead.
    func ownRevisions(
        among revisions: [(id: DocumentID, revision: RevisionID)], since seconds: Int? = nil
    ) async throws(StateError) -> Set<Int> {
        guard !revisions.isEmpty else { return [] }
        return try await read { [ruleSetHash] database in
            let select = try database.cachedStatement(
                sql: """
                    SELECT 1 FROM own_revision
                    WHERE id = ? AND revision = ? AND rule_set = ? AND written_at BETWEEN ? AND ?
                    """)
            let latest = seconds == nil ? Int.max : Timestamp.secondsNow
            var found: Set<Int> = []
            for (index, candidate) in revisions.enumerated() {
                let arguments: StatementArguments = [
                    WholeText(candidate.id.text), WholeText(candidate.revision.text), ruleSetHash, seconds ?? 0, latest,
                ]
                if try Row.fetchOne(select, arguments: arguments) != nil { found.insert(index) }
            }
            return found
        }
    }

    /// How often a content led to a write.
    struct EffectCount: Sendable, Equatable {
        /// In total, whatever other contents of the document did in between.
        let all: Int
        /// Since another content of the document last led to a write.
        let inARow: Int
    }

    /// How often each of these contents led to a write within the last `window` seconds, by any rules. Older effects
    /// may have been forgotten; those with a time in the future, from a clock that was ahead, do not count.
    func effectCounts(of effects: [Effect], window: Int) async throws(StateError) -> [EffectCount] {
        guard !effects.isEmpty else { return [] }
        return try await read { database in
            let now = Timestamp.secondsNow
            let all = try database.cachedStatement(
                sql: "SELECT COUNT(*) FROM effect WHERE id = ?1 AND content = ?2 AND written_at BETWEEN ?3 AND ?4")
            let inARow = try database.cachedStatement(
                sql: """
                    SELECT COUNT(*) FROM effect WHERE id = ?1 AND content = ?2 AND written_at BETWEEN ?3 AND ?4
                    AND rowid > IFNULL((
                        SELECT MAX(rowid) FROM effect
                        WHERE id = ?1 AND content <> ?2 AND written_at BETWEEN ?3 AND ?4), 0)
                    """)
            return try effects.map { effect in
                let arguments: StatementArguments = [
                    WholeText(effect.id.text), effect.content.databaseValue, now - window, now,
                ]
                let count = try Int.fetchOne(all, arguments: arguments) ?? 0
                guard count > 1 else { return EffectCount(all: count, inARow: count) }
                return EffectCount(all: count, inARow: try Int.fetchOne(inARow, arguments: arguments) ?? 0)
            }
        }
    }
}

extension ContentFingerprint {
    fileprivate var databaseValue: DatabaseValue { Data(bytes).databaseValue }
}
