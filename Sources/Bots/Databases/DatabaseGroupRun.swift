internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
internal import Logging
internal import Rules

/// One run of a ``DatabaseGroup``: takes events from the watch and the sessions, one at a time.
final class DatabaseGroupRun: Sendable {
    private enum Event: Sendable {
        case watched(DatabaseWatch.Event)
        /// Commands have left orders in the states of these databases.
        case ordered(Set<String>)
        /// Whether the database was quiet, or why it can't be used.
        case ended(DatabaseSession, RunReport, Swift.Result<Bool, any Error>)
        /// The watch has ended.
        case watchEnded((any Error)?)
        case stop
    }

    private struct State {
        var schedule: DatabaseSchedule
        var entries: [String: DatabaseIndex.Entry]
        var sessions: [String: DatabaseSession] = [:]
        /// The databases that have orders, known or not.
        var orders: (new: Set<String>, begun: Set<String>) = ([], [])
        /// When databases became known, and what told them apart from others of their names when they were last compared.
        var known: [String: (since: ContinuousClock.Instant, creation: String?)] = [:]
        /// Why databases can't be used, for those that can't.
        var failures: [String: any Error] = [:]
        /// The databases that were missing when they were last worked on.
        var missing: Set<String> = []
        var ending = Ending.none
        var isWatching = true
        /// Whether the databases were listed once, and whether it was said that none matches.
        var list = (isKnown: false, isReportedEmpty: false)
        /// Whether the work on a database has succeeded.
        var hasWorked = false

        var isStopping: Bool {
            if case .none = ending { false } else { true }
        }
    }

    /// Why the run is ending.
    private enum Ending {
        case none
        case stopped
        case failed(any Error)
    }

    private let group: DatabaseGroup
    private let mailbox = Locked<[Event]>([])
    private let arrived = Signal()
    private let firstEntries: [String: DatabaseIndex.Entry]

    init(_ group: DatabaseGroup, entries: [String: DatabaseIndex.Entry]) {
        (self.group, firstEntries) = (group, entries)
    }

    func stop() { post(.stop) }

    private func post(_ event: Event) {
        mailbox.withLock { $0.append(event) }
        arrived.raise()
    }

    private var moment: DatabaseSchedule.Moment {
        DatabaseSchedule.Moment(instant: .now, seconds: group.bot.delivery.now())
    }

    // MARK: - The loop

    /// - Throws: `RunError`, ``StateError``, ``DatabaseFailures``.
    func run() async throws {
        var state = State(
            schedule: DatabaseSchedule(
                maxActive: group.settings.maxActive, firstRetry: group.settings.firstRetry), entries: firstEntries)
        let takesOrders = !group.bot.delivery.isDryRun
        // Orders that were left before the start, or whose work was interrupted.
        if takesOrders { state.orders.new = group.index.orderedDatabases(includesBegun: true) }
        do {
            try await withThrowingDiscardingTaskGroup { tasks in
                let watching = CancellableSection()
                let ordering = CancellableSection()
                tasks.addTask { await self.watch(watching) }
                if takesOrders, !group.bot.isOneShot { tasks.addTask { await self.watchOrders(ordering) } }
                defer {
                    watching.cancel()
                    ordering.cancel()
                }
                var wasQuiet = true
                while true {
                    for event in takeEvents() { try await handle(event, &state) }
                    if state.isStopping { watching.cancel() }
                    startSessions(&state, in: &tasks)
                    let isCrowded = state.schedule.isCrowded
                    for session in state.sessions.values { session.note(isCrowded: isCrowded) }
                    note(state)
                    wasQuiet = noteQuiet(state, was: wasQuiet)
                    if isOver(state) { return }
                    let due = state.isStopping ? nil : state.schedule.nextDue(moment)
                    if let due { try await arrived.wait(until: due) } else { try await arrived.wait() }
                }
            }
        } catch is CancellationError {
            // Asked to stop, and the time for that is over.
        }
        if case .failed(let failure) = state.ending { throw failure }
        if group.bot.isOneShot { try checkFailures(state) }
    }

    private func startSessions(_ state: inout State, in tasks: inout ThrowingDiscardingTaskGroup<any Error>) {
        guard !state.isStopping else { return }
        for name in state.schedule.start(moment) {
            guard let session = makeSession(name, &state) else { continue }
            tasks.addTask { await self.run(session.0, session.1) }
        }
    }

    /// - Parameter wasQuiet: What this returned the last time.
    /// - Returns: Whether no database is open or waits for its turn.
    private func noteQuiet(_ state: State, was wasQuiet: Bool) -> Bool {
        let isQuiet = state.schedule.isIdle && state.sessions.isEmpty
        if isQuiet, !wasQuiet { group.settings.whenQuiet() }
        return isQuiet
    }

    private func takeEvents() -> [Event] {
        mailbox.withLock { events in
            defer { events = [] }
            return events
        }
    }

    private func isOver(_ state: State) -> Bool {
        if state.isStopping { return state.sessions.isEmpty }
        return group.bot.isOneShot && !state.isWatching && state.schedule.isIdle && state.sessions.isEmpty
    }

    private func note(_ state: State) {
        let phase: RunFacts.Phase =
            state.isStopping ? .stopping : !state.list.isKnown ? .connecting : .following
        group.totals.note(phase, queued: state.schedule.queued, Array(state.sessions.values))
    }

    /// Ends the run once the sessions have ended.
    private func end(_ state: inout State, with failure: (any Error)?) {
        switch (state.ending, failure) {
        case (.failed, _): break
        case (_, let failure?): state.ending = .failed(failure)
        case (_, nil): state.ending = .stopped
        }
        for session in state.sessions.values { session.stop() }
    }

    // MARK: - The watch

    private func watch(_ section: CancellableSection) async {
        let watch = DatabaseWatch(
            directory: group.directory, retries: group.bot.delivery.retries, intervals: group.settings.watch,
            matches: { [group] in group.selects($0) }, logger: group.logger,
            handle: { [self] in post(.watched($0)) })
        do {
            try await section.run {
                if self.group.bot.isOneShot { try await watch.look(isFirst: true) } else { try await watch.run() }
            }
            post(.watchEnded(nil))
        } catch is CancellationError {
            post(.watchEnded(nil))
        } catch {
            post(.watchEnded(error))
        }
    }

    /// A quiet database is worked on because of an order. A session usually notices it itself, unless it ends just now.
    private func watchOrders(_ section: CancellableSection) async {
        try? await section.run { [self] in
            try await group.index.whenOrdered {
                let names = self.group.index.orderedDatabases()
                if !names.isEmpty { self.post(.ordered(names)) }
            }
        }
    }

    private func handle(_ event: Event, _ state: inout State) async throws {
        switch event {
        case .ordered(let names):
            state.orders.new.formUnion(names)
            for name in names { noteChange(name, &state) }
        case .stop: end(&state, with: nil)
        case .watchEnded(let error):
            state.isWatching = false
            if let error { end(&state, with: error) }
        case .watched(.listed(let names, let asked)): try await noteList(names, asOf: asked, &state)
        case .watched(.compared(let names, let infos)): try await noteInfos(names, infos, &state)
        case .watched(.announced(let rows, let missing)): try await noteAnnouncements(rows, missing, &state)
        case .watched(.answers): group.bot.delivery.observer?.note(.progressed)
        case .ended(let session, let report, let result): try await noteEnd(of: session, report, result, &state)
        }
    }

    private func noteList(
        _ names: [String], asOf asked: ContinuousClock.Instant, _ state: inout State
    ) async throws {
        state.list.isKnown = true
        let listed = Set(names)
        for name in names where !state.schedule.knows(name) { add(name, &state) }
        // A database may have been created and announced after the list was requested.
        func isGone(_ name: String) -> Bool {
            !listed.contains(name) && state.known[name].map { $0.since < asked } ?? true
        }
        let gone = state.schedule.all.filter(isGone)
        for name in gone { try await drop(name, &state) }
        for (name, entry) in state.entries where !state.schedule.knows(name) {
            try await noteMissing(name, entry, &state)
        }
        guard names.isEmpty else {
            state.list.isReportedEmpty = false
            return
        }
        if group.bot.isOneShot {
            throw RunError(.databaseMissing, "none of the \(group.directory.what) matches: \(group.patterns)")
        }
        if !state.list.isReportedEmpty {
            group.logger.warning(
                "none of the \(group.directory.what) matches; waiting for one",
                metadata: ["patterns": "\(group.patterns)"])
        }
        state.list.isReportedEmpty = true
    }

    /// - Parameter infos: A database without facts can't be read: working on it shows why.
    private func noteInfos(_ names: [String], _ infos: [String: DatabaseInfo], _ state: inout State) async throws {
        for name in names where state.schedule.knows(name) {
            let newest = infos[name]?.newestSequence
            if let creation = infos[name]?.creation {
                if let known = state.known[name]?.creation, known != creation { try await noteDeletion(name, &state) }
                state.known[name]?.creation = creation
            }
            if let session = state.sessions[name] {
                session.note(newest: newest)
                continue
            }
            let entry = state.entries[name]
            let isCurrent =
                newest != nil && entry?.seen == newest
                && entry?.ruleSetHash == group.ruleSet.hash && entry?.missingSince == nil
            if !isCurrent { noteChange(name, &state) }
        }
    }

    /// - Parameter missing: Databases that were deleted and don't exist now.
    private func noteAnnouncements(
        _ rows: [DatabaseUpdates.Row], _ missing: Set<String>, _ state: inout State
    ) async throws {
        for row in rows where group.selects(row.database) {
            let name = row.database
            if row.isDeletion { try await noteDeletion(name, &state) }
            if missing.contains(name) {
                if state.schedule.knows(name) { try await drop(name, &state) }
                continue
            }
            if !state.schedule.knows(name) { add(name, &state) }
            // Its own feed reads the change, unless the session ends just now.
            if let session = state.sessions[name], !session.isAbandoned {
                session.noteAnnouncement()
            } else {
                noteChange(name, &state)
            }
        }
    }

    /// Notes that a database was deleted, and may have been created again.
    private func noteDeletion(_ name: String, _ state: inout State) async throws {
        state.known[name]?.creation = nil
        guard state.entries[name] != nil || state.sessions[name] != nil else { return }
        state.entries[name, default: DatabaseIndex.Entry()].missingSince = moment.seconds
        // At once: after a crash, too, the next session must know.
        try await save(name, state)
        // What the session knows is about the former database.
        state.sessions[name]?.abandon()
    }

    private func noteChange(_ name: String, _ state: inout State) {
        state.schedule.noteChange(name)
        noteQueued(name, state)
    }

    private func noteQueued(_ name: String, _ state: State) {
        if state.schedule.isQueued(name) { group.totals.update(name) { $0.phase = .waiting } }
    }

    private func add(_ name: String, _ state: inout State) {
        let entry = state.entries[name]
        state.known[name] = (.now, nil)
        state.schedule.add(name, wakeAt: entry?.wakeAt)
        group.totals.update(name) { facts in
            (facts.wakeAt, facts.deadLetters) = (entry?.wakeAt, entry?.deadLetters ?? 0)
        }
        group.logger.debug("a database is followed", metadata: [LogKey.database: "\(name)"])
        if state.orders.new.contains(name) { noteChange(name, &state) }
    }

    /// Lets go of a database that does not exist any more. Its state is kept for a day.
    private func drop(_ name: String, _ state: inout State) async throws {
        state.schedule.remove(name)
        state.known[name] = nil
        group.totals.remove(name)
        state.sessions[name]?.abandon()
        state.failures[name] = nil
        state.missing.remove(name)
        group.logger.info("a database is gone", metadata: [LogKey.database: "\(name)"])
        // While it is worked on for the first time, it has a state, but no entry yet.
        guard state.entries[name] != nil || state.sessions[name] != nil else { return }
        var entry = state.entries[name] ?? DatabaseIndex.Entry()
        entry.missingSince = entry.missingSince ?? moment.seconds
        state.entries[name] = entry
        try await save(name, state)
    }

    private func noteMissing(_ name: String, _ entry: DatabaseIndex.Entry, _ state: inout State) async throws {
        let now = moment.seconds
        guard let since = entry.missingSince else {
            state.entries[name]?.missingSince = now
            try await save(name, state)
            return
        }
        guard now - since > group.settings.keptWhileMissing, state.sessions[name] == nil,
            !group.bot.delivery.isDryRun
        else { return }
        state.entries[name] = nil
        try await group.index.forget(name)
    }

    private func save(_ name: String, _ state: State) async throws {
        guard !group.bot.delivery.isDryRun, let entry = state.entries[name] else { return }
        try await group.index.save(name, entry)
    }

    // MARK: - Sessions

    /// - Returns: Nil if the database's name can't be used, which is noted as a failure.
    private func makeSession(_ name: String, _ state: inout State) -> (DatabaseSession, Bot)? {
        let session = DatabaseSession(
            name, isRecreated: state.entries[name]?.missingSince != nil, group.settings.session, group.totals,
            reportingTo: group.bot.delivery.observer)
        do {
            let bot = try group.makeBot(session)
            state.sessions[name] = session
            if state.orders.new.remove(name) != nil {
                state.orders.begun.insert(name)
                group.index.beginOrder(of: name)
            }
            group.totals.update(name) { $0.phase = .working }
            return (session, bot)
        } catch {
            noteFailure(of: name, error, &state)
            state.schedule.ended(name, .failed, moment)
            return nil
        }
    }

    private func run(_ session: DatabaseSession, _ bot: Bot) async {
        do {
            let isQuiet = try await session.run(bot, group.logger)
            post(.ended(session, bot.report, .success(isQuiet)))
        } catch {
            post(.ended(session, bot.report, .failure(error)))
        }
    }

    private func noteEnd(
        of session: DatabaseSession, _ report: RunReport, _ result: Swift.Result<Bool, any Error>,
        _ state: inout State
    ) async throws {
        let name = session.name
        state.sessions[name] = nil
        guard !session.isAbandoned else {
            // If the database exists again, it is read from its beginning.
            state.schedule.ended(name, .done(wakeAt: nil, hasMore: true), moment)
            return noteQueued(name, state)
        }
        if let limit = group.bot.delivery.errorLimit {
            let failures = group.totals.counters.failures
            if limit.isExceeded(by: failures) { end(&state, with: RunError(limit, failures)) }
        }
        switch result {
        case .success(let isQuiet): try await noteDone(session, report, isQuiet: isQuiet, &state)
        case .failure(let error as RunError) where error.code == .tooManyErrors:
            state.schedule.ended(name, .failed, moment)
            end(&state, with: error)
        case .failure(is DatabaseSession.IsHeldElsewhere):
            state.schedule.ended(name, .lookAgain(group.settings.lookAgain), moment)
            if state.schedule.knows(name) { group.totals.update(name) { $0.phase = .quiet } }
        case .failure(let error as RunError) where error.code == .databaseMissing:
            try await noteGone(name, &state)
        case .failure(let error as StateError) where error.isOfEveryDatabase && !state.hasWorked:
            state.schedule.ended(name, .failed, moment)
            end(&state, with: error)
        case .failure(let error):
            let isKnown = state.schedule.knows(name)
            state.schedule.ended(name, .failed, moment)
            if isKnown, !(error is CancellationError) {
                noteFailure(of: name, error, &state)
                try await save(name, state)
            }
        }
    }

    /// Notes that a session found no database.
    private func noteGone(_ name: String, _ state: inout State) async throws {
        // A database that is just being created again is missing for a moment, too.
        if state.missing.insert(name).inserted, !group.bot.isOneShot {
            state.entries[name, default: DatabaseIndex.Entry()].missingSince = moment.seconds
            try await save(name, state)
            state.schedule.ended(name, .lookAgain(group.settings.lookAgain), moment)
            if state.schedule.knows(name) { group.totals.update(name) { $0.phase = .quiet } }
        } else if state.schedule.ended(name, .missing, moment) {
            try await drop(name, &state)
        }
    }

    /// - Parameter isQuiet: Whether the database has no more changes.
    private func noteDone(
        _ session: DatabaseSession, _ report: RunReport, isQuiet: Bool, _ state: inout State
    ) async throws {
        let name = session.name
        state.hasWorked = true
        state.missing.remove(name)
        if state.failures.removeValue(forKey: name) != nil {
            group.logger.notice("a database can be used again", metadata: [LogKey.database: "\(name)"])
        }
        let remains = await report.remains
        var entry = state.entries[name] ?? DatabaseIndex.Entry()
        if isQuiet { entry.seen = await report.newestAtStart }
        if let remains { (entry.wakeAt, entry.deadLetters) = (remains.wakeAt, remains.deadLetters) }
        (entry.ruleSetHash, entry.workedAt) = (group.ruleSet.hash, moment.seconds)
        // If it was deleted meanwhile, the next session must know.
        if session.isRecreated { entry.missingSince = nil }
        entry.failure = nil
        // A database that was dropped meanwhile is kept as missing.
        if !state.schedule.knows(name) { entry.missingSince = moment.seconds }
        state.entries[name] = entry
        try await save(name, state)
        if state.orders.begun.remove(name) != nil { group.index.endOrder(of: name) }
        state.schedule.ended(
            name, .done(wakeAt: entry.wakeAt, hasMore: !isQuiet || session.hasRecentAnnouncement), moment)
        guard state.schedule.knows(name) else { return }
        group.totals.update(name) { [entry] facts in
            facts.phase = .quiet
            (facts.wakeAt, facts.deadLetters) = (entry.wakeAt, entry.deadLetters)
        }
        noteQueued(name, state)
    }

    private func noteFailure(of name: String, _ error: any Error, _ state: inout State) {
        let isNew = state.failures.updateValue(error, forKey: name).map { "\($0)" != "\(error)" } ?? true
        let reason = "\(error)"
        group.totals.update(name) { $0.phase = .skipped(reason) }
        state.entries[name, default: DatabaseIndex.Entry()].failure = reason
        group.logger.log(
            level: isNew ? .warning : .debug,
            group.bot.isOneShot ? "a database is skipped" : "a database is skipped; it is tried again later",
            metadata: [LogKey.database: "\(name)", LogKey.reason: "\(reason)"])
    }

    /// - Throws: ``DatabaseFailures``.
    private func checkFailures(_ state: State) throws {
        guard !state.failures.isEmpty else { return }
        throw DatabaseFailures(
            failures: state.failures.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, total: state.schedule.count,
            what: group.directory.what)
    }
}
