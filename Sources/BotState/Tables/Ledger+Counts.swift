package import GatewayClient
internal import LosslessJSON
package import Rules

// What documents add to totals, and the totals. See the page "Counts" for the reason why they are right after a crash.
extension Ledger {
    /// A rule with `aggregate`, as the ledger knows it.
    package struct CountedRule: Sendable {
        /// Identifies the rule, as it is now, in the other tables.
        package let number: Int
        /// Whether all documents are counted: its totals are right.
        package let isComplete: Bool

        package init(number: Int, isComplete: Bool) {
            (self.number, self.isComplete) = (number, isComplete)
        }
    }

    /// Finds out what is known of these rules, and notes those that are new. One transaction.
    ///
    /// A process that counts alone forgets what is known of other rules: they are not counted any more. So is what is known
    /// of a rule that has changed, and of one whose documents were not all counted: they are counted from the beginning.
    /// Processes that share the work keep it, as others may have such rules, or may be counting, and call this again and
    /// again: ``dropUnusedCounts(otherThan:)`` forgets rules that no process has had for a while.
    ///
    /// - Returns: For each rule, by its index in the rule set.
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
                // What a gateway has refused is tried again.
                try database.execute("UPDATE total_to_write SET has_failed = 0 WHERE has_failed <> 0")
                try database.execute("DELETE FROM total_to_write WHERE target NOT IN (SELECT target FROM total)")
            } else {
                try database.executeEach(
                    "UPDATE aggregate_rule SET seen = \(database.language.now) WHERE number = ?",
                    found.values.map { [$0.number] })
            }
            return found
        } ?? [:]
    }

    /// A rule that no member has is dropped after this many seconds.
    static let timeOfUnusedCounts = 15

    /// Forgets rules that no process of those that share the work has had for a while.
    package func dropUnusedCounts(otherThan known: [Int]) async throws(StateError) {
        let isUnused = "seen < \(store.language.now) - ?"
        let unused = try await read { database in
            try database.values(
                Int.self, "SELECT number FROM aggregate_rule WHERE \(isUnused)", [Self.timeOfUnusedCounts])
        }.filter { !known.contains($0) }
        guard !unused.isEmpty else { return }
        try await write { database in
            try database.lockCounts()
            for number in unused {
                let gone = try database.execute(
                    "DELETE FROM aggregate_rule WHERE number = ? AND \(isUnused)", [number, Self.timeOfUnusedCounts])
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

    /// Forgets what is known of rules whose documents are about to be counted from the beginning.
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

    /// All documents are counted for these rules. A total that no document adds to is one that documents with totals
    /// showed; if other rules count into the same document, it is theirs.
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

    /// The counts of all rules must be made anew by the next run: it will not see all changes.
    static func distrustCounts(_ database: any StateSession) throws {
        try database.execute("UPDATE aggregate_rule SET is_complete = 0 WHERE is_complete <> 0")
    }

    // MARK: - Changes

    /// Of these documents, those that add to a total; and those that hold totals and were not written by this bot.
    package func counted(
        among documents: [(id: DocumentID, revision: RevisionID?)]
    ) async throws(StateError) -> (contributors: Set<DocumentID>, holders: [DocumentID]) {
        guard !documents.isEmpty else { return ([], []) }
        var list = JSONWriter(minimumCapacity: documents.count * 40)
        list.array { list in
            for (id, _) in documents { list.array { list in list.string(OwnWrite.key(id.text)) } }
        }
        return try await read { [json = String(decoding: list.bytes, as: UTF8.self)] database in
            let wanted = database.language.listed
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
            let own = try database.rowsOfEach(
                "SELECT 1 FROM caused_revision WHERE id = ? AND revision = ?",
                held.map { [WholeText($0.id.text), WholeText($0.revision?.text ?? "")] })
            // A rule may have merged something else into a document with totals.
            let merged = try database.rowsOfEach(
                "SELECT 1 FROM own_write WHERE id = ? AND revision = ?",
                held.map { [OwnWrite.key($0.id.text), OwnWrite.key($0.revision?.text ?? "")] })
            let holders = zip(held, zip(own, merged)).filter { $1.0.isEmpty || !$1.1.isEmpty }.map(\.0.id)
            return (contributors, holders)
        }
    }

    /// Documents with totals that another client has changed or deleted. They are compared with the totals.
    package func markTotals(_ ids: [DocumentID]) async throws(StateError) {
        guard !ids.isEmpty else { return }
        try await write { database in
            try database.lockCounts()
            try CountChanges.mark(ids.map(\.text), RuleChain(), database)
        }
    }

    /// Documents that hold totals of a rule which nothing adds to, as far as is known: these are zero.
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

    /// Documents that must be counted again, as they are stored: they were dead-lettered, or decided by another process.
    ///
    /// - Parameter number: Only entries with higher numbers.
    package func recounts(after number: Int, limit: Int) async throws(StateError) -> [(number: Int, id: DocumentID)] {
        try await read { database in
            try database.rows(
                "SELECT number, id FROM recount WHERE number > ? ORDER BY number LIMIT ?", [number, limit]
            ).map { row in
                (row[0], DocumentID((row[1] as WholeText).text))
            }
        }
    }

    /// The highest number of an entry of these; 0 if there is none.
    package func newestRecount() async throws(StateError) -> Int {
        try await read { try $0.value(Int.self, "SELECT MAX(number) FROM recount") ?? 0 }
    }

    /// These documents will be counted again: the entries up to these numbers are done.
    package func dropRecounts(_ recounts: [(number: Int, id: DocumentID)]) async throws(StateError) {
        guard !recounts.isEmpty else { return }
        try await write { database in
            try database.executeEach(
                "DELETE FROM recount WHERE id = ? AND number <= ?", recounts.map { [WholeText($0.id.text), $0.number] })
        }
    }

    // MARK: - Totals

    /// A document that must show totals.
    package struct TotalToWrite: Sendable {
        /// Its part of one rule.
        package struct Part: Sendable {
            package let rule: Int
            package let amounts: [DecimalAmount]
            /// How many documents add to it.
            package let contributors: Int
            /// The other members of a document that does not exist yet: an object.
            package let document: String
        }

        package let id: DocumentID
        /// Grows with each change of the totals.
        package let version: Int
        /// The rules that led to the last changes.
        package let chain: RuleChain
        package let parts: [Part]

        /// Its parts of these rules; nil if it has none.
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
            let parts = try database.rowsOfEach(
                "SELECT rule, amounts, contributors, document FROM total WHERE target = ? ORDER BY rule",
                targets.map { [$0[0] as String] })
            return zip(targets, parts).map { row, parts in
                let target: String = row[0]
                return TotalToWrite(
                    id: DocumentID(target), version: row[1],
                    chain: RuleChain(json: Array((row[2] as WholeText).text.utf8)),
                    parts: parts.map { part in
                        TotalToWrite.Part(
                            rule: part[0], amounts: Amounts.parse(part[1]), contributors: part[2], document: part[3])
                    })
            }
        }
    }

    /// These documents show their totals, unless these have changed since. Those that the gateway has refused are not
    /// tried again before that, or the next run.
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
