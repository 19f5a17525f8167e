internal import CEmbeddedFiles
internal import DocumentFlow
internal import GatewayClient
internal import HTTPServing
internal import Logging
internal import LosslessJSON
internal import Monitoring
internal import Pipeline
internal import PrometheusMetrics

/// Shows a run while it lasts: over HTTP, in a status file, and with a line in the log every minute.
struct RunMonitoring: Sendable {
    /// Nil: nothing listens.
    let http: HTTPOptions.Choice?
    let bot: BotDescription
    /// Nil: no status file is written.
    let statusDirectory: String?
    let logger: Logger

    /// Calls `body` with the bot to report to.
    ///
    /// - Throws: ``ListenError``, what `body` throws.
    func whileWatching(
        _ report: RunReport, outage: Outage, _ body: @Sendable (MonitoredBot) async throws -> Void
    ) async throws {
        let registry = PrometheusRegistry(MonitoringServer.families)
        let monitored = MonitoredBot(
            bot, source: source(report, outage), registry: registry,
            diff: http?.showsDocuments == true ? Self.diff : nil)
        let server = try await serve(monitored, registry)
        if let statusDirectory { StatusFile.removeOld(in: statusDirectory, named: bot.name) }
        let statusFile = statusDirectory.map { StatusFile(directory: $0, name: bot.name) }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let server { group.addTask { try await server.run() } }
                group.addTask { try await keepReporting(monitored, statusFile, refreshes: server == nil) }
                defer { group.cancelAll() }
                try await body(monitored)
            }
        } catch {
            await end(server, statusFile)
            throw error
        }
        await end(server, statusFile)
    }

    private func end(_ server: MonitoringServer?, _ statusFile: StatusFile?) async {
        statusFile?.remove()
        await server?.stop()
    }

    private func serve(
        _ monitored: MonitoredBot, _ registry: PrometheusRegistry
    ) async throws(ListenError) -> MonitoringServer? {
        guard let http else { return nil }
        var settings = MonitoringServer.Settings(
            host: http.address.host, port: http.address.port, version: Changebot.version, page: status_page.content)
        settings.acceptsAnyName = http.isRemote
        let server = try await MonitoringServer(settings, registry: registry) { [monitored] }
        logger.notice(
            "status page", metadata: ["url": "http://\(HostAndPort.text(http.address.host, server.port))/"])
        return server
    }

    private func source(_ report: RunReport, _ outage: Outage) -> MonitoredBot.Source {
        MonitoredBot.Source(
            facts: {
                var facts = await report.facts()
                facts.outage = outage.standing
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
            })
    }

    /// Writes the status file, and logs how far the run is.
    private func keepReporting(_ monitored: MonitoredBot, _ file: StatusFile?, refreshes: Bool) async throws {
        var log = ProgressLog(now: .now)
        while true {
            if refreshes { await monitored.refresh() }
            let isWritten = file?.write(monitored) ?? true
            if let message = log.message(monitored.facts, now: .now) {
                logger.info("\(message.text)", metadata: message.metadata)
            }
            // At the beginning there is no state folder yet.
            try await Task.sleep(for: isWritten ? StatusFile.interval : .seconds(1))
        }
    }

    private static let diff: MonitoredBot.Diff = { before, after in
        let empty = try? JSONText("{}")
        guard let before = before ?? empty else { return [] }
        return DocumentDiff.lines(before: before, after: after)
    }
}

extension MonitoredBot.DeadLetters.Entry {
    /// Nil if it is not saved.
    fileprivate init?(_ deadLetter: DeadLetter) {
        guard let filing = deadLetter.filing else { return nil }
        self.init(
            number: filing.number, documentID: deadLetter.id.text, revision: deadLetter.revision?.text,
            rule: deadLetter.rule, reason: deadLetter.reason, time: filing.deadLetteredAt)
    }
}
