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

    let gateway: Gateway
    let ledger: Ledger
    let name: String
    /// What is read of the feed; nil for all.
    let channels: [String]?
    /// A dry run looks and writes nothing.
    let isReadOnly: Bool
    let logger: Logger
    /// Between two looks at the mark.
    var lookInterval: Duration = .seconds(20)

    private var documentName: String { "changebot.\(name)" }

    /// Looks, and marks a database that no state belongs to yet.
    ///
    /// - Throws: `GatewayError`, ``StateError``.
    func look() async throws -> Finding {
        do {
            let known = try ledger.databaseIdentity()
            if let (mark, generation) = try await mark() {
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
                guard try await gateway.databaseInfo().isOnline else { throw notOnline }
                if let (mark, _) = try await mark() {
                    return mark.identity == known ? .same(mark) : .reset(DatabaseReset(mark: mark))
                }
                return .reset(DatabaseReset(mark: nil))
            }
            return .same(try await leaveMark())
        } catch let error as GatewayError where Self.isForGood(error) {
            return .unknowable(error.message)
        }
    }

    /// A database that is gone comes back, and a password may be changed: that is the feed's matter.
    private static func isForGood(_ error: GatewayError) -> Bool {
        switch error.code {
        case .forbidden, .notOffered, .malformedAnswer: true
        case .cancelled, .unauthorized, .notFound: false
        default: !error.isRetryable
        }
    }

    private var notOnline: GatewayError { GatewayError(.unavailable, "\(gateway.url) is not online") }

    /// The mark, and how often it was written: a number that only a restored database turns back.
    private func mark() async throws(GatewayError) -> (mark: DatabaseMark, generation: Int)? {
        guard let found = try await gateway.localDocument(documentName), let mark = DatabaseMark(found.body) else {
            return nil
        }
        return (mark, found.writes ?? 0)
    }

    /// Marks the database, unless somebody else was faster.
    func leaveMark() async throws -> DatabaseMark {
        let new = DatabaseMark.new()
        guard !isReadOnly else { return new }
        let mark = try await replace { $0 == nil ? new : nil } ?? new
        CrashPoint.databaseMarked.pass()
        try await ledger.adoptDatabase(identity: mark.identity)
        return mark
    }

    /// Replaces the mark, whoever else does at the same time.
    ///
    /// - Parameter change: The new mark; nil to leave the one there is.
    /// - Returns: The mark that is there now.
    @discardableResult
    private func replace(
        _ change: (DatabaseMark?) -> DatabaseMark?
    ) async throws -> DatabaseMark? {
        for _ in 0..<5 {
            let found = try await gateway.localDocument(documentName)
            let old = found.flatMap { DatabaseMark($0.body) }
            guard let mark = change(old) else { return old }
            let saved: Int?
            do throws(GatewayError) {
                let revision = try await gateway.saveLocalDocument(
                    documentName, body: mark.json, revision: found?.revision)
                saved = LocalDocument(revision: revision, body: []).writes
            } catch {
                guard error.code == .conflict else { throw error }
                continue
            }
            if let saved { try await ledger.noteMark(generation: saved) }
            return mark
        }
        throw GatewayError(.conflict, "\(gateway.url): _local/\(documentName) changes all the time")
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

    /// Puts the checkpoint of the state, if there is one, into the database; nothing if the mark is gone or another's: a
    /// new one would hide a reset.
    func copyCheckpoint() async throws {
        guard !isReadOnly, let known = try ledger.databaseIdentity() else { return }
        let checkpoint = try ledger.checkpoint()
        try await replace { found in
            guard var mark = found, mark.identity == known else { return nil }
            mark.checkpoint = checkpoint?.sequence
            mark.ruleSetHash = checkpoint?.ruleSetHash ?? ""
            mark.channels = channels
            mark.savedAt = Timestamp.now
            return mark
        }
        CrashPoint.checkpointCopied.pass()
    }
}
