internal import GRDB
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// What documents add to totals, and the totals. See the page "Counts" for the reason why they are right after a crash.
extension Ledger {
    /// A rule with `aggregate`, as the ledger knows it.
    struct CountedRule: Sendable {
        /// Identifies the rule, as it is now, in the other tables.
        let number: Int
        /// Whether all documents are counted: its totals are right.
        let isComplete: Bool
    }

    /// Prepares the counts for a run with these rules. One transaction.
    ///
    /// What is known of other rules is forgotten: nobody counts for them any more. So is what is known of a rule that
    /// has changed, and of one whose documents were not all counted: they are counted from the beginning.
    ///
    /// - Returns: For each rule, by its index in the rule set.
    func openCounts(_ rules: [AggregateRule]) async throws(StateError) -> [Int: CountedRule] {
        let isUsed = try await read {
            try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM aggregate_rule)") ?? false
        }
        guard isUsed || !rules.isEmpty else { return [:] }
        return try await write { database in
            let wanted = Dictionary(rules.map { (OwnWrite.key($0.name), $0) }) { first, _ in first }
            var found: [Int: CountedRule] = [:]
            for row in try Row.fetchAll(
                database, sql: "SELECT number, name, fingerprint, is_complete FROM aggregate_rule")
            {
                let rule = wanted[row["name"]].flatMap { $0.fingerprint == row["fingerprint"] ? $0 : nil }
                let known = CountedRule(number: row["number"], isComplete: rule != nil && row["is_complete"])
                if !known.isComplete { try Self.forget(known.number, database) }
                if let rule {
                    found[rule.index] = known
                } else {
                    try database.execute(
                        sql: "DELETE FROM aggregate_rule WHERE number = ?", arguments: [known.number])
                }
            }
            for rule in rules where found[rule.index] == nil {
                try database.execute(
                    sql: "INSERT INTO aggregate_rule (name, fingerprint, is_complete) VALUES (?, ?, 0)",
                    arguments: [OwnWrite.key(rule.name), rule.fingerprint])
                found[rule.index] = CountedRule(number: Int(database.lastInsertedRowID), isComplete: false)
            }
            // What a gateway has refused is tried again.
            try database.execute(sql: "UPDATE total_to_write SET has_failed = 0 WHERE has_failed")
            try database.execute(sql: "DELETE FROM total_to_write WHERE target NOT IN (SELECT target FROM total)")
            return found
        } ?? [:]
    }

    /// Other rules may count into the same documents.
    private static func forget(_ rule: Int, _ database: Database) throws {
        let targets = try String.fetchCursor(
            database,
            sql: """
                SELECT target FROM total AS own WHERE rule = ?1
                AND EXISTS (SELECT 1 FROM total AS other WHERE other.target = own.target AND other.rule <> ?1)
                """, arguments: [rule])
        while let target = try targets.next() { try CountChanges.mark(target, RuleChain(), database) }
        try database.execute(sql: "DELETE FROM contribution WHERE rule = ?", arguments: [rule])
        try database.execute(sql: "DELETE FROM total WHERE rule = ?", arguments: [rule])
    }

    /// All documents are counted for these rules. A total that no document adds to is one that documents with totals
    /// showed; if other rules count into the same document, it is theirs.
    func completeCounts(_ rules: [Int]) async throws(StateError) {
        try await write { database in
            for rule in rules {
                try database.execute(
                    sql: """
                        DELETE FROM total WHERE rule = ?1 AND contributors = 0
                        AND EXISTS (SELECT 1 FROM total AS other WHERE other.target = total.target AND other.rule <> ?1)
                        """, arguments: [rule])
                try database.execute(
                    sql: "UPDATE aggregate_rule SET is_complete = 1 WHERE number = ?", arguments: [rule])
            }
        }
    }

    /// The counts of all rules must be made anew by the next run: it will not see all changes.
    static func distrustCounts(_ database: Database) throws {
        try database.execute(sql: "UPDATE aggregate_rule SET is_complete = 0 WHERE is_complete")
    }

    // MARK: - Changes

    /// Of these documents, those that add to a total; and those that hold totals and were not written by this bot.
    func counted(
        among documents: [(id: DocumentID, revision: RevisionID?)]
    ) async throws(StateError) -> (contributors: Set<DocumentID>, holders: [DocumentID]) {
        guard !documents.isEmpty else { return ([], []) }
        var list = JSONWriter(minimumCapacity: documents.count * 40)
        list.array { list in for (id, _) in documents { list.string(OwnWrite.key(id.text)) } }
        return try await read { [json = String(decoding: list.bytes, as: UTF8.self)] database in
            let select = try database.cachedStatement(
                sql: """
                    SELECT wanted.key, EXISTS (SELECT 1 FROM contribution WHERE id = wanted.value) AS contributes,
                        EXISTS (SELECT 1 FROM total WHERE target = wanted.value) AS holds
                    FROM json_each(?) AS wanted WHERE contributes OR holds
                    """)
            let own = try database.cachedStatement(
                sql: "SELECT 1 FROM caused_revision WHERE id = ? AND revision = ?")
            var contributors: Set<DocumentID> = []
            var holders: [DocumentID] = []
            for row in try Row.fetchAll(select, arguments: [json]) {
                let (id, revision) = documents[row[0]]
                if row[1] { contributors.insert(id) }
                guard row[2] else { continue }
                let isOwn = try Bool.fetchOne(
                    own, arguments: [WholeText(id.text), WholeText(revision?.text ?? "")])
                if isOwn == nil { holders.append(id) }
            }
            return (contributors, holders)
        }
    }

    /// Documents with totals that somebody else has changed or deleted: they are compared with the totals.
    func markTotals(_ ids: [DocumentID]) async throws(StateError) {
        guard !ids.isEmpty else { return }
        try await write { database in for id in ids { try CountChanges.mark(id.text, RuleChain(), database) } }
    }

    /// Documents that hold totals of a rule which nothing adds to, as far as is known: these are zero.
    func noteLeftovers(_ leftovers: [(rule: Int, id: DocumentID, members: Int)]) async throws(StateError) {
        guard !leftovers.isEmpty else { return }
        try await write { database in
            for (rule, id, members) in leftovers {
                let zeros = Amounts.text(Array(repeating: .zero, count: members))
                try database.execute(
                    sql: """
                        INSERT OR IGNORE INTO total (target, rule, amounts, contributors, document)
                        VALUES (?, ?, ?, 0, '{}')
                        """, arguments: [id.text, rule, zeros])
                try CountChanges.mark(id.text, RuleChain(), database)
            }
        }
    }

    /// Documents that must be counted again, as they are stored: they were dead-lettered, or decided by another process.
    ///
    /// - Parameter number: Only entries with higher numbers.
    func recounts(after number: Int, limit: Int) async throws(StateError) -> [(number: Int, id: DocumentID)] {
        try await read { database in
            let select = try database.cachedStatement(
                sql: "SELECT number, id FROM recount WHERE number > ? ORDER BY number LIMIT ?")
            return try Row.fetchAll(select, arguments: [number, limit]).map { row in
                (row[0], DocumentID((row[1] as WholeText).text))
            }
        }
    }

    // MARK: - Totals

    /// A document that must show totals.
    struct TotalToWrite: Sendable {
        /// Its part of one rule.
        struct Part: Sendable {
            let rule: Int
            let amounts: [DecimalAmount]
            /// How many documents add to it.
            let contributors: Int
            /// The other members of a document that does not exist yet: an object.
            let document: String
        }

        let id: DocumentID
        /// Grows with each change of the totals.
        let version: Int
        /// The rules that led to the last changes.
        let chain: RuleChain
        let parts: [Part]
    }

    /// The documents whose totals have changed since they were written, in the order of their ids.
    ///
    /// - Parameter id: Only documents with higher ids.
    func totalsToWrite(after id: String, limit: Int) async throws(StateError) -> [TotalToWrite] {
        try await read { database in
            let select = try database.cachedStatement(
                sql: """
                    SELECT target, version, chain FROM total_to_write
                    WHERE target > ? AND NOT has_failed ORDER BY target LIMIT ?
                    """)
            let parts = try database.cachedStatement(
                sql: "SELECT rule, amounts, contributors, document FROM total WHERE target = ? ORDER BY rule")
            return try Row.fetchAll(select, arguments: [id, limit]).map { row in
                let target: String = row[0]
                return TotalToWrite(
                    id: DocumentID(target), version: row[1],
                    chain: RuleChain(json: Array((row[2] as WholeText).text.utf8)),
                    parts: try Row.fetchAll(parts, arguments: [target]).map { part in
                        TotalToWrite.Part(
                            rule: part[0], amounts: Amounts.parse(part[1]), contributors: part[2], document: part[3])
                    })
            }
        }
    }

    /// These documents show their totals, unless these have changed since. Those that the gateway has refused are not
    /// tried again before that, or the next run.
    func noteTotals(
        written: [(id: DocumentID, version: Int)], refused: [(id: DocumentID, version: Int)]
    ) async throws(StateError) {
        guard !written.isEmpty || !refused.isEmpty else { return }
        try await write { database in
            let delete = try database.cachedStatement(
                sql: "DELETE FROM total_to_write WHERE target = ? AND version = ?")
            for (id, version) in written { try delete.execute(arguments: [id.text, version]) }
            let update = try database.cachedStatement(
                sql: "UPDATE total_to_write SET has_failed = 1 WHERE target = ? AND version = ?")
            for (id, version) in refused { try update.execute(arguments: [id.text, version]) }
        }
    }
}
