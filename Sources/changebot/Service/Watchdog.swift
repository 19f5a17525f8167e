internal import DocumentFlow
internal import Logging
internal import Monitoring

/// Feeds the watchdog of systemd as long as the bots of the process are alive.
///
/// It wakes at half of the interval, asks each bot where it stands, and looks at what the bot's own tasks have reported:
/// see `Pulse`. A bot that hangs, one that can't answer, and threads that are all blocked end the feeding; systemd then
/// kills the process and restarts it. Each bot continues where its checkpoint is.
enum Watchdog {
    /// Feeds while `body` runs, if systemd waits for it.
    ///
    /// - Throws: What `body` throws.
    static func whileFeeding(
        _ notifier: ServiceNotifier?, _ process: MonitoredProcess, _ logger: Logger,
        _ body: @Sendable () async throws -> Void
    ) async throws {
        guard let notifier, let interval = notifier.watchdogInterval else { return try await body() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await feed(notifier, every: interval / 2, process, logger) }
            defer { group.cancelAll() }
            try await body()
        }
    }

    private static let longestPauseOfSilent: Duration = .seconds(5)

    private static func feed(
        _ notifier: ServiceNotifier, every span: Duration, _ process: MonitoredProcess, _ logger: Logger
    ) async throws {
        var isSilent = false
        while true {
            if let silence = await silence(process) {
                if !isSilent {
                    logger.critical(
                        "a bot hangs: no longer feeding systemd's watchdog, which will restart the process",
                        metadata: silence)
                }
                isSilent = true
            } else {
                isSilent = false
                notifier.feedWatchdog()
            }
            // One that gives a sign again is fed for before systemd has waited too long.
            try await Task.sleep(for: isSilent ? min(span, longestPauseOfSilent) : span)
        }
    }

    /// Which bot hangs, and why that seems so; nil if none does.
    private static func silence(_ process: MonitoredProcess) async -> Logger.Metadata? {
        for bot in process.bots {
            if let reason = await bot.silence() { return ["bot": "\(bot.name)", LogKey.reason: "\(reason)"] }
        }
        return nil
    }
}
