internal import DocumentFlow
internal import Encodings
internal import GRDB

/// Which dead letters somebody wants to see.
package struct LetterFilter: Sendable, Equatable {
    package enum RuleName: Sendable, Equatable {
        case named(String)
        /// Of letters that are no rule's fault: the gateway refused the write, the body was not JSON.
        case none
    }

    /// Nil: of any.
    package var rule: RuleName?
    /// What the reason contains, byte for byte.
    package var reason: String?
    /// Only those that were dead-lettered then or later: seconds since 1970.
    package var since: Int?

    package init(rule: RuleName? = nil, reason: String? = nil, since: Int? = nil) {
        self.rule = rule
        self.reason = reason
        self.since = since
    }

    package var isEmpty: Bool { self == LetterFilter() }

    /// A condition on the rows of `dead_letter`.
    ///
    /// - Parameter table: The name under which it stands in the statement.
    func condition(on table: String = "dead_letter") -> (sql: String, arguments: StatementArguments) {
        var parts: [String] = ["1"]
        var arguments = StatementArguments()
        switch rule {
        case .named(let name):
            parts.append("\(table).rule = ?")
            arguments += [WholeText(name)]
        case .some(.none): parts.append("\(table).rule IS NULL")
        case nil: break
        }
        if let reason {
            parts.append("INSTR(\(table).reason, ?) > 0")
            arguments += [WholeText(reason)]
        }
        if let since {
            parts.append("\(table).set_aside_at >= ?")
            arguments += [Timestamp.text(since)]
        }
        return (parts.joined(separator: " AND "), arguments)
    }
}

extension Ledger {
    /// How many letters there are of each rule, the most first. Nil: no rule's.
    package func deadLetterCounts(_ filter: LetterFilter = LetterFilter()) throws(StateError) -> [(
        rule: String?, count: Int
    )] {
        let condition = filter.condition()
        return try read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT rule, COUNT(*) AS letters FROM dead_letter WHERE \(condition.sql)
                    GROUP BY rule ORDER BY letters DESC, rule
                    """, arguments: condition.arguments
            ).map { row in ((row["rule"] as WholeText?)?.text, row["letters"]) }
        }
    }

    /// Throws all letters away that the filter lets through.
    ///
    /// - Returns: How many there were.
    package func dropDeadLetters(_ filter: LetterFilter) async throws(StateError) -> Int {
        let dropped = try await write { database in
            let condition = filter.condition()
            try database.execute(
                sql: "DELETE FROM dead_letter WHERE \(condition.sql)", arguments: condition.arguments)
            return database.changesCount
        }
        return dropped ?? 0
    }
}
