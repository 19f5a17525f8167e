internal import GRDB
package import GatewayClient
internal import Rules

/// A document and the times of its rules with `at:`.
struct TimedDocument: Sendable, Equatable {
    let id: DocumentID
    let times: [RuleTime]
}

// The times for which rules with `at:` wait, and those for which they have fired: one for each document and rule.
extension Ledger {
    /// The times of each of these documents, in the order of the rules' names.
    func times(of documents: [DocumentID]) async throws(StateError) -> [[RuleTime]] {
        guard !documents.isEmpty else { return [] }
        return try await read { database in
            let select = try database.cachedStatement(
                sql: "SELECT rule, due, fired FROM timer WHERE id = ? ORDER BY rule")
            return try documents.map { id in
                try Row.fetchAll(select, arguments: [WholeText(id.text)]).map { row in
                    RuleTime(rule: (row[0] as WholeText).text, due: row[1], hasFired: row[2])
                }
            }
        }
    }

    /// Replaces the times of these documents. One transaction.
    func setTimes(_ documents: [TimedDocument]) async throws(StateError) {
        guard !documents.isEmpty else { return }
        try await write { database in
            let delete = try database.cachedStatement(sql: "DELETE FROM timer WHERE id = ?")
            let insert = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO timer (id, rule, due, fired) VALUES (?, ?, ?, ?)")
            for document in documents {
                try delete.execute(arguments: [WholeText(document.id.text)])
                for time in document.times {
                    try insert.execute(
                        arguments: [WholeText(document.id.text), WholeText(time.rule), time.due, time.hasFired])
                }
            }
        }
    }

    /// Adds times that a pass over all documents has found. The pass may have seen an older revision than the run, which
    /// writes to the same table: so an earlier time wins, since a timer that comes too early does nothing but compute the
    /// time again.
    func addTimes(_ documents: [TimedDocument]) async throws(StateError) {
        guard !documents.isEmpty else { return }
        try await write { database in
            let insert = try database.cachedStatement(
                sql: """
                    INSERT INTO timer (id, rule, due, fired) VALUES (?, ?, ?, ?)
                    ON CONFLICT (id, rule) DO UPDATE SET
                        due = CASE WHEN excluded.fired THEN due WHEN fired THEN excluded.due ELSE MIN(due, excluded.due) END,
                        fired = CASE WHEN due = excluded.due THEN MAX(fired, excluded.fired)
                            WHEN excluded.fired THEN fired ELSE 0 END
                    """)
            for document in documents {
                for time in document.times {
                    try insert.execute(
                        arguments: [WholeText(document.id.text), WholeText(time.rule), time.due, time.hasFired])
                }
            }
        }
    }

    /// Drops timers of these documents that are due: their decision failed, and a dead letter says so.
    func dropTimers(of documents: [DocumentID], dueBy now: Int) async throws(StateError) {
        guard !documents.isEmpty else { return }
        try await write { database in
            let delete = try database.cachedStatement(sql: "DELETE FROM timer WHERE id = ? AND fired = 0 AND due <= ?")
            for id in documents { try delete.execute(arguments: [WholeText(id.text), now]) }
        }
    }

    /// Drops the times of all rules but these.
    func keepTimers(ofRules names: [String]) async throws(StateError) {
        let known = try await read { database in
            try WholeText.fetchAll(database, sql: "SELECT DISTINCT rule FROM timer").map(\.text)
        }
        try await dropTimers(ofRules: known.filter { !names.contains($0) })
    }

    func dropTimers(ofRules names: [String]) async throws(StateError) {
        guard !names.isEmpty else { return }
        try await write { database in
            for name in names {
                try database.execute(sql: "DELETE FROM timer WHERE rule = ?", arguments: [WholeText(name)])
            }
        }
    }

    /// Calls `body` with each document that has times.
    func forEachTimedDocument(_ body: (DocumentID) -> Void) throws(StateError) {
        try read { database in
            let ids = try WholeText.fetchCursor(database, sql: "SELECT DISTINCT id FROM timer")
            while let id = try ids.next() { body(DocumentID(id.text)) }
        }
    }

    // MARK: - What is due

    /// The documents of the earliest timers that are due, each once.
    ///
    /// - Parameter others: Leaves these out.
    func documentsWithTimers(dueBy now: Int, limit: Int, otherThan others: Set<DocumentID>) throws(StateError)
        -> [DocumentID]
    {
        try read { database in
            var found: [DocumentID] = []
            var seen = others
            let ids = try WholeText.fetchCursor(
                database, sql: "SELECT id FROM timer WHERE fired = 0 AND due <= ? ORDER BY due", arguments: [now])
            while found.count < limit, let id = try ids.next() {
                let id = DocumentID(id.text)
                if seen.insert(id).inserted { found.append(id) }
            }
            return found
        }
    }

    /// When the next timer after a time is due; nil if there is none.
    func nextTimer(after now: Int) throws(StateError) -> Int? {
        try read { database in
            try Int.fetchOne(database, sql: "SELECT MIN(due) FROM timer WHERE fired = 0 AND due > ?", arguments: [now])
        }
    }

    /// The timers that wait, the earliest first, and how many there are.
    ///
    /// - Parameter limit: The most timers to return.
    package func waitingTimers(limit: Int) throws(StateError) -> (first: [WaitingTimer], count: Int) {
        try read { database in
            let first = try Row.fetchAll(
                database, sql: "SELECT id, rule, due FROM timer WHERE fired = 0 ORDER BY due LIMIT ?",
                arguments: [limit])
            let count = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM timer WHERE fired = 0") ?? 0
            let timers = first.map { row in
                WaitingTimer(
                    id: DocumentID((row[0] as WholeText).text), rule: (row[1] as WholeText).text, due: row[2])
            }
            return (timers, count)
        }
    }
}

/// A rule that waits for a time of a document.
package struct WaitingTimer: Sendable, Equatable {
    package let id: DocumentID
    package let rule: String
    /// In seconds since 1970.
    package let due: Int
}
