internal import GatewayClient
internal import Logging

// What follows a mark that is not the state's.
extension DatabaseResetDetector {
    /// Called before everything is processed again: the reset must be credible, and the database must keep the new mark,
    /// or the next check would find another reset.
    ///
    /// - Returns: The reset, with what the state has to know about it.
    /// - Throws: `.notOffered` if marks prove nothing here; `.unavailable` if the mark is there again.
    func prove(_ reset: DatabaseReset) async throws -> DatabaseReset {
        guard !isReadOnly else { return reset }
        let info = try await marks.gateway.databaseInfo()
        let (record, known) = try await ledger.onSeparateThread { ledger throws(StateError) in
            (try ledger.resetRecord(), try ledger.databaseIdentity())
        }
        let checkpoint = try await newestCheckpoint?.sequence
        let evidence = record.evidence(of: reset, info, checkpoint: checkpoint)
        guard marks.trust.isCredibleReset(evidence) else {
            throw marks.giveUp("it shows a reset again, but the database has not changed since the last one")
        }
        if reset.mark == nil, try await marks.create().mark.identity == known {
            // The answers without it were wrong.
            throw GatewayError(.unavailable, "\(marks.gateway.url): the bot's mark was missing for a moment")
        }
        var reset = reset
        reset.record = record.noting(resetFrom: known, info)
        return reset
    }

    func isOnlyMarkLost() async throws -> Bool {
        guard lostMark == .writeAgain else { return false }
        let info = try await marks.gateway.databaseInfo()
        return try await ledger.onSeparateThread { ledger throws(StateError) in
            try ledger.resetRecord().isUnchanged(info, checkpoint: ledger.checkpoint()?.sequence)
        }
    }

    /// Writes the lost mark again, with the same nonce: ids of events depend on it.
    ///
    /// - Throws: `.notOffered` if the database loses it again.
    func rewriteLostMark(_ known: String) async throws -> Finding {
        let mark = DatabaseMark(identity: known)
        guard !isReadOnly else { return .same(mark) }
        guard marks.trust.mayRewrite() else {
            throw marks.giveUp("the mark was lost again, but the database is otherwise unchanged")
        }
        // Before the mark is written: for other members of a fleet, it would be older than the state.
        try await ledger.noteMark(generation: 0)
        let replaced = try await marks.replace { $0 == nil ? mark : nil }
        guard let generation = replaced.generation else { return try await detect(after: []) }
        try await ledger.noteMark(generation: generation)
        logger.warning(
            "the bot's mark was missing, but the database is otherwise unchanged: wrote it again and continues; if the database was restored, stop the bot and run 'changebot checkpoint reset'"
        )
        return .same(mark)
    }
}
