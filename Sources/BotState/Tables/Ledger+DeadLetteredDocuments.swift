package import GatewayClient

/// A document with dead letters.
package struct DeadLetteredDocument: Sendable, Equatable {
    /// Empty for dead letters that don't name their document.
    package let id: DocumentID
    /// The numbers of its dead letters, ascending.
    package let deadLetters: [Int]
    /// The sequence of the newest of them; nil if it has none.
    package let sequence: SequenceID?
}

extension Ledger {
    /// These documents without the dead letters of paused rules, and without those that name no rule: they may concern a
    /// paused one. Documents of which none are left are omitted.
    package func retriable(
        _ documents: [DeadLetteredDocument], whilePaused paused: Set<String>
    ) throws(StateError) -> [DeadLetteredDocument] {
        guard !paused.isEmpty else { return documents }
        var retriable: [DeadLetteredDocument] = []
        for document in documents {
            var numbers: [Int] = []
            for number in document.deadLetters {
                if let rule = try deadLetter(number)?.rule, !paused.contains(rule) { numbers.append(number) }
            }
            guard !numbers.isEmpty else { continue }
            retriable.append(
                DeadLetteredDocument(id: document.id, deadLetters: numbers, sequence: document.sequence))
        }
        return retriable
    }

    /// The documents of these dead letters, each once; numbers that don't exist are ignored.
    package func deadLetteredDocuments(_ numbers: [Int]) throws(StateError) -> [DeadLetteredDocument] {
        var order: [DocumentID] = []
        var deadLetters: [DocumentID: [DeadLetter]] = [:]
        for number in Set(numbers).sorted() {
            guard let deadLetter = try deadLetter(number) else { continue }
            if deadLetters[deadLetter.id] == nil { order.append(deadLetter.id) }
            deadLetters[deadLetter.id, default: []].append(deadLetter)
        }
        return order.map { id in
            let deadLetters = deadLetters[id] ?? []
            return DeadLetteredDocument(
                id: id, deadLetters: deadLetters.compactMap(\.ledgerRecord?.number),
                sequence: deadLetters.last?.sequence)
        }
    }

    /// Documents with all their dead letters, each once, in the order of their first dead letters.
    ///
    /// - Parameters:
    ///   - number: Only documents whose first dead letter has a higher number.
    ///   - last: Dead letters with higher numbers are ignored.
    ///   - limit: The maximum number of documents to return.
    ///   - filter: Dead letters that do not match are ignored.
    package func deadLetteredDocuments(
        after number: Int, upTo last: Int, limit: Int, filter: DeadLetterFilter = DeadLetterFilter()
    ) throws(StateError) -> [DeadLetteredDocument] {
        let (any, earlier) = (
            filter.condition(store.dialect, on: "letter"), filter.condition(store.dialect, on: "earlier")
        )
        return try read { database in
            let firsts = try database.values(
                TextAsBytes.self,
                """
                SELECT id FROM dead_letter AS letter
                WHERE number > ? AND number <= ? AND \(any.sql) AND NOT EXISTS (
                    SELECT 1 FROM dead_letter AS earlier
                    WHERE earlier.id = letter.id AND earlier.number < letter.number AND \(earlier.sql))
                ORDER BY number LIMIT ?
                """, [number, last] + any.values + earlier.values + [limit])
            return try firsts.map { id in
                let rows = try database.rows(
                    """
                    SELECT number, sequence FROM dead_letter AS letter
                    WHERE id = ? AND number <= ? AND \(any.sql) ORDER BY number
                    """, [id, last] + any.values)
                return DeadLetteredDocument(
                    id: DocumentID(id.text), deadLetters: rows.map { $0["number"] },
                    sequence: (rows.last?["sequence"] as String?).flatMap { SequenceID($0) })
            }
        }
    }

    /// The highest number of a dead letter; 0 if there is none.
    package func highestDeadLetterNumber() throws(StateError) -> Int {
        try read(Self.newestDeadLetter)
    }

    /// The same. Does not block.
    package func newestDeadLetterNumber() async throws(StateError) -> Int { try await read(Self.newestDeadLetter) }

    @Sendable private static func newestDeadLetter(_ database: any StateSession) throws -> Int {
        try database.value(Int.self, "SELECT MAX(number) FROM dead_letter") ?? 0
    }
}
