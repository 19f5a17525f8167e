internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import ServiceLifecycle

/// Detects a reset of the database, and keeps the copy of the checkpoint in it.
///
/// Both use one local document of the keyspace, which no feed shows and no replication carries. Sequences can't tell:
/// after a reset Sync Gateway accepts the old ones and waits for ever. Nor can its status: offline it reports sequence
/// 0, and a new `instance_start_time` after each pause. So only the mark counts, and only while the gateway reports the
/// database as online.
struct DatabaseWatch: Sendable {
    enum Finding {
        /// The mark is this bot's. A database without a mark has been given one.
        case same(DatabaseMark)
        case reset(DatabaseReset)
        /// This user may not read or write local documents.
        case unknowable(String)
    }

    let marks: MarkDocument
    let ledger: Ledger
    /// The channels of the feed that are read; nil for all.
    let channels: [String]?
    /// A dry run only looks: it writes nothing.
    let isReadOnly: Bool
    let logger: Logger
    /// The time between two checks of the mark.
    let checkInterval: Duration

    /// Checks the mark, and adds one to a database that no state belongs to yet.
    ///
    /// - Throws: `GatewayError`, ``StateError``.
    func look() async throws -> Finding {
        do { return try await look(isSecond: false) } catch let error as GatewayError
            where MarkDocument.isRefusal(error)
        {
            // If something stands in for the gateway, it answers this request in the same way.
            if error.code == .malformedAnswer { _ = try await marks.gateway.databaseInfo() }
            return .unknowable(error.message)
        }
    }

    private func look(isSecond: Bool) async throws -> Finding {
        let check = try check()
        switch check.result(try await marks.find(), isSecondCheck: isSecond) {
        case .same(let found):
            try await ledger.noteMark(generation: found.generation)
            return .same(found.mark)
        case .adopt(let found):
            try await ledger.adoptDatabase(identity: found.mark.identity)
            try await ledger.noteMark(generation: found.generation)
            return .same(found.mark)
        case .addMark: return .same(try await addMark())
        case .lookAgain:
            guard try await marks.gateway.databaseInfo().isOnline else { throw notOnline }
            return try await look(isSecond: true)
        case .reset(let reset): return .reset(reset)
        }
    }

    private func check() throws(StateError) -> MarkCheck {
        MarkCheck(known: try ledger.databaseIdentity(), generation: try ledger.markGeneration())
    }

    private var notOnline: GatewayError { GatewayError(.unavailable, "\(marks.gateway.url) is not online") }

    private func addMark() async throws -> DatabaseMark {
        guard !isReadOnly else { return .new() }
        let left = try await marks.leave()
        try await ledger.adoptDatabase(identity: left.mark.identity)
        if let generation = left.generation { try await ledger.noteMark(generation: generation) }
        return left.mark
    }

    /// Writes the mark again, so that an earlier copy of the database can be told from it.
    func rewriteMark() async throws {
        try await replaceOwn { $0 }
    }

    /// Checks the mark and copies the checkpoint for as long as the run lasts. Errors of the gateway are only logged:
    /// the feed meets them too and handles them.
    ///
    /// - Throws: ``DatabaseReset``, ``StateError``, `CancellationError`.
    func run() async throws {
        var schedule = CopySchedule()
        while true {
            try await Task.sleep(for: checkInterval)
            do {
                switch try await look() {
                case .reset(let reset): throw reset
                case .unknowable(let reason):
                    logger.debug("the database's mark can't be read now", metadata: [LogKey.reason: "\(reason)"])
                case .same(let mark):
                    let isCurrent = mark.isCopy(of: try ledger.checkpoint(), channels: channels)
                    if schedule.isDue(at: .now, isCurrent: isCurrent) {
                        try await copyCheckpoint()
                        schedule.noteCopy(at: .now)
                    }
                }
            } catch let error as GatewayError {
                if error.code == .cancelled { throw CancellationError() }
                logger.debug("the database's mark can't be read now", metadata: [LogKey.reason: "\(error)"])
            }
        }
    }

    /// The reset of the database since the run began, if there was one. For the end of a one-shot run: a gateway that
    /// can't be asked now proves nothing.
    ///
    /// - Throws: ``StateError``.
    func resetAtEnd() async throws -> DatabaseReset? {
        do {
            guard case .reset(let reset) = try await cancelWhenGracefulShutdown({ try await look() }) else {
                return nil
            }
            return reset
        } catch is GatewayError {
            return nil
        } catch is CancellationError {
            return nil
        }
    }

    /// Copies the state's checkpoint, if there is one, into the database.
    func copyCheckpoint() async throws {
        let checkpoint = try ledger.checkpoint()
        try await replaceOwn { $0.copying(checkpoint, channels: channels, savedAt: Timestamp.now) }
        CrashPoint.checkpointCopied.pass()
    }

    /// Replaces the mark, unless it is gone, another bot's or older: a new one would hide a reset.
    private func replaceOwn(_ change: (DatabaseMark) -> DatabaseMark) async throws {
        let check = try check()
        guard !isReadOnly, check.known != nil else { return }
        let replaced = try await marks.replace { found in
            guard case .same(let own) = check.result(found, isSecondCheck: false) else { return nil }
            return change(own.mark)
        }
        if let generation = replaced.generation { try await ledger.noteMark(generation: generation) }
    }
}
