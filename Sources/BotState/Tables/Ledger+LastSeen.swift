package import GatewayClient
package import Rules

/// The new states of a document for the rules that saw it change.
package struct SeenDocument: Sendable {
    package let id: DocumentID
    /// The new states, each with the number of its rule.
    let seen: [(rule: Int, lastSeen: LastSeen)]

    package init(id: DocumentID, seen: [(rule: Int, lastSeen: LastSeen)]) { (self.id, self.seen) = (id, seen) }
}

/// The changes of last seen states that result from settled decisions.
package struct SeenChanges: Sendable {
    package var documents: [SeenDocument] = []
    /// Whether existing records are kept: the run may have seen a newer revision than a pass over all documents.
    package var keepsExisting = false

    package init(documents: [SeenDocument] = [], keepsExisting: Bool = false) {
        (self.documents, self.keepsExisting) = (documents, keepsExisting)
    }

    var isEmpty: Bool { documents.isEmpty }

    func record(in database: any StateSession) throws {
        let rows: [[(any StateArgument)?]] = documents.flatMap { document in
            document.seen.map { [TextAsBytes(document.id.text), $0.rule, $0.lastSeen.encoded] }
        }
        guard !rows.isEmpty else { return }
        let columns = ["id", "rule", "seen"]
        try database.executeEach(
            keepsExisting
                ? "INSERT INTO last_seen (id, rule, seen) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
                : database.dialect.replace(into: "last_seen", columns, key: ["id", "rule"]), rows)
    }
}

// The last seen states of documents, for rules with `changed`, `enter` or `leave`.
extension Ledger {
    /// The last seen state of each of these documents, with the number of the rule.
    package func lastSeen(of documents: [DocumentID]) async throws(StateError) -> [[(rule: Int, encoded: [UInt8])]] {
        guard !documents.isEmpty else { return [] }
        return try await read { database in
            try database.rowsForEach(
                "SELECT rule, seen FROM last_seen WHERE id = ?", documents.map { [TextAsBytes($0.text)] }
            ).map { rows in rows.map { ($0[0], $0[1]) } }
        }
    }

    /// Calls `body` with each document that a rule remembers.
    package func forEachSeenDocument(_ body: (DocumentID) -> Void) throws(StateError) {
        try read { database in
            try database.forEachRow("SELECT DISTINCT id FROM last_seen", []) { row in
                body(DocumentID((row[0] as TextAsBytes).text))
                return true
            }
        }
    }

    /// The number of documents that each rule remembers, by the rule's name.
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
