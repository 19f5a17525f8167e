package import GatewayClient
package import Rules

/// What rules saw last of a document, as far as it has changed.
package struct SeenDocument: Sendable {
    package let id: DocumentID
    /// With the number of each rule.
    let seen: [(rule: Int, lastSeen: LastSeen)]

    package init(id: DocumentID, seen: [(rule: Int, lastSeen: LastSeen)]) { (self.id, self.seen) = (id, seen) }
}

/// The changes of what rules saw last that result from settled decisions.
package struct SeenChanges: Sendable {
    package var documents: [SeenDocument] = []
    /// Whether documents that are known already keep what is recorded: a pass over all documents may have read them
    /// before the run did.
    package var onlyAdds = false

    package init(documents: [SeenDocument] = [], onlyAdds: Bool = false) {
        (self.documents, self.onlyAdds) = (documents, onlyAdds)
    }

    var isEmpty: Bool { documents.isEmpty }

    func record(in database: any StateSession) throws {
        let rows: [[(any StateArgument)?]] = documents.flatMap { document in
            document.seen.map { [TextAsBytes(document.id.text), $0.rule, $0.lastSeen.encoded] }
        }
        guard !rows.isEmpty else { return }
        let columns = ["id", "rule", "seen"]
        try database.executeEach(
            onlyAdds
                ? "INSERT INTO last_seen (id, rule, seen) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
                : database.dialect.replace(into: "last_seen", columns, key: ["id", "rule"]), rows)
    }
}

// What rules with `changed`, `enter` or `leave` saw last of each document.
extension Ledger {
    /// The numbers of rules under which the table knows them.
    package struct ComparingRules: Sendable {
        /// In the order of the rules; nil: the state is only read, and does not know the rule.
        package var numbers: [Int?] = []
        /// The rules of which an earlier version was known. They start anew.
        package var edited: [String] = []
    }

    /// Looks up these rules, and records new ones. One transaction.
    ///
    /// - Parameter isAlone: Whether no other process has rules with this state. Then what other rules saw is deleted.
    package func openLastSeen(_ rules: [ComparingRule], isAlone: Bool) async throws(StateError) -> ComparingRules {
        let (known, found) = try await read { database in
            let rows = try database.rows("SELECT number, name, fingerprint FROM comparing_rule")
            let known = rows.map {
                (number: $0[0] as Int, name: ($0[1] as TextAsBytes).text, fingerprint: $0[2] as String)
            }
            return (
                known,
                rules.map { rule in
                    known.first { $0.name == rule.name && $0.fingerprint == rule.fingerprint }?.number
                }
            )
        }
        let names = Set(known.map(\.name))
        let edited = zip(rules, found).filter { $1 == nil && names.contains($0.name) }.map(\.0.name)
        let unused = isAlone ? known.map(\.number).filter { !found.contains($0) } : []
        guard found.contains(nil) || !unused.isEmpty else { return ComparingRules(numbers: found) }
        let numbers = try await write { database in
            for number in unused {
                try database.execute("DELETE FROM last_seen WHERE rule = ?", [number])
                try database.execute("DELETE FROM comparing_rule WHERE number = ?", [number])
            }
            return try zip(rules, found).map { rule, number in
                // Another member may have recorded it meanwhile.
                if let number { return number as Int? }
                try database.execute(
                    "INSERT INTO comparing_rule (name, fingerprint) VALUES (?, ?) ON CONFLICT DO NOTHING",
                    [TextAsBytes(rule.name), rule.fingerprint])
                return try database.value(
                    Int.self, "SELECT number FROM comparing_rule WHERE name = ? AND fingerprint = ?",
                    [TextAsBytes(rule.name), rule.fingerprint])
            }
        }
        return ComparingRules(numbers: numbers ?? found, edited: edited)
    }

    /// What rules saw last of each of these documents, by the number of the rule.
    package func lastSeen(of documents: [DocumentID]) async throws(StateError) -> [[(rule: Int, encoded: [UInt8])]] {
        guard !documents.isEmpty else { return [] }
        return try await read { database in
            try database.rowsOfEach(
                "SELECT rule, seen FROM last_seen WHERE id = ?", documents.map { [TextAsBytes($0.text)] }
            ).map { rows in rows.map { ($0[0], $0[1]) } }
        }
    }

    /// Calls `body` with each document that a rule knows.
    package func forEachSeenDocument(_ body: (DocumentID) -> Void) throws(StateError) {
        try read { database in
            try database.forEachRow("SELECT DISTINCT id FROM last_seen", []) { row in
                body(DocumentID((row[0] as TextAsBytes).text))
                return true
            }
        }
    }

    /// How many documents each rule knows, by the rule's name.
    package func seenCounts() throws(StateError) -> [String: Int] {
        try read { database in
            let rows = try database.rows(
                """
                SELECT r.name, COUNT(*) FROM last_seen s JOIN comparing_rule r ON r.number = s.rule GROUP BY r.name
                """)
            return Dictionary(rows.map { (($0[0] as TextAsBytes).text, $0[1]) }) { $0 + $1 }
        }
    }
}
