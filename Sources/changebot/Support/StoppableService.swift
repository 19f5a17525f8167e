internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Runs one service until it is done or a signal asks it to stop.
enum StoppableService {
    /// SIGTERM and SIGINT begin a graceful shutdown; after `grace`, or with a second signal, it is no longer graceful.
    ///
    /// - Throws: What the service throws.
    static func run(_ service: some Service, grace: Duration, logger: Logger) async throws {
        let secondSignal = SecondSignal()
        defer { withExtendedLifetime(secondSignal) {} }
        var configuration = ServiceGroupConfiguration(
            services: [
                .init(
                    service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .cancelGroup)
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet(logger))
        configuration.maximumGracefulShutdownDuration = grace
        try await ServiceGroup(configuration: configuration).run()
    }

    /// The group's own messages about starting and stopping are of no use.
    private static func quiet(_ logger: Logger) -> Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }
}
