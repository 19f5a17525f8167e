internal import Locking
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Runs one service until it ends or a signal asks it to stop.
enum StoppableService {
    /// How long a service that is asked to stop may take, unless an option says otherwise.
    static let defaultGrace: Duration = .seconds(30)

    /// SIGTERM and SIGINT start a graceful shutdown. After `grace`, the service is cancelled; a second signal exits at
    /// once.
    ///
    /// - Parameter isStopped: Set once a signal has asked the service to stop.
    /// - Throws: What the service throws.
    static func run(
        _ service: some Service, grace: Duration, logger: Logger, isStopped: Locked<Bool> = Locked(false)
    ) async throws {
        let attentive = Attentive(service: service)
        var configuration = configuration(attentive, signals: [.sigterm, .sigint], logger, isStopped)
        configuration.maximumGracefulShutdownDuration = grace
        try await ServiceGroup(configuration: configuration).run()
    }

    /// A group that runs one service inside another service, so that it can be stopped alone. It is also stopped with
    /// the outer one.
    static func part(_ service: some Service, logger: Logger) -> ServiceGroup {
        ServiceGroup(configuration: configuration(service, signals: [], logger, Locked(false)))
    }

    private static func configuration(
        _ service: some Service, signals: [UnixSignal], _ logger: Logger, _ isStopped: Locked<Bool>
    ) -> ServiceGroupConfiguration {
        ServiceGroupConfiguration(
            services: [
                .init(
                    service: Stoppable(service: service, isStopped: isStopped),
                    successTerminationBehavior: .gracefullyShutdownGroup, failureTerminationBehavior: .cancelGroup)
            ],
            gracefulShutdownSignals: signals, logger: quiet(logger))
    }

    /// Hides the group's own messages about starting and stopping.
    private static func quiet(_ logger: Logger) -> Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }
}

/// The service of the outermost group. When it begins, the group's handlers of signals are set.
private struct Attentive<Inner: Service>: Service {
    let service: Inner

    func run() async throws {
        let secondSignal = await SecondSignal()
        defer { withExtendedLifetime(secondSignal) {} }
        EarlySignal.deliver()
        try await service.run()
    }
}

/// The service of a group.
private struct Stoppable<Inner: Service>: Service {
    let service: Inner
    let isStopped: Locked<Bool>

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await service.run()
        } onGracefulShutdown: {
            isStopped.withLock { $0 = true }
        }
    }
}
