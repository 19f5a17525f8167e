internal import Encodings
package import GatewayClient
internal import LosslessJSON

/// A rule that an operator has paused, or that makes up for the changes since then.
package struct PausedRule: Sendable, Equatable {
    package let name: String
    /// The changes after this sequence are given to the rule when it is resumed. Nil: all of the feed.
    package let since: SequenceID?
    /// In seconds since 1970.
    package let pausedAt: Int
    /// In seconds since 1970. Nil: the rule is still paused.
    package let resumedAt: Int?
    /// The number of the latest order about it. Orders are numbered in all rules together.
    package let order: Int
    /// The last own revision that the bot wrote before it began to leave the rule out: the decisions that led to it and to
    /// earlier ones included the rule. 0: not known. Nil: the bot is still to take up the order.
    package let lastWrite: Int?

    package var isPaused: Bool { resumedAt == nil }
}

/// The names of a bot's rules, so that commands without rule files can check names.
package struct KnownRuleNames: Sendable, Equatable {
    /// In order.
    package let all: [String]
    /// The rules with `aggregate`.
    package let counting: Set<String>
    /// The rules that follow the feed and can't be applied to all documents: with `changed`, `enter`, `leave` or
    /// `resolve`.
    package let following: Set<String>

    package init(all: [String], counting: Set<String>, following: Set<String>) {
        (self.all, self.counting, self.following) = (all, counting, following)
    }

    fileprivate init?(json: String) {
        guard let list = try? JSONText(json) else { return nil }
        let names = { (name: String) in list.root[name].map { $0.elements.compactMap(\.string) } ?? [] }
        self.init(all: names("all"), counting: Set(names("counting")), following: Set(names("following")))
    }

    /// U+0000 would end a text in the database, but JSON escapes it.
    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, rules) in [
                ("all", all), ("counting", counting.sorted()), ("following", following.sorted()),
            ] {
                writer.name(name)
                writer.array { writer in for rule in rules { writer.string(rule) } }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// What an order about a rule has changed.
package enum PauseChange: Sendable, Equatable {
    case paused
    /// The rule was paused before.
    case alreadyPaused
    /// The rule fires again, and makes up for the changes that it missed.
    case resumed
    /// The same, but the missed changes are not given to it.
    case skipped
    /// The rule was not paused.
    case notPaused
    /// It makes up for the changes already.
    case alreadyResumed
}

// Orders of operators to a bot, running or not: rules that it must not apply for a while. A running bot notices them: see
// `LockFileWatch`.
extension Ledger {
    /// The rules that are paused or make up for changes, by name.
    package func pausedRules() throws(StateError) -> [PausedRule] {
        try read { database in
            // A fleet that no bot of this version has run yet has no such table.
            guard try Self.lastOrder(database) > 0 else { return [] }
            return try database.rows("SELECT * FROM paused_rule ORDER BY rule").map(PausedRule.init(row:))
        }
    }

    /// Lets the bot pause rules.
    ///
    /// - Parameter names: Should be those of known rules: see ``knownRules()``.
    /// - Returns: What has changed for each rule.
    package func pause(_ names: [String]) async throws(StateError) -> [PauseChange] {
        let since = try checkpoint()?.sequence
        return try await order(names) { name, number, before, database in
            guard let before else {
                // Until the bot notices, the rule still fires. So it may be given a few changes twice, but misses none.
                try database.execute(
                    "INSERT INTO paused_rule (rule, since, paused_at, number) VALUES (?, ?, ?, ?)",
                    [TextAsBytes(name), since?.description, Timestamp.secondsNow, number])
                return .paused
            }
            guard !before.isPaused else { return .alreadyPaused }
            try database.execute(
                "UPDATE paused_rule SET resumed_at = NULL, number = ? WHERE rule = ?", [number, TextAsBytes(name)])
            return .paused
        }
    }

    /// Lets the bot apply paused rules again.
    ///
    /// - Parameter skips: Whether the changes since the pause are not given to them.
    /// - Returns: What has changed for each rule.
    package func resume(_ names: [String], skips: Bool) async throws(StateError) -> [PauseChange] {
        try await order(names) { name, number, before, database in
            guard let before else { return .notPaused }
            if skips {
                try database.execute("DELETE FROM paused_rule WHERE rule = ?", [TextAsBytes(name)])
                return .skipped
            }
            guard before.isPaused else { return .alreadyResumed }
            try database.execute(
                "UPDATE paused_rule SET resumed_at = ?, number = ? WHERE rule = ?",
                [Timestamp.secondsNow, number, TextAsBytes(name)])
            return .resumed
        }
    }

    private func order(
        _ names: [String],
        _ change: @escaping @Sendable (String, Int, PausedRule?, any StateSession) throws -> PauseChange
    ) async throws(StateError) -> [PauseChange] {
        let changes = try await write { (database) -> [PauseChange] in
            let number = try Self.nextOrder(database)
            var changes: [PauseChange] = []
            for name in names {
                let before = try database.rows("SELECT * FROM paused_rule WHERE rule = ?", [TextAsBytes(name)]).first
                changes.append(try change(name, number, before.map(PausedRule.init(row:)), database))
            }
            return changes
        }
        wakeRun()
        return changes ?? []
    }

    // MARK: - For the bot

    /// Records that the bot leaves out rules that were paused since its last start. If there was another order meanwhile,
    /// the bot leaves them out nevertheless, until it takes up that one.
    ///
    /// - Parameters:
    ///   - rules: Those that the bot has read.
    ///   - start: From where on it leaves them out. Nil: at some time after the order.
    package func notePaused(_ rules: [PausedRule], from start: SequenceID?) async throws(StateError) {
        let new = rules.filter { $0.isPaused && $0.lastWrite == nil }
        guard !new.isEmpty else { return }
        let lastWrite = start == nil ? "0" : "(SELECT COALESCE(MAX(rowid), 0) FROM own_write)"
        try await write { database in
            for rule in new {
                try database.execute(
                    """
                    UPDATE paused_rule SET since = COALESCE(?, since), last_write = \(lastWrite)
                    WHERE rule = ? AND last_write IS NULL
                    """, [start?.description, TextAsBytes(rule.name)])
            }
        }
    }

    /// Records that a paused rule has missed changes since the beginning of the feed.
    package func notePausedFromBeginning(_ names: [String]) async throws(StateError) {
        guard !names.isEmpty else { return }
        try await write { database in
            for name in names {
                try database.execute(
                    "UPDATE paused_rule SET since = NULL, last_write = COALESCE(last_write, 0) WHERE rule = ?",
                    [TextAsBytes(name)])
            }
        }
    }

    /// Records up to where a resumed rule has made up for changes. No effect if there was another order since.
    package func noteReached(_ sequence: SequenceID, by rule: PausedRule) async throws(StateError) {
        try await write { database in
            try database.execute(
                "UPDATE paused_rule SET since = ? WHERE rule = ? AND number = ?",
                [sequence.description, TextAsBytes(rule.name), rule.order])
        }
    }

    /// Records that a resumed rule has made up for the changes. No effect if there was another order since.
    package func noteCaughtUp(_ rule: PausedRule) async throws(StateError) {
        try await write { database in
            try database.execute(
                "DELETE FROM paused_rule WHERE rule = ? AND number = ?", [TextAsBytes(rule.name), rule.order])
        }
    }

    /// Records the latest order that this process of a fleet has taken up. No effect for a state in a file.
    package func noteTakenUp(order: Int) async throws(StateError) {
        guard let owner, order > 0 else { return }
        try await write { database in
            try database.execute("DELETE FROM order_taken_up WHERE owner NOT IN (SELECT owner FROM member)")
            try database.execute(
                database.dialect.replace(into: "order_taken_up", ["owner", "number"], key: ["owner"]), [owner, order])
        }
    }

    /// Whether all working processes have taken up an order.
    package func isTakenUp(order: Int) async throws(StateError) -> Bool {
        guard owner != nil else { return true }
        return try await read { database in
            try database.rows(
                """
                SELECT m.owner FROM member m LEFT JOIN order_taken_up t USING (owner)
                WHERE m.membership IS NOT NULL AND \(database.dialect.isLater("m.until", thanSecondsAgo: "0")) AND COALESCE(t.number, 0) < ? LIMIT 1
                """, [order]
            ).isEmpty
        }
    }

    // MARK: - Known rules

    /// The rules with which the bot last started; nil if it has not started with this version of the program.
    package func knownRules() throws(StateError) -> KnownRuleNames? {
        let text = try read { database in
            try database.value(String.self, "SELECT value FROM identity WHERE name = ?", [Self.knownRulesName])
        }
        return text.flatMap(KnownRuleNames.init(json:))
    }

    /// No write if these are recorded already.
    package func note(knownRules rules: KnownRuleNames) async throws(StateError) {
        guard try knownRules() != rules else { return }
        try await write { try Self.set(Self.knownRulesName, rules.json, $0) }
    }

    // MARK: - Numbers of orders

    /// The number of the latest order; 0: there was none.
    package func lastOrder() throws(StateError) -> Int { try read(Self.lastOrder) }

    static func lastOrder(_ database: any StateSession) throws -> Int {
        let text = try database.value(String.self, "SELECT value FROM identity WHERE name = ?", [orderName])
        return text.flatMap { Int($0) } ?? 0
    }

    /// Also prevents other processes from adding an order until the transaction ends.
    static func nextOrder(_ database: any StateSession) throws -> Int {
        try database.execute("INSERT INTO identity (name, value) VALUES (?, '0') ON CONFLICT DO NOTHING", [orderName])
        try database.execute(
            "UPDATE identity SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE name = ?", [orderName])
        return try lastOrder(database)
    }

    private static let orderName = "order"
    static let knownRulesName = "known_rules"
}

extension PausedRule {
    fileprivate init(row: StateRow) {
        self.init(
            name: (row["rule"] as TextAsBytes).text, since: (row["since"] as String?).flatMap { SequenceID($0) },
            pausedAt: row["paused_at"], resumedAt: row["resumed_at"], order: row["number"],
            lastWrite: row["last_write"])
    }
}
