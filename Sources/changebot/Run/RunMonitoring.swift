internal import BotState
internal import Bots
internal import CEmbeddedFiles
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import HTTPServing
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Monitoring

/// Serves the status of a process's bots over HTTP.
enum StatusServer {
    /// Serves while `body` runs.
    ///
    /// - Parameter http: Nil: nothing listens.
    /// - Throws: `ListenError`, what `body` throws.
    static func whileServing(
        _ process: MonitoredProcess, _ http: HTTPOptions.Choice?, _ logger: Logger,
        _ body: @Sendable () async throws -> Void
    ) async throws {
        guard let http else { return try await body() }
        var settings = MonitoringServer.Settings(
            host: http.address.host, port: http.address.port, page: status_page.content)
        settings.acceptsAnyName = http.isRemote
        let server = try await MonitoringServer(settings, showing: process)
        logger.notice(
            "status page", metadata: [LogKey.url: "http://\(HostAndPort.text(http.address.host, server.port))/"])
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await server.run() }
                defer { group.cancelAll() }
                try await body()
            }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}

/// Publishes the status of a run: on the status page, in a status file, to systemd, and in the log every minute.
struct RunMonitoring: Sendable {
    let process: ProcessPlan
    let bot: BotDescription
    /// Whether the bot keeps its state in an engine.
    let isInFleet: Bool
    /// Whether the bot follows many databases.
    var hasManyDatabases = false
    /// Nil: no status file is written.
    let statusDirectory: String?
    /// How long a bot that waits for changes may go without a sign of life.
    let maxFeedTime: Duration
    let logger: Logger

    /// Calls `body` with the bot to report to.
    ///
    /// - Throws: What `body` throws.
    func whileWatching(
        _ report: RunReport, outage: Outage, _ body: @Sendable (MonitoredBot) async throws -> Void
    ) async throws {
        let liveness = process.notifier.map { _ in Liveness(maxFeedTime: maxFeedTime) }
        let monitored = MonitoredBot(
            bot, source: source(report, outage), registry: process.http == nil ? nil : process.monitored.registry,
            diff: process.http?.showsDocuments == true ? Self.diff : nil, liveness: liveness)
        process.monitored.show(monitored)
        if let statusDirectory { StatusFile.removeOld(in: statusDirectory, named: bot.name) }
        let statusFile = statusDirectory.map { StatusFile(directory: $0, name: bot.name) }
        let folder = statusDirectory.map { StatusFolder(path: $0, name: bot.name) }
        defer {
            statusFile?.remove()
            folder?.removeIfEmpty()
        }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await reportPeriodically(monitored, statusFile, folder) }
                if let liveness { group.addTask { try await notifySystemd(of: monitored, liveness) } }
                defer { group.cancelAll() }
                try await body(monitored)
            }
        } catch {
            await monitored.end(CommandError(error).description)
            throw error
        }
        await monitored.end("done")
    }

    /// Tells systemd that the bot has started, once it has a gateway and a state or waits for its gateway. After that,
    /// tells systemd when the phase changes.
    private func notifySystemd(of monitored: MonitoredBot, _ liveness: Liveness) async throws {
        while true {
            try await liveness.changed.wait()
            await monitored.refresh()
            process.notifier?.noteStarted(bot.name, of: process.monitored)
        }
    }

    private func source(_ report: RunReport, _ outage: Outage) -> MonitoredBot.Source {
        let fleet: @Sendable (Bool) async -> FleetView? = { queriesEngine in
            await report.fleetFacts(queriesEngine: queriesEngine).map(FleetView.init)
        }
        var source = MonitoredBot.Source(
            facts: {
                var facts = await report.facts()
                facts.outage = outage.status
                return facts
            },
            deadLetters: {
                guard let open = await report.openDeadLetters(limit: MonitoredBot.DeadLetters.limit) else {
                    return nil
                }
                var shown = MonitoredBot.DeadLetters()
                shown.newest = open.newest.compactMap(MonitoredBot.DeadLetters.Entry.init)
                for (rule, count) in open.counts { shown.byRule[rule ?? "", default: 0] += count }
                return shown
            },
            waiting: { await Self.waiting(report) }, fleet: isInFleet ? fleet : nil)
        if hasManyDatabases {
            source.databases = { await report.databaseFacts.map { DatabasesView($0.map(DatabasesView.Entry.init)) } }
        }
        return source
    }

    /// - Returns: Nil while the run has no state.
    private static func waiting(_ report: RunReport) async -> Waiting? {
        guard let known = await report.waiting(limit: Waiting.limit) else { return nil }
        var waiting = Waiting()
        waiting.timerCount = known.count
        waiting.timers = known.timers.map { Waiting.Timer(documentID: $0.id.text, rule: $0.rule, due: $0.due) }
        let now = Timestamp.secondsNow
        waiting.passes = known.schedules.map { schedule in
            Waiting.Pass(
                rules: schedule.rules, line: schedule.line, zone: schedule.zone, next: schedule.next(now: now),
                isUnderWay: schedule.begun != nil)
        }
        (waiting.remembered, waiting.learning) = await report.remembered()
        waiting.pausedRules = (await report.pausedRules() ?? []).map(Waiting.PausedRule.init)
        let paused = Set(waiting.pausedRules.map(\.name))
        waiting.backfills = (await report.backfills() ?? []).map {
            Waiting.Backfill($0, isPaused: paused.contains($0.rule))
        }
        return waiting
    }

    /// Writes the status file and logs progress. Sleeps while the run waits for changes. Each longpoll that ends and
    /// each check of the database's mark updates the file, so an old file means that the run hangs.
    private func reportPeriodically(
        _ monitored: MonitoredBot, _ file: StatusFile?, _ folder: StatusFolder?
    ) async throws {
        var log = ProgressLog(now: .now)
        var isWritten = true
        while true {
            let now = ContinuousClock.now
            await monitored.refresh(now: now)
            process.notifier?.update(process.monitored)
            // A run that is refused at once leaves no folder behind.
            if !isWritten { folder?.create() }
            isWritten = file?.write(monitored) ?? true
            if let message = log.message(monitored.facts, now: now) {
                logger.info("\(message.text)", metadata: message.metadata)
            }
            if isWritten, monitored.facts.isQuiet { try await monitored.changed.wait() }
            // Retry soon: at the start, the state folder does not exist.
            try await Task.sleep(until: now + (isWritten ? StatusFile.interval : .seconds(1)), clock: .continuous)
        }
    }

    private static let diff: MonitoredBot.Diff = { before, after in
        let empty = try? JSONText("{}")
        guard let before = before ?? empty else { return [] }
        return DocumentDiff.lines(before: before, after: after)
    }
}

extension DatabasesView.Entry {
    /// - Parameters:
    ///   - name: The database's name.
    ///   - facts: What the run knows about it.
    init(_ name: String, _ facts: DatabaseFacts) {
        self.init(name)
        switch facts.phase {
        case .quiet: state = .quiet
        case .working: state = .working
        case .waiting: state = .waiting
        case .skipped(let reason): (state, self.reason) = (.skipped, reason)
        }
        (since, deadLetters, wakeAt) = (facts.since, facts.deadLetters, facts.wakeAt)
    }
}

extension FleetView {
    init(_ facts: FleetFacts) {
        self.init(name: facts.fleet, engine: facts.engine, member: facts.member)
        (leads, isOnStandby, isDrained) = (facts.leads, facts.isOnStandby, facts.isDrained)
        leaseLosses = facts.leaseLosses
        (fencedCommits, unknownCommits) = (facts.fencedCommits, facts.unknownCommits)
        engineReport = facts.snapshot.map { EngineReport($0, for: facts.member) }
    }
}

extension FleetView.EngineReport {
    /// - Parameter member: Whose partitions are shown.
    fileprivate init(_ snapshot: FleetSnapshot, for member: String) {
        self.init()
        members = snapshot.members.map { member in
            FleetView.Member(
                id: member.id, process: member.holder, state: member.state, partitions: member.partitions,
                readsFeed: member.readsFeed, ruleSetHash: member.ruleSetHash)
        }
        fencedCommits = snapshot.fencedCommits
        guard let shared = snapshot.shared else { return }
        if !snapshot.sharing.isEmpty { partitions = shared.parts.count }
        for part in shared.parts where part.member == member { ownBacklog[part.number] = part.waiting }
        (backlog, oldestAge, parked) = (shared.waiting, shared.oldest, shared.parked)
        (dead, takeovers) = (shared.dead, shared.takeovers)
    }
}

extension MonitoredBot.DeadLetters.Entry {
    /// Nil if the dead letter is not saved.
    fileprivate init?(_ deadLetter: DeadLetter) {
        guard let ledgerRecord = deadLetter.ledgerRecord else { return nil }
        self.init(
            number: ledgerRecord.number, documentID: deadLetter.id.text, revision: deadLetter.revision?.text,
            rule: deadLetter.rule, reason: deadLetter.reason, time: ledgerRecord.deadLetteredAt)
    }
}

extension FeedReader.FeedMode {
    /// How long a bot that waits for changes may go without a sign of life. For longpoll, about twice the time that a
    /// request stays open. A continuous feed is renewed every five minutes.
    var maxSilence: Duration { .seconds(self == .longpoll ? 120 : 420) }
}
