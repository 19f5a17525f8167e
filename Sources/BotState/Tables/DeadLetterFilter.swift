internal import DocumentFlow
internal import Encodings

/// Selects dead letters by rule, reason and time.
package struct DeadLetterFilter: Sendable, Equatable {
    /// The rule that a dead letter must name.
    package enum RuleName: Sendable, Equatable {
        case named(String)
        /// Only dead letters without a rule: the gateway refused the write, the body is not JSON.
        case none
    }

    /// Nil: any rule, or none.
    package var rule: RuleName?
    /// A part of the reason, byte for byte.
    package var reason: String?
    /// Only dead letters from this time on, in seconds since 1970.
    package var since: Int?

    /// By default all dead letters match.
    package init(rule: RuleName? = nil, reason: String? = nil, since: Int? = nil) {
        self.rule = rule
        self.reason = reason
        self.since = since
    }

    /// Whether all dead letters match.
    package var isEmpty: Bool { self == DeadLetterFilter() }

    /// A condition on the rows of `dead_letter`.
    ///
    /// - Parameter table: The table's name or alias in the statement.
    func condition(
        _ dialect: SQLDialect, on table: String = "dead_letter"
    ) -> (sql: String, values: [(any StateArgument)?]) {
        var parts: [String] = ["TRUE"]
        var values: [(any StateArgument)?] = []
        switch rule {
        case .named(let name):
            parts.append("\(table).rule = ?")
            values += [TextAsBytes(name)]
        case .some(.none): parts.append("\(table).rule IS NULL")
        case nil: break
        }
        if let reason {
            parts.append(dialect.contains("\(table).reason", "?"))
            values += [TextAsBytes(reason)]
        }
        if let since {
            parts.append("\(table).set_aside_at >= ?")
            values += [Timestamp.text(since)]
        }
        return (parts.joined(separator: " AND "), values)
    }
}

extension Ledger {
    /// The number of matching dead letters of each rule, the highest first. A nil rule: dead letters without a rule.
    package func deadLetterCounts(_ filter: DeadLetterFilter = DeadLetterFilter()) throws(StateError) -> [(
        rule: String?, count: Int
    )] {
        let condition = filter.condition(store.dialect)
        return try read { database in
            return try database.rows(
                """
                SELECT rule, COUNT(*) AS dead_letters FROM dead_letter WHERE \(condition.sql)
                GROUP BY rule ORDER BY dead_letters DESC, rule IS NOT NULL, rule
                """, condition.values
            ).map { row in ((row["rule"] as TextAsBytes?)?.text, row["dead_letters"]) }
        }
    }

    /// Deletes all matching dead letters.
    ///
    /// - Returns: How many there were.
    package func dropDeadLetters(_ filter: DeadLetterFilter) async throws(StateError) -> Int {
        let dropped = try await write { [store] database in
            let condition = filter.condition(store.dialect)
            return try database.execute("DELETE FROM dead_letter WHERE \(condition.sql)", condition.values)
        }
        return dropped ?? 0
    }
}
