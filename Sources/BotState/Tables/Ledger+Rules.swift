internal import LosslessJSON

// Which rules the state knows, so that a run can tell which of them are new or changed.
extension Ledger {
    /// The fingerprints of the rules, by name, as they were noted last; nil if none were: the state is new, or of a
    /// version that did not note them.
    package func notedRules() throws(StateError) -> [String: String]? {
        let rows = try read { try $0.rows("SELECT name, fingerprint FROM rule") }
        guard !rows.isEmpty else { return nil }
        var rules: [String: String] = [:]
        for row in rows {
            let name: WholeText = row["name"]
            rules[name.text] = row["fingerprint"]
        }
        return rules
    }

    /// The rules that documents from before they changed have not seen, as they were noted last.
    package func missedRules() throws(StateError) -> Set<String> {
        let text = try read { database in
            try database.value(String.self, "SELECT value FROM identity WHERE name = ?", [Self.missedRules])
        }
        guard let text, let list = try? JSONText(text) else { return [] }
        return Set(list.root.elements.compactMap(\.string))
    }

    private static let missedRules = "missed_rules"

    /// Replaces the noted rules by these. No write if they are noted already.
    ///
    /// - Parameter missed: The rules that documents from before they changed have not seen.
    package func note(rules: [String: String], missed: Set<String> = []) async throws(StateError) {
        let (noted, known) = (try notedRules() ?? [:], try missedRules())
        guard noted != rules || known != missed else { return }
        var list = JSONWriter()
        list.array { list in for name in missed.sorted() { list.string(name) } }
        let value = missed.isEmpty ? nil : String(decoding: list.bytes, as: UTF8.self)
        try await write { database in
            try database.execute("DELETE FROM identity WHERE name = ?", [Self.missedRules])
            // Members of a fleet that start at once note the same.
            if let value {
                try database.execute(
                    database.language.replace(into: "identity", ["name", "value"], key: ["name"]),
                    [Self.missedRules, value])
            }
            try database.execute("DELETE FROM rule")
            try database.executeEach(
                database.language.replace(into: "rule", ["name", "fingerprint"], key: ["name"]),
                rules.sorted { $0.key < $1.key }.map { [WholeText($0.key), $0.value] })
        }
    }
}
