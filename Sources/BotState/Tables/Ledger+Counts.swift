package import GatewayClient
internal import LosslessJSON
package import Rules

// The contributions of documents, and the totals. The page "Counts" explains why they are correct after a crash.
extension Ledger {
    /// A rule with `aggregate`, as the ledger knows it.
    package struct CountedRule: Sendable {
        /// Identifies this version of the rule in the other tables.
        package let number: Int
        /// Whether all documents are counted, so that its totals are correct.
        package let isComplete: Bool

        package init(number: Int, isComplete: Bool) {
            (self.number, self.isComplete) = (number, isComplete)
        }
    }

    /// Looks up these rules, and records new ones. One transaction.
    ///
    /// A process that counts alone deletes the counts of other rules, of changed rules, and of rules whose documents
    /// were not all counted: these are counted from the beginning. Processes that share the work keep these counts,
    /// because other members may have such rules or may be counting. They call this repeatedly, and
    /// ``dropUnusedCounts(otherThan:)`` deletes rules that no process has had for a while.
    ///
    /// - Returns: The rules by their indexes in the rule set.
    package func openCounts(_ rules: [AggregateRule], countsAlone: Bool) async throws(StateError) -> [Int: CountedRule]
    {
        if rules.isEmpty {
            guard countsAlone, try await !countedRules().isEmpty else { return [:] }
        }
        return try await write { database in
            try database.lockCounts()
            var found: [Int: CountedRule] = [:]
            for row in try database.rows("SELECT number, name, fingerprint, is_complete FROM aggregate_rule") {
                let rule = rules.first { OwnWrite.key($0.name) == row["name"] && $0.fingerprint == row["fingerprint"] }
                let known = CountedRule(number: row["number"], isComplete: row["is_complete"])
                if countsAlone, rule == nil || !known.isComplete { try Self.forget(known.number, database) }
                if let rule {
                    found[rule.index] = known
                } else if countsAlone {
                    try database.execute("DELETE FROM aggregate_rule WHERE number = ?", [known.number])
                }
            }
            for rule in rules where found[rule.index] == nil {
                let number = try database.value(
                    Int.self,
                    "INSERT INTO aggregate_rule (name, fingerprint, is_complete) VALUES (?, ?, 0) RETURNING number",
                    [OwnWrite.key(rule.name), rule.fingerprint])
                found[rule.index] = number.map { CountedRule(number: $0, isComplete: false) }
            }
            if countsAlone {
                // Totals that a gateway has refused are written again.
                try database.execute("UPDATE total_to_write SET has_failed = 0 WHERE has_failed <> 0")
                try database.execute("DELETE FROM total_to_write WHERE target NOT IN (SELECT target FROM total)")
            } else {
                try database.executeEach(
                    "UPDATE aggregate_rule SET seen = \(database.dialect.now) WHERE number = ?",
                    found.values.map { [$0.number] })
            }
            return found
        } ?? [:]
    }

    /// A rule that no member has is deleted after this many seconds.
    static let unusedCountsLifetime = 15

    /// Deletes rules that no process of the fleet has had for a while.
    package func dropUnusedCounts(otherThan known: [Int]) async throws(StateError) {
        let isUnused = "seen < \(store.dialect.now) - ?"
        let unused = try await read { database in
            try database.values(
                Int.self, "SELECT number FROM aggregate_rule WHERE \(isUnused)", [Self.unusedCountsLifetime])
        }.filter { !known.contains($0) }
        guard !unused.isEmpty else { return }
        try await write { database in
            try database.lockCounts()
            for number in unused {
                let gone = try database.execute(
                    "DELETE FROM aggregate_rule WHERE number = ? AND \(isUnused)", [number, Self.unusedCountsLifetime])
                if gone > 0 { try Self.forget(number, database) }
            }
            try database.execute("DELETE FROM total_to_write WHERE target NOT IN (SELECT target FROM total)")
            try database.execute("DELETE FROM recount WHERE NOT EXISTS (SELECT 1 FROM aggregate_rule)")
        }
    }

    /// The rules that are counted, by their numbers, and whether all documents are counted for each.
    package func countedRules() async throws(StateError) -> [Int: Bool] {
        try await read { database in
            let rows = try database.rows("SELECT number, is_complete FROM aggregate_rule")
            return Dictionary(rows.map { ($0[0], $0[1]) }) { first, _ in first }
        }
    }

    /// Deletes the counts of rules whose documents are about to be counted from the beginning.
    package func restartCounts(_ rules: [Int]) async throws(StateError) {
        try await write { database in
            try database.lockCounts()
            for rule in rules { try Self.forget(rule, database) }
        }
    }

    /// Other rules may count into the same documents.
    private static func forget(_ rule: Int, _ database: any StateSession) throws {
        let targets = try database.values(
            String.self,
            """
            SELECT target FROM total AS own WHERE rule = ?1
            AND EXISTS (SELECT 1 FROM total AS other WHERE other.target = own.target AND other.rule <> ?1)
            """, [rule])
        try CountChanges.mark(targets, RuleChain(), database)
        try database.execute("DELETE FROM contribution WHERE rule = ?", [rule])
        try database.execute("DELETE FROM total WHERE rule = ?", [rule])
    }

    /// Marks these rules as completely counted. A total without contributions was only found in a document with totals;
    /// if other rules count into that document, it is theirs.
    package func completeCounts(_ rules: [Int]) async throws(StateError) {
        try await write { database in
            try database.lockCounts()
            for rule in rules {
                try database.execute(
                    """
                    DELETE FROM total WHERE rule = ?1 AND contributors = 0
                    AND EXISTS (SELECT 1 FROM total AS other WHERE other.target = total.target AND other.rule <> ?1)
                    """, [rule])
                try database.execute("UPDATE aggregate_rule SET is_complete = 1 WHERE number = ?", [rule])
            }
        }
    }

    /// Makes the run that begins now count all documents again: this state has not seen all changes.
    ///
    /// - Returns: Whether they were counted.
    @discardableResult
    package func countAgain() async throws(StateError) -> Bool {
        guard try await countedRules().values.contains(true) else { return false }
        try await write { try Self.invalidateCounts($0) }
        return true
    }

    /// Makes the next run count all documents again, because it will not see all changes.
    static func invalidateCounts(_ database: any StateSession) throws {
        try database.execute("UPDATE aggregate_rule SET is_complete = 0 WHERE is_complete <> 0")
    }

    // MARK: - Changes

    /// Those of these documents that add to a total; and those that hold totals and were not written by this bot.
    package func counted(
        among documents: [(id: DocumentID, revision: RevisionID?)]
    ) async throws(StateError) -> (contributors: Set<DocumentID>, holders: [DocumentID]) {
        guard !documents.isEmpty else { return ([], []) }
        var list = JSONWriter(minimumCapacity: documents.count * 40)
        list.array { list in
            for (id, _) in documents { list.array { list in list.string(OwnWrite.key(id.text)) } }
        }
        return try await read { [json = String(decoding: list.bytes, as: UTF8.self)] database in
            let wanted = database.dialect.listed
            let rows = try database.rows(
                """
                SELECT place, contributes, holds FROM (
                    SELECT \(wanted.place) AS place,
                        EXISTS (SELECT 1 FROM contribution WHERE id = \(wanted.element(0))) AS contributes,
                        EXISTS (SELECT 1 FROM total WHERE target = \(wanted.element(0))) AS holds
                    FROM \(wanted.rows)) AS known
                WHERE contributes OR holds
                """, [json])
            var contributors: Set<DocumentID> = []
            var held: [(id: DocumentID, revision: RevisionID?)] = []
            for row in rows {
                let document = documents[row[0]]
                if row[1] { contributors.insert(document.id) }
                if row[2] { held.append(document) }
            }
            let own = try database.rowsForEach(
                "SELECT 1 FROM caused_revision WHERE id = ? AND revision = ?",
                held.map { [TextAsBytes($0.id.text), TextAsBytes($0.revision?.text ?? "")] })
            // A rule may have merged other members into a document with totals.
            let merged = try database.rowsForEach(
                "SELECT 1 FROM own_write WHERE id = ? AND revision = ?",
                held.map { [OwnWrite.key($0.id.text), OwnWrite.key($0.revision?.text ?? "")] })
            let holders = zip(held, zip(own, merged)).filter { $1.0.isEmpty || !$1.1.isEmpty }.map(\.0.id)
            return (contributors, holders)
        }
    }

    /// Marks documents with totals that another client has changed or deleted, so that they are compared with the
    /// totals.
    package func markTotals(_ ids: [DocumentID]) async throws(StateError) {
        guard !ids.isEmpty else { return }
        try await write { database in
            try database.lockCounts()
            try CountChanges.mark(ids.map(\.text), RuleChain(), database)
        }
    }

    /// Notes documents with totals of a rule that have no known contributions: these totals are zero.
    package func noteLeftovers(_ leftovers: [(rule: Int, id: DocumentID, members: Int)]) async throws(StateError) {
        guard !leftovers.isEmpty else { return }
        try await write { database in
            try database.lockCounts()
            try database.executeEach(
                """
                INSERT INTO total (target, rule, amounts, contributors, document) VALUES (?, ?, ?, 0, '{}')
                ON CONFLICT DO NOTHING
                """,
                leftovers.map { rule, id, members in
                    [id.text, rule, Amounts.text(Array(repeating: .zero, count: members))]
                })
            try CountChanges.mark(leftovers.map(\.id.text), RuleChain(), database)
        }
    }

    /// Documents that must be counted again with their stored content, because they were dead-lettered or decided by
    /// another process.
    ///
    /// - Parameter number: Only entries with higher numbers.
    package func recounts(after number: Int, limit: Int) async throws(StateError) -> [(number: Int, id: DocumentID)] {
        try await read { database in
            try database.rows(
                "SELECT number, id FROM recount WHERE number > ? ORDER BY number LIMIT ?", [number, limit]
            ).map { row in
                (row[0], DocumentID((row[1] as TextAsBytes).text))
            }
        }
    }

    /// Whether totals are still to be written, or documents to be counted: for the first time, or again. Totals that could
    /// not be written wait for their next change.
    package func hasUnfinishedCounts() throws(StateError) -> Bool {
        try read { database in
            try database.value(
                Int.self,
                """
                SELECT (SELECT COUNT(*) FROM total_to_write WHERE has_failed = 0) + (SELECT COUNT(*) FROM recount)
                + (SELECT COUNT(*) FROM aggregate_rule WHERE is_complete = 0)
                """) != 0
        }
    }

    /// The highest number of a `recount` entry; 0 if there is none.
    package func newestRecount() async throws(StateError) -> Int {
        try await read { try $0.value(Int.self, "SELECT MAX(number) FROM recount") ?? 0 }
    }

    /// Deletes the `recount` entries of these documents up to these numbers.
    package func dropRecounts(_ recounts: [(number: Int, id: DocumentID)]) async throws(StateError) {
        guard !recounts.isEmpty else { return }
        try await write { database in
            try database.executeEach(
                "DELETE FROM recount WHERE id = ? AND number <= ?",
                recounts.map { [TextAsBytes($0.id.text), $0.number] })
        }
    }

    // MARK: - Totals

    /// A document that must show totals.
    package struct TotalToWrite: Sendable {
        /// The contribution of one rule.
        package struct Part: Sendable {
            package let rule: Int
            package let amounts: [DecimalAmount]
            /// How many documents add to it.
            package let contributors: Int
            /// The other members of a document that does not exist yet: an object.
            package let document: String
        }

        package let id: DocumentID
        /// Increases with each change of the totals.
        package let version: Int
        /// The rules that led to the last changes.
        package let chain: RuleChain
        package let parts: [Part]

        /// Only the parts of these rules; nil if there are none.
        package func only(_ isWanted: (_ rule: Int) -> Bool) -> TotalToWrite? {
            let wanted = parts.filter { isWanted($0.rule) }
            return wanted.isEmpty ? nil : TotalToWrite(id: id, version: version, chain: chain, parts: wanted)
        }
    }

    /// The documents whose totals have changed since they were written, in the order of their ids.
    ///
    /// - Parameter id: Only documents with higher ids.
    package func totalsToWrite(after id: String, limit: Int) async throws(StateError) -> [TotalToWrite] {
        try await read { database in
            let targets = try database.rows(
                """
                SELECT target, version, chain FROM total_to_write
                WHERE target > ? AND has_failed = 0 ORDER BY target LIMIT ?
                """, [id, limit])
            let parts = try database.rowsForEach(
                "SELECT rule, amounts, contributors, document FROM total WHERE target = ? ORDER BY rule",
                targets.map { [$0[0] as String] })
            return zip(targets, parts).map { row, parts in
                let target: String = row[0]
                return TotalToWrite(
                    id: DocumentID(target), version: row[1],
                    chain: RuleChain(json: Array((row[2] as TextAsBytes).text.utf8)),
                    parts: parts.map { part in
                        TotalToWrite.Part(
                            rule: part[0], amounts: Amounts.parse(part[1]), contributors: part[2], document: part[3])
                    })
            }
        }
    }

    /// Marks the totals of these documents as written, unless they have changed since. Totals that the gateway has
    /// refused are not written again before they change, or before the next run.
    package func noteTotals(
        written: [(id: DocumentID, version: Int)], refused: [(id: DocumentID, version: Int)]
    ) async throws(StateError) {
        guard !written.isEmpty || !refused.isEmpty else { return }
        try await write { database in
            try database.lockCounts()
            try database.executeEach(
                "DELETE FROM total_to_write WHERE target = ? AND version = ?",
                written.map { [$0.id.text, $0.version] })
            try database.executeEach(
                "UPDATE total_to_write SET has_failed = 1 WHERE target = ? AND version = ?",
                refused.map { [$0.id.text, $0.version] })
        }
    }
}
