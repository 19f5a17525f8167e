package import GatewayClient
package import Rules

/// A document and the times of its rules with `at:`.
package struct TimedDocument: Sendable, Equatable {
    package let id: DocumentID
    package let times: [RuleTime]

    package init(id: DocumentID, times: [RuleTime]) {
        (self.id, self.times) = (id, times)
    }

    fileprivate var rows: [[(any StateArgument)?]] {
        times.map { [TextAsBytes(id.text), TextAsBytes($0.rule), $0.due, $0.hasFired] }
    }
}

/// The changes of timers that result from settled decisions.
package struct TimeChanges: Sendable {
    package enum Kind: Sendable {
        /// Replaces the timers of these rules; nil: of all rules.
        case replaced(ofRules: Set<String>?)
        /// Only adds timers: the run may have recorded other times of the document.
        case added
    }

    package var documents: [TimedDocument] = []
    var kind = Kind.replaced(ofRules: nil)
    /// Dead-lettered documents: their timers that are due at ``now`` are deleted. Only those of the rules of ``kind``.
    package var failed: [DocumentID] = []
    /// Seconds since 1970.
    package var now = 0

    package init(
        documents: [TimedDocument] = [], kind: Kind = .replaced(ofRules: nil), failed: [DocumentID] = [], now: Int = 0
    ) {
        (self.documents, self.kind, self.failed, self.now) = (documents, kind, failed, now)
    }

    var isEmpty: Bool { documents.isEmpty && failed.isEmpty }

    func record(in database: any StateSession) throws {
        switch kind {
        case .replaced(let rules):
            try Ledger.setTimes(documents, ofRules: rules, in: database)
            try Ledger.dropTimers(of: failed, ofRules: rules, dueBy: now, in: database)
        case .added:
            try Ledger.addTimes(documents, in: database)
        }
    }
}

// The times for which rules with `at:` wait or have fired: one for each document and rule.
extension Ledger {
    /// The times of each of these documents, in the order of the rules' names.
    package func times(of documents: [DocumentID]) async throws(StateError) -> [[RuleTime]] {
        guard !documents.isEmpty else { return [] }
        return try await read { database in
            let found = try database.rowsForEach(
                "SELECT rule, due, fired FROM timer WHERE id = ? ORDER BY rule",
                documents.map { [TextAsBytes($0.text)] })
            return found.map { rows in
                rows.map { RuleTime(rule: ($0[0] as TextAsBytes).text, due: $0[1], hasFired: $0[2]) }
            }
        }
    }

    /// Replaces the times of these documents.
    ///
    /// - Parameter rules: Only the times of these rules; nil: all.
    static func setTimes(
        _ documents: [TimedDocument], ofRules rules: Set<String>? = nil, in database: any StateSession
    ) throws {
        guard !documents.isEmpty else { return }
        if let rules {
            try database.executeEach(
                "DELETE FROM timer WHERE id = ? AND rule = ?",
                documents.flatMap { document in rules.map { [TextAsBytes(document.id.text), TextAsBytes($0)] } })
        } else {
            try database.executeEach("DELETE FROM timer WHERE id = ?", documents.map { [TextAsBytes($0.id.text)] })
        }
        try database.executeEach(
            database.dialect.replace(into: "timer", ["id", "rule", "due", "fired"], key: ["id", "rule"]),
            documents.flatMap(\.rows))
    }

    /// Adds times that a pass over all documents has found. The pass may have read an older revision than the run,
    /// which writes to the same table. So the earlier time wins: a timer that fires too early only computes the time
    /// again.
    static func addTimes(_ documents: [TimedDocument], in database: any StateSession) throws {
        guard !documents.isEmpty else { return }
        let earlier = database.dialect.least("timer.due", "excluded.due")
        let fired = database.dialect.greatest("timer.fired", "excluded.fired")
        try database.executeEach(
            """
            INSERT INTO timer (id, rule, due, fired) VALUES (?, ?, ?, ?)
            ON CONFLICT (id, rule) DO UPDATE SET
                due = CASE WHEN excluded.fired <> 0 THEN timer.due WHEN timer.fired <> 0 THEN excluded.due
                    ELSE \(earlier) END,
                fired = CASE WHEN timer.due = excluded.due THEN \(fired)
                    WHEN excluded.fired <> 0 THEN timer.fired ELSE 0 END
            """, documents.flatMap(\.rows))
    }

    /// Deletes the due timers of these documents: their decision failed, which a dead letter reports.
    ///
    /// - Parameter rules: Only the timers of these rules; nil: all.
    package static func dropTimers(
        of documents: [DocumentID], ofRules rules: Set<String>? = nil, dueBy now: Int, in database: any StateSession
    ) throws {
        guard !documents.isEmpty else { return }
        let due = "DELETE FROM timer WHERE id = ? AND fired = 0 AND due <= ?"
        if let rules {
            try database.executeEach(
                due + " AND rule = ?",
                documents.flatMap { document in rules.map { [TextAsBytes(document.text), now, TextAsBytes($0)] } })
        } else {
            try database.executeEach(due, documents.map { [TextAsBytes($0.text), now] })
        }
    }

    /// Deletes the times of all other rules.
    package func keepTimers(ofRules names: [String]) async throws(StateError) {
        let known = try await read { database in
            try database.values(TextAsBytes.self, "SELECT DISTINCT rule FROM timer").map(\.text)
        }
        try await dropTimers(ofRules: known.filter { !names.contains($0) })
    }

    package func dropTimers(ofRules names: [String]) async throws(StateError) {
        guard !names.isEmpty else { return }
        try await write { database in
            for name in names {
                try database.execute("DELETE FROM timer WHERE rule = ?", [TextAsBytes(name)])
            }
        }
    }

    /// Calls `body` with each document that has timers.
    package func forEachTimedDocument(_ body: (DocumentID) -> Void) throws(StateError) {
        try read { database in
            try database.forEachRow("SELECT DISTINCT id FROM timer", []) { row in
                body(DocumentID((row[0] as TextAsBytes).text))
                return true
            }
        }
    }

    // MARK: - What is due

    /// The earliest timers that are due, in a fixed order.
    ///
    /// - Parameters:
    ///   - rules: Only those of these rules.
    ///   - start: Only timers from this time on; nil: all.
    ///   - last: Only timers after this one; nil: from the first one on.
    package func timers(
        from start: Int? = nil, dueBy now: Int, ofRules rules: [String], after last: WaitingTimer? = nil, limit: Int
    ) async throws(StateError) -> [WaitingTimer] {
        try await read { database in
            let wanted = rules.map { _ in "?" }.joined(separator: ", ")
            let place = last.map { ($0.due, $0.id.text, $0.rule) } ?? (start ?? .min, "", "")
            return try database.rows(
                """
                SELECT id, rule, due FROM timer
                WHERE fired = 0 AND due <= ? AND rule IN (\(wanted)) AND due >= ? AND (due, id, rule) > (?, ?, ?)
                ORDER BY due, id, rule LIMIT ?
                """,
                [now] + rules.map { TextAsBytes($0) } + [
                    place.0, place.0, TextAsBytes(place.1), TextAsBytes(place.2), limit,
                ]
            ).map { row in
                WaitingTimer(
                    id: DocumentID((row[0] as TextAsBytes).text), rule: (row[1] as TextAsBytes).text, due: row[2])
            }
        }
    }

    /// When the next timer after a time is due; nil if there is none.
    ///
    /// - Parameter rules: Their timers are left out.
    package func nextTimer(after now: Int, except rules: [String] = []) async throws(StateError) -> Int? {
        try await read { database in
            let others = rules.map { _ in " AND rule <> ?" }.joined()
            return try database.value(
                Int.self, "SELECT MIN(due) FROM timer WHERE fired = 0 AND due > ?\(others)",
                [now] + rules.map { TextAsBytes($0) })
        }
    }

    /// The waiting timers, the earliest first, and their number.
    ///
    /// - Parameter limit: The maximum number of timers to return.
    package func waitingTimers(limit: Int) throws(StateError) -> (first: [WaitingTimer], count: Int) {
        try read { database in
            let first = try database.rows(
                "SELECT id, rule, due FROM timer WHERE fired = 0 ORDER BY due LIMIT ?", [limit])
            let count = try database.value(Int.self, "SELECT COUNT(*) FROM timer WHERE fired = 0") ?? 0
            let timers = first.map { row in
                WaitingTimer(
                    id: DocumentID((row[0] as TextAsBytes).text), rule: (row[1] as TextAsBytes).text, due: row[2])
            }
            return (timers, count)
        }
    }
}

/// A rule that waits for a time of a document.
package struct WaitingTimer: Sendable, Hashable {
    package let id: DocumentID
    package let rule: String
    /// In seconds since 1970.
    package let due: Int
}
