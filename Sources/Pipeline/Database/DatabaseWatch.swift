internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging

/// Detects a reset of the database, and keeps the copy of the checkpoint in it.
///
/// Both use one local document of the keyspace, which no feed shows and no replication carries. Sequences can't tell:
/// after a reset Sync Gateway accepts the old ones and waits for ever. Nor can its status: offline it reports sequence
/// 0, and a new `instance_start_time` after each pause. So only the mark counts, and only while the gateway reports the
/// database as online.
struct DatabaseWatch: Sendable {
    /// The time between two copies of a checkpoint that moves.
    private static let copyInterval: Duration = .seconds(60)
    /// The time after which the copy of a checkpoint that does not move is written again. Sync Gateway drops local
    /// documents after 90 days.
    private static let refreshInterval: Duration = .seconds(86_400)

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
    var lookInterval: Duration = .seconds(20)

    /// Checks the mark, and adds one to a database that no state belongs to yet.
    ///
    /// - Throws: `GatewayError`, ``StateError``.
    func look() async throws -> Finding {
        do {
            let known = try ledger.databaseIdentity()
            if let (mark, generation) = try await marks.find() {
                guard known == nil || known == mark.identity else { return .reset(DatabaseReset(mark: mark)) }
                if known == nil { try await ledger.adoptDatabase(identity: mark.identity) }
                // A restored backup may hold an older version of the mark.
                if generation < (try ledger.markGeneration()) {
                    return .reset(DatabaseReset(mark: mark, isOlder: true))
                }
                try await ledger.noteMark(generation: generation)
                return .same(mark)
            }
            if known != nil {
                // One answer is not enough: it may come from a gateway that is just starting.
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

    /// Writes the mark again, so that an earlier copy of the database can be told from it.
    func rewriteMark() async throws {
        try await replaceOwn { $0 }
    }

    /// Checks the mark and copies the checkpoint for as long as the run lasts. Errors of the gateway are only logged:
    /// the feed meets them too and handles them.
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

    /// Copies the state's checkpoint, if there is one, into the database.
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

    /// Replaces the mark, unless it is gone, another bot's or older: a new one would hide a reset.
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
