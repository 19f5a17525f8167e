package import Fleet
internal import GatewayClient
package import PostgreSQL

/// Changes that crashed each process that attempted them. The log keeps them, and each is a dead letter of the state.
package enum DeadChanges {
    /// Of the changes without a dead letter, the newest 1,000 are kept.
    static let kept = 1_000

    /// SQL, with a row of `dead_change`: its dead letter.
    static let deadLetter = """
        SELECT number FROM dead_letter
        WHERE dead_letter.id = dead_change.id AND rule IS NULL
            AND dead_letter.sequence IS NOT DISTINCT FROM nullif(dead_change.seq, '')
        """

    /// Saves a dead letter for each as part of their commit, and deletes the oldest changes without a dead letter.
    @Sendable package static func keepDeadLetters(_ dead: [DeadChange], _ connection: PostgresConnection) throws {
        let session = PostgresSession(connection: connection)
        try saveDeadLetters(dead, session)
        try connection.run(
            """
            DELETE FROM dead_change
            WHERE n <= (SELECT n FROM dead_change ORDER BY n DESC OFFSET $1::bigint LIMIT 1)
                AND NOT EXISTS (\(deadLetter))
            """, [.int(kept)])
    }

    /// Saves a dead letter for each.
    package static func saveDeadLetters(_ dead: [DeadChange], _ session: any StateSession) throws {
        let deadLetters = dead.map { dead in
            DeadLetter(
                sequence: SequenceID(dead.change.entry.sequence), id: DocumentID(dead.change.id.text),
                revision: dead.change.entry.revision.isEmpty ? nil : RevisionID(dead.change.entry.revision),
                reason: dead.reason, attempts: dead.change.attempts)
        }
        let numbers = try DeadLetters(session).insert(deadLetters, ruleSetHash: "")
        try Ledger.record(traces: TraceEntry.entries(of: deadLetters, numbers), in: session)
    }
}
