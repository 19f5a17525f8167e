internal import Locking
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Runs work until it ends or a signal asks it to stop.
enum StoppableService {
    /// The work to run.
    typealias Work = @Sendable () async throws -> Void

    /// How long work may take to stop, unless an option says otherwise.
    static let defaultGrace: Duration = .seconds(30)

    /// Runs work. SIGTERM and SIGINT start a graceful shutdown. After `grace`, the work is cancelled; a second signal
    /// exits at once.
    ///
    /// - Parameter isStopped: Set once a signal has asked the work to stop.
    /// - Throws: What the work throws.
    static func run(
        grace: Duration, logger: Logger, isStopped: Locked<Bool> = Locked(false), _ work: @escaping Work
    ) async throws {
        var configuration = configuration(signals: [.sigterm, .sigint], logger) {
            // By now, the group has set its signal handlers.
            let secondSignal = await SecondSignal()
            defer { withExtendedLifetime(secondSignal) {} }
            EarlySignal.deliver()
            try await withGracefulShutdownHandler(operation: work) { isStopped.withLock { $0 = true } }
        }
        configuration.maximumGracefulShutdownDuration = grace
        try await ServiceGroup(configuration: configuration).run()
    }

    /// A group that runs work inside another group. It can be stopped separately, and stops with the outer group.
    static func part(logger: Logger, _ work: @escaping Work) -> ServiceGroup {
        ServiceGroup(configuration: configuration(signals: [], logger, work))
    }

    private static func configuration(
        signals: [UnixSignal], _ logger: Logger, _ work: @escaping Work
    ) -> ServiceGroupConfiguration {
        // Hides the group's own messages about starting and stopping.
        var logger = logger
        logger.logLevel = max(logger.logLevel, .warning)
        return ServiceGroupConfiguration(
            services: [
                .init(
                    service: Body(work: work), successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .cancelGroup)
            ],
            gracefulShutdownSignals: signals, logger: logger)
    }

    private struct Body: Service {
        let work: Work

        func run() async throws { try await work() }
    }
}
