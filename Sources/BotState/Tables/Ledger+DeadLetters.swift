internal import DocumentFlow
internal import Encodings
package import GatewayClient

extension Ledger {
    /// Saves dead letters. If the change was dead-lettered before, the new dead letter takes over the number and adds
    /// the attempts of the old one. The same applies to those that it replaces.
    ///
    /// - Returns: Their numbers; none if the state is only read.
    @discardableResult
    package func keep(_ deadLetters: [DeadLetter]) async throws(StateError) -> [Int] {
        guard !deadLetters.isEmpty else { return [] }
        return try await write { database in
            let numbers = try DeadLetters(database).insert(deadLetters, ruleSetHash: self.ruleSetHash)
            try self.record(TraceEntry.entries(of: deadLetters, numbers), in: database)
            return numbers
        } ?? []
    }

    /// Dead letters by ascending number.
    ///
    /// - Parameters:
    ///   - number: Only those with higher numbers.
    ///   - limit: The maximum number to return. There may be any number of dead letters: read them in pages.
    package func deadLetters(
        after number: Int = 0, limit: Int = .max, filter: DeadLetterFilter = DeadLetterFilter()
    ) throws(StateError) -> [DeadLetter] {
        let condition = filter.condition(store.dialect)
        return try deadLetters(
            where: "number > ? AND \(condition.sql) ORDER BY number LIMIT ?",
            [number] + condition.values + [limit])
    }

    /// The newest first.
    package func newestDeadLetters(limit: Int) throws(StateError) -> [DeadLetter] {
        try deadLetters(where: "TRUE ORDER BY number DESC LIMIT ?", [limit])
    }

    /// All dead letters of one document, by ascending number.
    package func deadLetters(of id: DocumentID) throws(StateError) -> [DeadLetter] {
        try deadLetters(where: "id = ? ORDER BY number", [TextAsBytes(id.text)])
    }

    /// Nil if there is none with this number.
    package func deadLetter(_ number: Int) throws(StateError) -> DeadLetter? {
        try deadLetters(where: "number = ?", [number]).first
    }

    /// - Parameter last: Only those up to this number.
    package func deadLetterCount(
        _ filter: DeadLetterFilter = DeadLetterFilter(), upTo last: Int = .max
    ) throws(StateError) -> Int {
        let condition = filter.condition(store.dialect)
        return try read { database in
            try database.value(
                Int.self, "SELECT COUNT(*) FROM dead_letter WHERE number <= ? AND \(condition.sql)",
                [last] + condition.values) ?? 0
        }
    }

    /// Deletes dead letters.
    ///
    /// - Returns: How many of them existed.
    @discardableResult
    package func drop(_ numbers: [Int]) async throws(StateError) -> Int {
        guard !numbers.isEmpty else { return 0 }
        return try await write { try DeadLetters($0).drop(numbers) } ?? 0
    }

    /// A document whose decision was completed, so that its dead letters are obsolete.
    package struct ResolvedDocument: Sendable {
        let id: DocumentID
        /// Only dead letters of these rules are deleted; nil: all, with or without a rule.
        let rules: Set<String>?
        /// Rules that failed again: their dead letters are kept.
        package let failedRules: Set<String>
        /// Whether dead letters without a rule are kept: a rule that took no part may be concerned.
        let keepsUnnamed: Bool
        /// The highest number when it was decided: later dead letters may be about newer content.
        let highestDeadLetterNumber: Int

        /// By default all dead letters of the document are obsolete.
        package init(
            id: DocumentID, rules: Set<String>? = nil, failedRules: Set<String> = [],
            keepsUnnamed: Bool = false, highestDeadLetterNumber: Int = .max
        ) {
            self.id = id
            self.keepsUnnamed = keepsUnnamed
            self.rules = rules
            self.failedRules = failedRules
            self.highestDeadLetterNumber = highestDeadLetterNumber
        }

        func isResolved(rule: String?, number: Int) -> Bool {
            guard number <= highestDeadLetterNumber else { return false }
            guard let rule else { return rules == nil && !keepsUnnamed }
            return !failedRules.contains(rule) && rules?.contains(rule) != false
        }
    }

    /// Deletes the obsolete dead letters of documents. The dead letter of an unwritten total is not obsolete: it is
    /// deleted when the total is written.
    ///
    /// - Returns: The documents that had any, and how many.
    package func dropDeadLetters(
        of documents: [ResolvedDocument]
    ) async throws(StateError) -> [(id: DocumentID, count: Int)] {
        guard !documents.isEmpty else { return [] }
        return try await write { try DeadLetters($0).dropObsolete(of: documents) } ?? []
    }

    /// The ids of up to `limit` documents with dead letters, each once.
    package func documentsWithDeadLetters(limit: Int) throws(StateError) -> [DocumentID] {
        try read { database in
            try database.values(
                TextAsBytes.self, "SELECT DISTINCT id FROM dead_letter LIMIT ?", [limit]
            ).map { DocumentID($0.text) }
        }
    }

    private func deadLetters(where condition: String, _ values: [(any StateArgument)?]) throws(StateError)
        -> [DeadLetter]
    {
        try read { database in
            try database.rows(
                "SELECT * FROM dead_letter WHERE \(condition)", values
            ).map(DeadLetter.init(row:))
        }
    }
}

extension DeadLetter {
    fileprivate init(row: StateRow) {
        func text(_ column: String) -> String? { (row[column] as TextAsBytes?)?.text }
        self.init(
            sequence: (row["sequence"] as String?).flatMap { SequenceID($0) }, id: DocumentID(text("id") ?? ""),
            revision: text("revision").map { RevisionID($0) }, rule: text("rule"), reason: text("reason") ?? "",
            attempts: row["attempts"])
        ledgerRecord = LedgerRecord(
            number: row["number"], deadLetteredAt: row["set_aside_at"], ruleSetHash: row["rule_set"])
    }
}
