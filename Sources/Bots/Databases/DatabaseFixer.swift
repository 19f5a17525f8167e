internal import BotState
package import Delivery
internal import DocumentFlow
package import GatewayClient
package import Logging
package import Rules
internal import ServiceLifecycle

/// `changebot fix` on many databases: one ``Fixer`` after the other.
package struct DatabaseFixer: Service {
    private let walk: DatabaseWalk
    private let ruleSet: RuleSet
    private let name: String
    private let mode: Mode
    private let settings: Delivery.Settings
    private let report: RunReport
    private let logger: Logger
    private let place: @Sendable (_ name: String, _ address: String) throws -> StatePlace

    /// - Parameters:
    ///   - gateway: Any keyspace of the server.
    ///   - name: As ``Fixer``.
    ///   - settings: Its limits apply to all databases together.
    ///   - place: The place of a database's state, by its name and address.
    package init(
        gateway: Gateway, patterns: DatabasePatterns, ruleSet: RuleSet, name: String, mode: Mode,
        settings: Delivery.Settings, report: RunReport, logger: Logger,
        place: @escaping @Sendable (_ name: String, _ address: String) throws -> StatePlace
    ) {
        walk = DatabaseWalk(gateway, patterns, retries: settings.retries, logger: logger)
        (self.ruleSet, self.name, self.mode, self.settings) = (ruleSet, name, mode, settings)
        (self.report, self.logger, self.place) = (report, logger, place)
    }

    /// Returns at the end of the last pass, or after a graceful shutdown.
    ///
    /// - Throws: `RunError`, ``DatabaseFailures``.
    package func run() async throws {
        let totals = DatabaseTotals(outage: settings.retries.outage)
        await report.watch(totals)
        do {
            try await walk.visit { name, gateway in
                var settings = settings
                settings.retries = settings.retries.ofOtherRun(observer: DatabaseCounts(totals))
                if let limit = settings.changeLimit {
                    let counters = totals.counters
                    settings.changeLimit = limit - counters.written - counters.preview.written
                    guard settings.changeLimit ?? 0 > 0 else { return false }
                }
                var logger = logger
                logger[metadataKey: LogKey.database] = "\(name)"
                if logger.logLevel == .info { logger.logLevel = .notice }
                try await Fixer(
                    gateway: gateway, ruleSet: ruleSet, state: try place(name, "\(gateway.url)"), name: self.name,
                    mode: mode, settings: settings, report: RunReport(), logger: logger
                ).run()
                let failures = totals.counters.failures
                if let limit = settings.errorLimit, limit.isExceeded(by: failures) { throw RunError(limit, failures) }
                return true
            }
        } catch is CancellationError where Task.isAskedToStop {
        }
    }
}

/// Adds the counts of a pass to those of all databases.
private struct DatabaseCounts: RunObserver {
    let totals: DatabaseTotals

    init(_ totals: DatabaseTotals) { self.totals = totals }

    var needsDocuments: Bool { false }
    var maxReportedWrites: Int { 0 }

    func note(_ event: RunEvent) { if case .counted(let counters) = event { totals.add(counters) } }
}
