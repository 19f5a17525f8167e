package import Rules

// The rules with `changed`, `enter` or `leave`. Each version of a rule has a number, which its records in `last_seen` name.
extension Ledger {
    /// Which processes may use the state of such rules.
    package enum ComparingRulesUse: Sendable {
        /// Only this run, so that the records of all other rules are deleted.
        case alone
        /// This run and other members of its fleet. The fleet's engine records which rules each of them has.
        case shared
        /// This process is not the run, which may have other rules.
        case command
    }

    /// The numbers that identify rules in the table.
    package struct ComparingRules: Sendable {
        /// In the order of the rules. Nil: the state is read-only and does not contain the rule.
        package var numbers: [Int?] = []
        /// The rules that were edited since they were recorded. They forget all documents.
        package var edited: [String] = []
    }

    /// A version of a rule in the table.
    private struct KnownRule {
        let number: Int
        let name: String
        let fingerprint: String

        /// All versions, the oldest first.
        static func all(_ database: any StateSession) throws -> [KnownRule] {
            try database.rows("SELECT number, name, fingerprint FROM comparing_rule ORDER BY number").map {
                KnownRule(number: $0[0], name: ($0[1] as TextAsBytes).text, fingerprint: $0[2])
            }
        }
    }

    /// Looks up these rules, and records new ones. One transaction.
    ///
    /// A rule whose condition was edited starts with a new number, and so does one whose earlier condition is restored:
    /// what it remembers would be outdated.
    package func openLastSeen(
        _ rules: [ComparingRule], _ use: ComparingRulesUse
    ) async throws(StateError) -> ComparingRules {
        let known = try await read { try KnownRule.all($0) }
        func find(_ rule: ComparingRule) -> Int? {
            known.first { $0.name == rule.name && $0.fingerprint == rule.fingerprint }?.number
        }
        let found = rules.map(find)
        let unused = known.map(\.number).filter { !found.contains($0) }
        switch use {
        case .alone where found.contains(nil) || !unused.isEmpty, .command where found.contains(nil): break
        case .shared where !rules.isEmpty || !known.isEmpty: break
        default: return ComparingRules(numbers: found)
        }
        let opened = try await write { [owner] database in
            if use == .shared, let owner { return try Self.openShared(rules, owner, database) }
            if use == .alone { for number in unused { try Self.delete(number, database) } }
            return try zip(rules, found).map { rule, number in try number ?? Self.insert(rule, database) }
        }
        let names = Set(known.map(\.name))
        let numbers = opened ?? found
        let edited = zip(rules, numbers).filter { rule, number in
            number.map { number in !known.contains { $0.number == number } } ?? true && names.contains(rule.name)
        }
        return ComparingRules(numbers: numbers, edited: edited.map(\.0.name))
    }

    /// The names of the rules whose conditions have not been edited: they still know the documents that they have seen.
    package func remembering(_ rules: [ComparingRule]) throws(StateError) -> Set<String> {
        guard !rules.isEmpty else { return [] }
        let known = try read { try KnownRule.all($0) }
        return Set(
            rules.filter { rule in known.last { $0.name == rule.name }?.fingerprint == rule.fingerprint }.map(\.name))
    }

    private static func insert(_ rule: ComparingRule, _ database: any StateSession) throws -> Int? {
        // Another process may have recorded it in the meantime.
        try database.execute(
            "INSERT INTO comparing_rule (name, fingerprint) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [TextAsBytes(rule.name), rule.fingerprint])
        return try database.value(
            Int.self, "SELECT number FROM comparing_rule WHERE name = ? AND fingerprint = ?",
            [TextAsBytes(rule.name), rule.fingerprint])
    }

    private static func delete(_ number: Int, _ database: any StateSession) throws {
        try database.execute("DELETE FROM last_seen WHERE rule = ?", [number])
        try database.execute("DELETE FROM comparing_rule WHERE number = ?", [number])
    }
}

// MARK: - In a fleet that shares the work

extension Ledger {
    /// The name of a member's fact: the numbers of its rules. The member's id follows.
    private static let factOfMember = "comparing_rules:"
    /// The name of a fact: what this rule remembers is being deleted. The rule's number follows.
    private static let factOfForgotten = "forgotten_rule:"
    /// How long the rules of a member that has ended without leaving are kept, in seconds. It may restart.
    private static let timeToRestart = 60
    /// The number of records that one transaction deletes.
    private static let deletionBatchSize = 10_000

    /// The numbers of rules that other members have.
    ///
    /// - Parameter grace: Includes members whose leases have expired for at most this many seconds.
    private static func usedNumbers(
        byOthersThan owner: String, grace: Int, _ database: any StateSession
    ) throws -> Set<Int> {
        let lists = try database.values(
            String.self,
            """
            SELECT i.value FROM identity i JOIN member m ON i.name = ? || m.owner
            WHERE m.owner <> ? AND \(database.dialect.isLater("m.until", thanSecondsAgo: "?"))
            """, [factOfMember, owner, grace])
        return Set(lists.flatMap { $0.split(separator: ",").compactMap { Int($0) } })
    }

    /// Members that start at once wait for each other.
    private static func lockComparingRules(_ database: any StateSession) throws {
        if let lock = database.dialect.comparingRulesLock { _ = try database.rows(lock) }
    }

    private static func openShared(
        _ rules: [ComparingRule], _ owner: String, _ database: any StateSession
    ) throws -> [Int?] {
        try lockComparingRules(database)
        let known = try KnownRule.all(database)
        let used = try usedNumbers(byOthersThan: owner, grace: 0, database)
        let numbers = try rules.map { rule -> Int? in
            let newest = known.last { $0.name == rule.name }
            if let found = known.first(where: { $0.name == rule.name && $0.fingerprint == rule.fingerprint }) {
                if found.number == newest?.number || used.contains(found.number) { return found.number }
                try forget(found.number, database)
            }
            return try insert(rule, database)
        }
        let list = numbers.compactMap { $0.map(String.init) }.joined(separator: ",")
        try set(factOfMember + owner, list, database)
        try database.execute(
            "DELETE FROM identity WHERE name LIKE ? AND NOT EXISTS (SELECT 1 FROM member m WHERE name = ? || m.owner)",
            [factOfMember + "%", factOfMember])
        try forgetUnused(owner, numbers.compactMap(\.self), database)
        return numbers
    }

    /// Its records are deleted later, because there may be many.
    private static func forget(_ number: Int, _ database: any StateSession) throws {
        try database.execute("DELETE FROM comparing_rule WHERE number = ?", [number])
        try set(factOfForgotten + String(number), "", database)
    }

    private static func forgetUnused(_ owner: String, _ own: [Int], _ database: any StateSession) throws {
        let unused = try KnownRule.all(database).map(\.number).filter { !own.contains($0) }
        guard !unused.isEmpty else { return }
        let used = try usedNumbers(byOthersThan: owner, grace: timeToRestart, database)
        for number in unused where !used.contains(number) { try forget(number, database) }
    }

    /// Forgets the rules that no member of the fleet has any longer, and deletes some of what forgotten rules remembered.
    ///
    /// - Parameter own: The numbers of this process's rules.
    /// - Returns: Whether more must be deleted.
    package func deleteForgottenRules(own: [Int]) async throws(StateError) -> Bool {
        guard let owner else { return false }
        let (known, forgotten) = try await read { database in
            let facts = try database.values(
                String.self, "SELECT name FROM identity WHERE name LIKE ? ORDER BY name", [Self.factOfForgotten + "%"])
            return (
                try KnownRule.all(database).map(\.number),
                facts.compactMap { Int($0.dropFirst(Self.factOfForgotten.count)) }
            )
        }
        guard let number = forgotten.first else {
            guard known.contains(where: { !own.contains($0) }) else { return false }
            try await write { database in
                try Self.lockComparingRules(database)
                try Self.forgetUnused(owner, own, database)
            }
            return false
        }
        try await write { database in
            let some = database.dialect.isRow(
                among: { "SELECT \($0) FROM last_seen WHERE rule = ? LIMIT ?" }, key: "id, rule")
            let deleted = try database.execute(
                "DELETE FROM last_seen WHERE \(some)", [number, Self.deletionBatchSize])
            guard deleted < Self.deletionBatchSize else { return }
            try database.execute(
                "DELETE FROM identity WHERE name = ?", [Self.factOfForgotten + String(number)])
        }
        return true
    }
}
