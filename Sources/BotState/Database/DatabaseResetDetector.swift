internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
package import Logging
internal import ServiceLifecycle

/// Detects a reset of the database, and keeps the copy of the checkpoint in it.
///
/// Both use one local document of the keyspace, which feeds and replications do not include. Sequences don't show a
/// reset: Sync Gateway accepts the old ones afterwards and waits for ever. Nor does its status: offline it reports
/// sequence 0, and a new `instance_start_time` after each pause. So only the mark counts, and only while the gateway
/// reports the database as online.
package struct DatabaseResetDetector: Sendable {
    package enum Finding {
        /// The mark is this bot's. A database without a mark has been given one.
        case same(DatabaseMark)
        case reset(DatabaseReset)
        /// This user may not read or write local documents.
        case inaccessible(String)
    }

    /// What to do if only the mark is lost, while the database has the same start time and no fewer changes than were
    /// read.
    package enum LostMark: Sendable {
        /// Treat it like any other reset: everything is read again, at no risk.
        case startOver
        /// Write it again, and continue: a reset would end the run.
        case writeAgain
    }

    let marks: MarkDocument
    let ledger: Ledger
    /// Nil: only this process writes the mark.
    let markLock: (any MarkLock)?
    /// The channels of the feed that are read; nil for all.
    package let channels: [String]?
    /// Set for a dry run, which writes nothing.
    let isReadOnly: Bool
    let logger: Logger
    /// The longest time between two checks of the mark.
    let checkInterval: Duration
    let lostMark: LostMark

    package init(
        marks: MarkDocument, ledger: Ledger, markLock: (any MarkLock)?, channels: [String]?, isReadOnly: Bool,
        logger: Logger,
        checkInterval: Duration, lostMark: LostMark
    ) {
        (self.marks, self.ledger, self.markLock, self.channels, self.isReadOnly, self.logger, self.checkInterval) = (
            marks, ledger, markLock, channels, isReadOnly, logger, checkInterval
        )
        self.lostMark = lostMark
    }
    private let checkedAt = Locked(ContinuousClock.now)
    private let answered = Signal("an answer of the feed")

    /// Longer than a longpoll, after which the mark is checked anyway; shorter than the minute within which a reset
    /// must be noticed.
    package static let maxInterval: Duration = .seconds(55)
    /// The same for processes that share the work, most of which never request the feed.
    package static let sharingMemberInterval: Duration = .seconds(10)

    /// Call this when a request for the feed has ended: the mark is checked now, unless it was checked a short time
    /// ago.
    package func noteAnswer() {
        if checkedAt.withLock({ $0.duration(to: .now) }) >= checkInterval / 2 { answered.raise() }
    }

    /// Checks the mark and copies the checkpoint for as long as the run lasts. Errors of the gateway are only logged,
    /// because the feed handles the same errors.
    ///
    /// - Parameter saveProgress: Saves a checkpoint if there is progress to save. Called before each check.
    /// - Throws: ``DatabaseReset``, ``StateError``, `CancellationError`.
    package func run(saveProgress: () async throws -> Void) async throws {
        var schedule = CopySchedule()
        checkedAt.withLock { $0 = .now }
        while true {
            try await answered.wait(until: checkedAt.withLock { $0 } + checkInterval)
            checkedAt.withLock { $0 = .now }
            try await saveProgress()
            do {
                switch try await detect() {
                case .reset(let reset): throw reset
                case .inaccessible(let reason):
                    logger.debug("the database's mark can't be read now", metadata: [LogKey.reason: "\(reason)"])
                case .same(let mark):
                    let isCurrent = mark.isCopy(of: try await newestCheckpoint, channels: channels)
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

    /// Like ``detect()``, but does nothing if the mark was as expected a moment ago.
    ///
    /// - Parameter seen: The mark that was read then. It may be older than the state, so it alone does not prove a
    ///   reset.
    package func detect(after seen: StoredMark?) async throws -> Finding {
        guard let seen, case .same(let found) = try await check().result(seen) else {
            return try await detect()
        }
        try await ledger.noteMark(generation: found.generation)
        return .same(found.mark)
    }

    /// Checks the mark, and adds one to a database without a state.
    ///
    /// - Throws: `GatewayError`, ``StateError``.
    package func detect() async throws -> Finding {
        do { return try await detect(after: []) } catch let error as GatewayError {
            try await marks.requireRefusal(error)
            return .inaccessible(error.message)
        }
    }

    /// - Parameter earlier: The results of the preceding checks. One answer alone never starts everything over.
    func detect(after earlier: [DatabaseMark?]) async throws -> Finding {
        let check = try await check()
        let found = try await marks.find()
        switch check.result(found, after: earlier) {
        case .same(let found):
            try await ledger.noteMark(generation: found.generation)
            return .same(found.mark)
        case .adopt(let found):
            try await ledger.adoptDatabase(identity: found.mark.identity)
            try await ledger.noteMark(generation: found.generation)
            return .same(found.mark)
        case .addMark: return .same(try await addMark())
        case .checkAgain:
            if let mark = found?.mark, mark.identity == check.known,
                try await ledger.removeUnansweredMarkWrite(mark.write)
            {
                // A late write replaced a newer mark: CouchDB checks no revisions of local documents.
                try await ledger.noteMark(generation: found?.generation ?? 0)
                return .same(mark)
            }
            guard try await marks.gateway.databaseInfo().isOnline else { throw offlineError }
            return try await detect(after: earlier + [found?.mark])
        case .unstable: throw marks.giveUp("each check finds a different mark")
        case .reset(let reset):
            guard reset.mark == nil, let known = check.known, try await isOnlyMarkLost() else {
                return .reset(try await prove(reset))
            }
            return try await rewriteLostMark(known)
        }
    }

    func check() async throws(StateError) -> MarkCheck {
        try await ledger.onSeparateThread { ledger throws(StateError) in
            MarkCheck(known: try ledger.databaseIdentity(), generation: try ledger.markGeneration())
        }
    }

    var newestCheckpoint: (sequence: SequenceID, ruleSetHash: String)? {
        get async throws(StateError) {
            try await ledger.onSeparateThread { ledger throws(StateError) in try ledger.checkpoint() }
        }
    }

    private var offlineError: GatewayError { GatewayError(.unavailable, "\(marks.gateway.url) is not online") }

    private func addMark() async throws -> DatabaseMark {
        guard !isReadOnly else { return .new() }
        let left = try await marks.create()
        try await ledger.adoptDatabase(identity: left.mark.identity)
        if let generation = left.generation { try await ledger.noteMark(generation: generation) }
        return left.mark
    }

    /// Copies the state's checkpoint, if there is one, into the database.
    package func copyCheckpoint() async throws {
        let checkpoint = try await newestCheckpoint
        // A run that started from the copy after its state was lost, and found nothing new, has no checkpoint yet.
        if checkpoint == nil {
            let isReset = try await ledger.onSeparateThread { ledger throws(StateError) in
                try ledger.isCheckpointReset()
            }
            guard isReset else { return }
        }
        try await replaceOwn { $0.copying(checkpoint, channels: channels, savedAt: Timestamp.now) }
        CrashPoint.checkpointCopied.pass()
    }

    /// Writes the mark again, so that it differs from that of an earlier copy of the database. The caller has the lock
    /// of the mark, if there is one.
    package func rewriteMark() async throws {
        guard !isReadOnly else { return }
        try await replaceOwnNow { $0 }
    }

    /// Replaces the mark, unless it is missing, another bot's or older: then a new mark would hide a reset.
    private func replaceOwn(_ change: (DatabaseMark) -> DatabaseMark) async throws {
        guard !isReadOnly else { return }
        guard let markLock else { return try await replaceOwnNow(change) }
        try await markLock.withExclusiveMark(waits: false) { try await replaceOwnNow(change) }
    }

    private func replaceOwnNow(_ change: (DatabaseMark) -> DatabaseMark) async throws {
        let check = try await check()
        guard check.known != nil else { return }
        let write = markLock == nil ? "" : try await ledger.beginMarkWrite()
        let replaced = try await marks.replace { found in
            guard case .same(let own) = check.result(found) else { return nil }
            var mark = change(own.mark)
            mark.write = write
            return mark
        }
        if let generation = replaced.generation { try await ledger.noteMark(generation: generation) }
        if markLock != nil { _ = try await ledger.removeUnansweredMarkWrite(write) }
    }

    /// The reset of the database since the run began, if any. For the end of a one-shot run: an unreachable gateway
    /// counts as no reset.
    ///
    /// - Throws: ``StateError``.
    package func resetAtEnd() async throws -> DatabaseReset? {
        do {
            guard case .reset(let reset) = try await cancelWhenGracefulShutdown({ try await detect() }) else {
                return nil
            }
            return reset
        } catch is GatewayError {
            return nil
        } catch is CancellationError {
            return nil
        }
    }
}

/// When the checkpoint is copied into the database.
struct CopySchedule {
    /// The shortest time between two copies of a moving checkpoint, which is copied at each check.
    static let interval: Duration = .seconds(20)
    /// The time after which the copy of an unchanged checkpoint is written again. Sync Gateway deletes local documents
    /// after 90 days.
    private static let refreshInterval: Duration = .seconds(86_400)

    private var copied: ContinuousClock.Instant?

    /// The first copy is due at once.
    ///
    /// - Parameter isCurrent: Whether the copy in the database is that of the current checkpoint.
    func isDue(at now: ContinuousClock.Instant, isCurrent: Bool) -> Bool {
        guard let copied else { return true }
        return copied.duration(to: now) >= (isCurrent ? Self.refreshInterval : Self.interval)
    }

    mutating func noteCopy(at now: ContinuousClock.Instant) { copied = now }
}
