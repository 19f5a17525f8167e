internal import GRDB

// Which rules the state knows, so that a run can tell which of them are new or changed.
extension Ledger {
    /// The fingerprints of the rules, by name, as they were noted last; nil if none were: the state is new, or of a
    /// version that did not note them.
    func notedRules() throws(StateError) -> [String: String]? {
        let rows = try read { try Row.fetchAll($0, sql: "SELECT name, fingerprint FROM rule") }
        guard !rows.isEmpty else { return nil }
        var rules: [String: String] = [:]
        for row in rows {
            let name: WholeText = row["name"]
            rules[name.text] = row["fingerprint"]
        }
        return rules
    }

    /// Replaces the noted rules by these. No write if they are noted already.
    func note(rules: [String: String]) async throws(StateError) {
        guard try notedRules() ?? [:] != rules else { return }
        try await write { database in
            try database.execute(sql: "DELETE FROM rule")
            for (name, fingerprint) in rules {
                try database.execute(
                    sql: "INSERT INTO rule (name, fingerprint) VALUES (?, ?)",
                    arguments: [WholeText(name), fingerprint])
            }
        }
    }
}
