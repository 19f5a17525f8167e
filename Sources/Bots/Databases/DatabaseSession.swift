internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import ServiceLifecycle

/// The work on one of many databases, from its beginning until nothing has happened for a while.
///
/// It is a whole run of a ``Bot``: state, checkpoint and guarantees are the same.
final class DatabaseSession: RunObserver {
    /// When a session ends.
    struct Limits: Sendable {
        /// How long a database stays open after its last change, so that its next change is read at once.
        var linger: Duration? = .seconds(30)
        /// The same while other databases wait for their turn.
        var crowdedLinger: Duration = .milliseconds(200)
        /// How long a database may keep others waiting.
        var turn: Duration = .seconds(60)
    }

    private struct State {
        var lastActivity = ContinuousClock.now
        var isCrowded = false
        var isAskedToStop = false
        /// Whether the database is gone, so that work under way can't be finished.
        var isAbandoned = false
        var announcedAt: ContinuousClock.Instant?
        var newest: SequenceID?
        /// Since when the session has work. Nil: it waits for changes.
        var busySince: ContinuousClock.Instant? = .now
    }

    /// An announcement may be earlier than the feed, so one that arrives so shortly before the end is followed up.
    private static let announcementLead: Duration = .seconds(1)
    /// How long an abandoned database has for ending its work.
    private static let abandonedTime: Duration = .seconds(3)

    let name: String
    /// Whether the database was gone before the session began.
    let isRecreated: Bool
    private let limits: Limits
    private let next: (any RunObserver)?
    private let totals: DatabaseTotals
    private let state = Locked(State())
    private let changed = Signal()
    private let began = ContinuousClock.now

    init(
        _ name: String, isRecreated: Bool, _ limits: Limits, _ totals: DatabaseTotals,
        reportingTo next: (any RunObserver)?
    ) {
        (self.name, self.isRecreated, self.limits) = (name, isRecreated, limits)
        (self.totals, self.next) = (totals, next)
    }

    // MARK: - Observing

    var needsDocuments: Bool { next?.needsDocuments ?? false }
    var maxReportedWrites: Int { next?.maxReportedWrites ?? 0 }

    func note(_ event: RunEvent) {
        switch event {
        case .counted(let counters):
            totals.add(counters)
            if counters.changes > 0 { noteActivity() }
        case .deadLettered: totals.noteDeadLetter(of: name)
        case .wrote(let documents):
            let named = documents.map { $0.keyspace == nil ? $0.moved(to: name) : $0 }
            next?.note(.wrote(named))
            return
        case .timersFired, .settled: noteActivity()
        default: break
        }
        next?.note(event)
        changed.raise()
    }

    /// The database has changed: its next changes are likely soon.
    func noteActivity() {
        state.withLock { $0.lastActivity = .now }
        changed.raise()
    }

    /// Other databases wait for their turn, or none do.
    func note(isCrowded: Bool) {
        let isNew = state.withLock { state in
            defer { state.isCrowded = isCrowded }
            return state.isCrowded != isCrowded
        }
        if isNew { changed.raise() }
    }

    /// The server says that the database has changed.
    func noteAnnouncement() {
        state.withLock { $0.announcedAt = .now }
        noteActivity()
    }

    /// The database's newest sequence now. Nil: unknown.
    func note(newest: SequenceID?) {
        let isNew = state.withLock { state in
            defer { state.newest = newest }
            return newest != nil && state.newest != nil && state.newest != newest
        }
        if isNew { noteAnnouncement() }
    }

    /// Whether the feed may have ended before a change that the server has announced.
    var hasRecentAnnouncement: Bool {
        state.withLock(\.announcedAt).map { $0.duration(to: .now) < Self.announcementLead } ?? false
    }

    /// Whether the database was gone before the session ended.
    var isAbandoned: Bool { state.withLock(\.isAbandoned) }

    /// Since when the session has work. Nil: it waits for changes.
    var busySince: ContinuousClock.Instant? { state.withLock(\.busySince) }

    /// Ends the session after the work under way.
    func stop() {
        state.withLock { $0.isAskedToStop = true }
        changed.raise()
    }

    /// Ends the session, even if its work can't be finished because the database is gone.
    func abandon() {
        state.withLock { $0.isAbandoned = true }
        stop()
    }

    // MARK: - Running

    /// Runs a bot until the database is quiet, or the bot ends itself.
    ///
    /// - Returns: Whether nothing was left to do.
    /// - Throws: What the bot throws.
    func run(_ bot: Bot, _ logger: Logger) async throws -> Bool {
        var quiet = logger
        quiet.logLevel = max(quiet.logLevel, .critical)
        let service = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: bot, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup)
                ], gracefulShutdownSignals: [], logger: quiet))
        let isQuiet = Locked(bot.settings.isOneShot)
        let isHeldElsewhere = Locked(false)
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await service.run()
                return true
            }
            tasks.addTask { [self] in
                let isDone: Bool
                do { isDone = try await untilOver(bot) } catch is IsHeldElsewhere {
                    await service.triggerGracefulShutdown()
                    isHeldElsewhere.withLock { $0 = true }
                    return false
                }
                isQuiet.withLock { $0 = isDone }
                await service.triggerGracefulShutdown()
                guard state.withLock(\.isAbandoned) else { return false }
                try await Task.sleep(for: Self.abandonedTime)
                throw CancellationError()
            }
            defer { tasks.cancelAll() }
            while try await tasks.next() == false {}
        }
        if isHeldElsewhere.withLock(\.self) { throw IsHeldElsewhere() }
        // A one-shot bot that was asked to stop has not read everything.
        return isQuiet.withLock(\.self) && !Task.isShuttingDownGracefully
    }

    /// Another member of the fleet works on the database.
    struct IsHeldElsewhere: Error {}

    /// Returns when the session must end.
    ///
    /// - Returns: Whether nothing is left to do.
    private func untilOver(_ bot: Bot) async throws -> Bool {
        while true {
            var isQuiet = await bot.report.facts().isQuiet
            if isQuiet { isQuiet = await !bot.report.hasWorkBesideTheFeed }
            let state = note(isQuiet: isQuiet)
            if state.isAskedToStop { return false }
            if await bot.report.facts().phase == .onStandby { throw IsHeldElsewhere() }
            if bot.settings.isOneShot {
                try await changed.wait()
                continue
            }
            let linger = state.isCrowded ? limits.crowdedLinger : limits.linger
            let now = ContinuousClock.now
            if isQuiet, let linger, state.lastActivity + linger <= now { return true }
            if state.isCrowded, began + limits.turn <= now { return isQuiet }
            var deadline = now + .seconds(5)
            if isQuiet { deadline = linger.map { state.lastActivity + $0 } ?? now + .seconds(3600) }
            if state.isCrowded { deadline = min(deadline, began + limits.turn) }
            try await changed.wait(until: deadline)
            // A busy database raises the signal for each batch.
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private func note(isQuiet: Bool) -> State {
        let (state, isNew) = state.withLock { state in
            let isNew = isQuiet == (state.busySince != nil)
            state.busySince = isQuiet ? nil : state.busySince ?? .now
            return (state, isNew)
        }
        if isNew { next?.note(.progressed) }
        return state
    }
}

extension RunReport {
    /// Whether rules are being applied to all documents, or to changes that they missed, or counts are not finished.
    fileprivate nonisolated var hasWorkBesideTheFeed: Bool {
        get async {
            if await waiting(limit: 1)?.schedules.contains(where: { $0.begun != nil }) == true { return true }
            return await hasUnfinishedWork() ?? false
        }
    }
}

extension WrittenDocument {
    /// The same document, for an observer of several databases.
    fileprivate func moved(to database: String) -> WrittenDocument {
        var other = WrittenDocument(
            id: id, keyspace: database, revision: revision, rules: rules, isDeletion: isDeletion)
        (other.before, other.after) = (before, after)
        return other
    }
}
