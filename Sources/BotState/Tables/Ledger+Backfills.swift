internal import Encodings
package import GatewayClient

/// An order to apply one rule to all documents, and what the bot has done of it.
package struct Backfill: Sendable, Equatable {
    /// The name of the rule.
    package let rule: String
    /// Only documents that match this Mango selector, as JSON; nil: all.
    package let selector: String?
    /// On how many documents per second the rule may fire.
    package let rate: Int
    /// The number of the order. Orders are numbered in all rules together.
    package let order: Int
    /// In seconds since 1970, like all times.
    package let orderedAt: Int
    /// Nil: it has not begun.
    package var begunAt: Int?
    /// Nil: it is not done.
    package var endedAt: Int?
    /// Why it ended early.
    package var problem: String?
    /// All documents up to this id are done. Nil: none.
    package var lastID: DocumentID?
    /// The number of documents in the database; nil if the gateway does not say.
    package var expected: Int?
    package var counts = Counts()

    /// What it has done so far.
    package struct Counts: Sendable, Equatable {
        /// Documents that were read.
        package var read = 0
        /// Documents on which the rule fired or failed.
        package var matched = 0
        package var written = 0
        package var deadLetters = 0

        package init(read: Int = 0, matched: Int = 0, written: Int = 0, deadLetters: Int = 0) {
            (self.read, self.matched, self.written, self.deadLetters) = (read, matched, written, deadLetters)
        }

        package static func + (left: Self, right: Self) -> Self {
            Self(
                read: left.read + right.read, matched: left.matched + right.matched,
                written: left.written + right.written, deadLetters: left.deadLetters + right.deadLetters)
        }
    }

    package var isOpen: Bool { endedAt == nil }
}

// Orders to apply rules to all documents: one for each rule at a time.
extension Ledger {
    /// For how many seconds a backfill that has ended is shown.
    private static let shownTime = 7 * 86_400

    /// By the names of the rules.
    package func backfills() throws(StateError) -> [Backfill] {
        try read { database in
            // A fleet that no bot of this version has run yet has no such table.
            guard try Self.lastOrder(database) > 0 else { return [] }
            return try database.rows(
                "SELECT * FROM backfill WHERE ended_at IS NULL OR ended_at > ? ORDER BY rule",
                [Timestamp.secondsNow - Self.shownTime]
            ).map(Backfill.init(row:))
        }
    }

    /// Lets the bot apply a rule to all documents.
    ///
    /// - Returns: The backfill of the rule that is under way, which prevents another one; nil if it was ordered.
    package func orderBackfill(of rule: String, selector: String?, rate: Int) async throws(StateError) -> Backfill? {
        let current = try await write { (database) -> Backfill? in
            let number = try Self.nextOrder(database)
            let rows = try database.rows("SELECT * FROM backfill WHERE rule = ?", [TextAsBytes(rule)])
            if let current = rows.first.map(Backfill.init(row:)), current.isOpen { return current }
            try database.execute("DELETE FROM backfill WHERE rule = ?", [TextAsBytes(rule)])
            try database.execute(
                "INSERT INTO backfill (rule, selector, rate, number, ordered_at) VALUES (?, ?, ?, ?, ?)",
                [TextAsBytes(rule), TextAsBytes(selector), rate, number, Timestamp.secondsNow])
            return nil
        }
        wakeRun()
        return current ?? nil
    }

    /// Ends the backfill of a rule.
    ///
    /// - Returns: What it has done; nil if none was under way.
    package func cancelBackfill(of rule: String) async throws(StateError) -> Backfill? {
        let cancelled = try await write { (database) -> Backfill? in
            // A fleet that no bot of this version has run yet has no such table.
            guard try Self.lastOrder(database) > 0 else { return nil }
            _ = try Self.nextOrder(database)
            let rows = try database.rows(
                "DELETE FROM backfill WHERE rule = ? AND ended_at IS NULL RETURNING *", [TextAsBytes(rule)])
            return rows.first.map(Backfill.init(row:))
        }
        wakeRun()
        return cancelled ?? nil
    }

    /// Whether a rule still makes up for changes, or is to be applied to all documents. Those that are paused wait.
    package func hasOpenOrders() throws(StateError) -> Bool {
        let rules = try pausedRules()
        if rules.contains(where: { !$0.isPaused }) { return true }
        let paused = Set(rules.map(\.name))
        return try backfills().contains { $0.isOpen && !paused.contains($0.rule) }
    }

    // MARK: - For the bot

    /// Records that the bot begins or continues a backfill.
    package func noteBegun(_ backfill: Backfill, expected: Int?) async throws(StateError) {
        try await write { database in
            try database.execute(
                """
                UPDATE backfill SET begun_at = COALESCE(begun_at, ?), expected = COALESCE(?, expected)
                WHERE rule = ? AND number = ?
                """, [Timestamp.secondsNow, expected, TextAsBytes(backfill.rule), backfill.order])
        }
    }

    /// Records what a backfill has done. No effect if it was cancelled.
    ///
    /// - Parameter last: All documents up to this one are done; nil: not known.
    package func note(
        _ backfill: Backfill, upTo last: DocumentID?, _ counts: Backfill.Counts
    ) async throws(StateError) {
        try await write { database in
            try database.execute(
                """
                UPDATE backfill SET last_id = ?, read_count = ?, matched = ?, written = ?, dead_letters = ?
                WHERE rule = ? AND number = ?
                """,
                [
                    TextAsBytes(last?.text), counts.read, counts.matched, counts.written, counts.deadLetters,
                    TextAsBytes(backfill.rule), backfill.order,
                ])
        }
    }

    /// Records that a backfill has ended.
    ///
    /// - Parameter problem: Why it ended early; nil: all documents are done.
    package func noteEnded(_ backfill: Backfill, problem: String? = nil) async throws(StateError) {
        try await write { database in
            try database.execute(
                "UPDATE backfill SET ended_at = ?, problem = ? WHERE rule = ? AND number = ?",
                [Timestamp.secondsNow, TextAsBytes(problem), TextAsBytes(backfill.rule), backfill.order])
            try database.execute(
                "DELETE FROM backfill WHERE ended_at < ?", [Timestamp.secondsNow - Self.shownTime])
        }
    }
}

extension Backfill {
    fileprivate init(row: StateRow) {
        func text(_ column: String) -> String? { (row[column] as TextAsBytes?)?.text }
        self.init(
            rule: text("rule") ?? "", selector: text("selector"), rate: row["rate"], order: row["number"],
            orderedAt: row["ordered_at"])
        (begunAt, endedAt, problem) = (row["begun_at"], row["ended_at"], text("problem"))
        (lastID, expected) = (text("last_id").map { DocumentID($0) }, row["expected"])
        counts = Counts(
            read: row["read_count"], matched: row["matched"], written: row["written"], deadLetters: row["dead_letters"])
    }

    private init(rule: String, selector: String?, rate: Int, order: Int, orderedAt: Int) {
        (self.rule, self.selector, self.rate) = (rule, selector, rate)
        (self.order, self.orderedAt) = (order, orderedAt)
    }
}
