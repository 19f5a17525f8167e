internal import DocumentFlow
internal import Logging
internal import Monitoring

/// Feeds systemd's watchdog as long as all bots of the process are alive.
///
/// It wakes up at half of the watchdog interval, asks each bot for its status, and checks what the bot's own tasks have
/// reported: see `Liveness`. If a bot hangs or does not answer, or if all threads are blocked, it stops feeding. systemd
/// then kills and restarts the process, and each bot continues at its checkpoint.
enum Watchdog {
    /// Feeds the watchdog while `body` runs, if the unit has one.
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

    private static let maxSilentPause: Duration = .seconds(5)

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
            // Check more often while a bot is silent: if it recovers, the watchdog is fed in time.
            try await Task.sleep(for: isSilent ? min(span, maxSilentPause) : span)
        }
    }

    /// Which bot seems to hang, and why; nil if none does.
    private static func silence(_ process: MonitoredProcess) async -> Logger.Metadata? {
        for bot in process.bots {
            if let reason = await bot.silence() { return ["bot": "\(bot.name)", LogKey.reason: "\(reason)"] }
        }
        return nil
    }
}
