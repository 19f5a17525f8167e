internal import LosslessJSON

// The rules that the state knows, so that a run can detect new and changed ones.
extension Ledger {
    /// The last recorded fingerprints of the rules, by name; nil if there are none, because the state is new or older
    /// than this record.
    package func notedRules() throws(StateError) -> [String: String]? {
        let rows = try read { try $0.rows("SELECT name, fingerprint FROM rule") }
        guard !rows.isEmpty else { return nil }
        var rules: [String: String] = [:]
        for row in rows {
            let name: TextAsBytes = row["name"]
            rules[name.text] = row["fingerprint"]
        }
        return rules
    }

    /// The changed rules that were not yet applied to older documents, as last recorded.
    package func missedRules() throws(StateError) -> Set<String> {
        let text = try read { database in
            try database.value(String.self, "SELECT value FROM identity WHERE name = ?", [Self.missedRules])
        }
        guard let text, let list = try? JSONText(text) else { return [] }
        return Set(list.root.elements.compactMap(\.string))
    }

    private static let missedRules = "missed_rules"
    private static let notedRuleSet = "rule_set"

    /// The hash of the rule set that was recorded last; nil if the state is new or older than this record.
    package func notedRuleSetHash() throws(StateError) -> String? {
        try read { try $0.value(String.self, "SELECT value FROM identity WHERE name = ?", [Self.notedRuleSet]) }
    }

    /// Replaces the recorded rules. No write if these are recorded already.
    ///
    /// - Parameters:
    ///   - hash: The hash of the rule set.
    ///   - missed: The changed rules that were not yet applied to older documents.
    ///   - names: The names of all rules of the bot. Nil: as recorded.
    package func note(
        rules: [String: String], hash: String, missed: Set<String> = [], names: KnownRuleNames? = nil
    ) async throws(StateError) {
        let (noted, notedHash, known) = (try notedRules() ?? [:], try notedRuleSetHash(), try missedRules())
        let namesDiffer = if let names { try knownRules() != names } else { false }
        guard noted != rules || notedHash != hash || known != missed || namesDiffer else { return }
        var list = JSONWriter()
        list.array { list in for name in missed.sorted() { list.string(name) } }
        let value = missed.isEmpty ? nil : String(decoding: list.bytes, as: UTF8.self)
        try await write { database in
            try database.execute("DELETE FROM identity WHERE name = ?", [Self.missedRules])
            // Members of a fleet that start at once record the same rules.
            let replace = database.dialect.replace(into: "identity", ["name", "value"], key: ["name"])
            try database.execute(replace, [Self.notedRuleSet, hash])
            if let value { try database.execute(replace, [Self.missedRules, value]) }
            if let names { try Self.set(Self.knownRulesName, names.json, database) }
            try database.execute("DELETE FROM rule")
            try database.executeEach(
                database.dialect.replace(into: "rule", ["name", "fingerprint"], key: ["name"]),
                rules.sorted { $0.key < $1.key }.map { [TextAsBytes($0.key), $0.value] })
        }
    }
}
