internal import Encodings
internal import GatewayClient

/// The dead letters of a state, in a transaction.
package struct DeadLetters {
    private let session: any StateSession

    package init(_ session: any StateSession) { self.session = session }

    /// See ``Ledger/keep(_:)``.
    ///
    /// - Parameter ruleSetHash: Of the rules in force; empty if it is not known.
    @discardableResult
    package func insert(_ deadLetters: [DeadLetter], ruleSetHash: String) throws -> [Int] {
        try deadLetters.map { try insert($0, ruleSetHash) }
    }

    /// - Returns: How many of them existed.
    @discardableResult
    func drop(_ numbers: [Int]) throws -> Int {
        try session.executeEach("DELETE FROM dead_letter WHERE number = ?", numbers.map { [$0] })
    }

    /// See ``Ledger/dropDeadLetters(of:)``.
    func dropObsolete(of documents: [Ledger.ResolvedDocument]) throws -> [(id: DocumentID, count: Int)] {
        var dropped: [(id: DocumentID, count: Int)] = []
        // A dead letter with a rule but without a change is about the rule's total.
        let found = try session.rowsForEach(
            """
            SELECT number, rule FROM dead_letter
            WHERE id = ? AND (sequence IS NOT NULL OR revision IS NOT NULL OR rule IS NULL
                OR NOT EXISTS (SELECT 1 FROM total_to_write WHERE target = ?))
            """, documents.map { [TextAsBytes($0.id.text), OwnWrite.key($0.id.text)] })
        for (document, rows) in zip(documents, found) {
            let numbers = rows.compactMap { row -> Int? in
                let rule = (row["rule"] as TextAsBytes?)?.text
                return document.isResolved(rule: rule, number: row["number"]) ? row["number"] : nil
            }
            try drop(numbers)
            if !numbers.isEmpty { dropped.append((document.id, numbers.count)) }
        }
        return dropped
    }

    /// The attempts of the dead letters that this one replaces, by their numbers.
    private func replacedAttempts(_ deadLetter: DeadLetter) throws -> [Int: Int] {
        // The same change may fail again after a crash or in a retry. A change without a revision is identified by its
        // sequence.
        let known = try session.rows(
            """
            SELECT number, attempts FROM dead_letter
            WHERE id = ?1 AND (
                revision IS NOT DISTINCT FROM ?2
                AND (revision IS NOT NULL OR sequence IS NOT DISTINCT FROM ?3)
                AND (NOT ?4 OR rule IS NOT DISTINCT FROM ?5)
                OR ?4 AND rule IS NOT DISTINCT FROM ?5)
            """,
            [
                TextAsBytes(deadLetter.id.text), TextAsBytes(deadLetter.revision?.text),
                deadLetter.sequence?.description,
                deadLetter.concernsOnlyRule, TextAsBytes(deadLetter.rule),
            ])
        var attempts: [Int: Int] = [:]
        for row in known { attempts[row["number"]] = row["attempts"] }
        for number in deadLetter.replaced where attempts[number] == nil {
            attempts[number] = try session.value(
                Int.self, "SELECT attempts FROM dead_letter WHERE number = ?", [number])
        }
        return attempts
    }

    private func insert(_ deadLetter: DeadLetter, _ ruleSetHash: String) throws -> Int {
        let attempts = try replacedAttempts(deadLetter)
        try drop(Array(attempts.keys))
        var columns = [
            "sequence", "id", "revision", "rule", "reason", "attempts", "set_aside_at", "rule_set",
        ]
        var values: [(any StateArgument)?] = [
            deadLetter.sequence?.description, TextAsBytes(deadLetter.id.text),
            TextAsBytes(deadLetter.revision?.text), TextAsBytes(deadLetter.rule), TextAsBytes(deadLetter.reason),
            deadLetter.attempts + attempts.values.reduce(0, +), Timestamp.now, ruleSetHash,
        ]
        if let number = attempts.keys.min() {
            columns.append("number")
            values.append(number)
        }
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        let number = try session.value(
            Int.self,
            "INSERT INTO dead_letter (\(columns.joined(separator: ", "))) VALUES (\(places)) RETURNING number", values)
        return number ?? 0
    }
}
