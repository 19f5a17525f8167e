internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import Pipeline

/// Knows whether the database is still the one that the state belongs to, and keeps the copy of the checkpoint in it.
///
/// Both stand in one local document of the keyspace, which no feed shows and no replication carries. Sequences can't
/// tell: after a reset Sync Gateway takes the old ones and waits for ever. Its state can't either: offline it claims the
/// sequence 0, and a new `instance_start_time` after each pause. So the mark counts alone, and only while the gateway
/// says that the database is online.
struct DatabaseWatch: Sendable {
    /// Between two copies of a checkpoint that moves.
    private static let copyInterval: Duration = .seconds(60)
    /// How old a copy may become that does not. Sync Gateway forgets local documents after 90 days.
    private static let refreshInterval: Duration = .seconds(86_400)

    enum Finding {
        /// The mark is there; in a database that had none, it is now.
        case same(DatabaseMark)
        case reset(DatabaseReset)
        /// This user may not keep local documents.
        case unknowable(String)
    }

    let marks: MarkDocument
    let ledger: Ledger
    /// What is read of the feed; nil for all.
    let channels: [String]?
    /// A dry run looks and writes nothing.
    let isReadOnly: Bool
    let logger: Logger
    /// Between two looks at the mark.
    var lookInterval: Duration = .seconds(20)

    /// Looks, and marks a database that no state belongs to yet.
    ///
    /// - Throws: `GatewayError`, ``StateError``.
    func look() async throws -> Finding {
        do {
            let known = try ledger.databaseIdentity()
            if let (mark, generation) = try await marks.find() {
                guard known == nil || known == mark.identity else { return .reset(DatabaseReset(mark: mark)) }
                if known == nil { try await ledger.adoptDatabase(identity: mark.identity) }
                // A restore may bring the mark back, as it was then.
                if generation < (try ledger.markGeneration()) {
                    return .reset(DatabaseReset(mark: mark, isOlder: true))
                }
                try await ledger.noteMark(generation: generation)
                return .same(mark)
            }
            if known != nil {
                // Not on the strength of one answer: it may come from a gateway that is just starting.
                guard try await marks.gateway.databaseInfo().isOnline else { throw notOnline }
                if let (mark, _) = try await marks.find() {
                    return mark.identity == known ? .same(mark) : .reset(DatabaseReset(mark: mark))
                }
                return .reset(DatabaseReset(mark: nil))
            }
            return .same(try await leaveMark())
        } catch let error as GatewayError where MarkDocument.isRefusal(error) {
            return .unknowable(error.message)
        }
    }

    private var notOnline: GatewayError { GatewayError(.unavailable, "\(marks.gateway.url) is not online") }

    private func leaveMark() async throws -> DatabaseMark {
        guard !isReadOnly else { return .new() }
        let left = try await marks.leave()
        try await ledger.adoptDatabase(identity: left.mark.identity)
        if let generation = left.generation { try await ledger.noteMark(generation: generation) }
        return left.mark
    }

    /// Writes the mark once more: a copy of the database that was made before can be told from it then.
    func rewriteMark() async throws {
        try await replaceOwn { $0 }
    }

    /// Keeps looking for as long as the run lasts, and copies the checkpoint now and then. Trouble is left to the feed,
    /// which has it too.
    ///
    /// - Throws: ``DatabaseReset``, ``StateError``, `CancellationError`.
    func run() async throws {
        var copied: ContinuousClock.Instant?
        while true {
            try await Task.sleep(for: lookInterval)
            do {
                switch try await look() {
                case .reset(let reset): throw reset
                case .unknowable(let reason):
                    logger.debug("the database's mark can't be read now", metadata: ["reason": "\(reason)"])
                case .same(let mark):
                    let age = copied.map { $0.duration(to: .now) } ?? Self.refreshInterval
                    if age >= (try isCurrent(mark) ? Self.refreshInterval : Self.copyInterval) {
                        try await copyCheckpoint()
                        copied = .now
                    }
                }
            } catch let error as GatewayError {
                if error.code == .cancelled { throw CancellationError() }
                logger.debug("the database's mark can't be read now", metadata: ["reason": "\(error)"])
            }
        }
    }

    private func isCurrent(_ mark: DatabaseMark) throws -> Bool {
        let checkpoint = try ledger.checkpoint()
        return mark.checkpoint == checkpoint?.sequence && mark.channels == channels
            && mark.ruleSetHash == (checkpoint?.ruleSetHash ?? "")
    }

    /// Puts the checkpoint of the state, if there is one, into the database.
    func copyCheckpoint() async throws {
        let checkpoint = try ledger.checkpoint()
        try await replaceOwn { mark in
            var mark = mark
            mark.checkpoint = checkpoint?.sequence
            mark.ruleSetHash = checkpoint?.ruleSetHash ?? ""
            mark.channels = channels
            mark.savedAt = Timestamp.now
            return mark
        }
        CrashPoint.checkpointCopied.pass()
    }

    /// Replaces the mark; nothing if it is gone, another's or older: a new one would hide a reset.
    private func replaceOwn(_ change: (DatabaseMark) -> DatabaseMark) async throws {
        guard !isReadOnly, let known = try ledger.databaseIdentity() else { return }
        let generation = try ledger.markGeneration()
        let replaced = try await marks.replace { found in
            guard let found, found.mark.identity == known, found.generation >= generation else { return nil }
            return change(found.mark)
        }
        if let generation = replaced.generation { try await ledger.noteMark(generation: generation) }
    }
}
