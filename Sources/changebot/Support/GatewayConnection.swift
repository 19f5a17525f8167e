internal import DocumentFlow
internal import EmbeddedGateway
internal import Encodings
internal import GatewayClient
internal import Logging

/// The connection of a command to its gateway. Also runs an embedded gateway for that time.
struct GatewayConnection: Sendable {
    let choice: GatewayChoice
    let environment: Environment
    let logger: Logger
    private let use: EmbeddedFileUse
    private let access: AccessOptions

    init(
        _ choice: GatewayChoice, for use: EmbeddedFileUse, _ access: AccessOptions, _ environment: Environment,
        _ logger: Logger
    ) {
        (self.choice, self.use, self.access, self.environment, self.logger) = (choice, use, access, environment, logger)
    }

    /// Checks the settings for login and TLS, and reads the files that they name.
    ///
    /// - Returns: The files that only the bot should be able to read.
    /// - Throws: ``CommandError``.
    func checkAccess() throws(CommandError) -> [SecretFile] {
        guard case .remote(let url) = choice else { return [] }
        _ = try access.settings(for: url, environment)
        return try access.confidentialFiles(environment)
    }

    /// Calls `body` with the gateway.
    ///
    /// - Parameter observer: Called for each request.
    func with(
        observer: (@Sendable (RequestRecord) -> Void)? = nil, _ body: (Gateway) async throws -> Void
    ) async throws {
        switch choice {
        case .remote(let url):
            var settings = try access.settings(for: url, environment)
            settings.accessTokens = try access.accessTokens(environment) { [logger] error in
                logger.warning(
                    "an access token can't be renewed; the current one is used until it ends",
                    metadata: [LogKey.reason: "\(error)"])
            }
            settings.requestObserver = requestObserver(and: observer)
            if settings.tls.isInsecure {
                logger.warning(
                    "TLS certificates are not verified: anyone on the network path can read and write as this user; replace --insecure with --ca-file FILE"
                )
            }
            for file in try access.confidentialFiles(environment) where file.isExposed {
                logger.warning(
                    "every user of this machine can read this file with a \(file.what): run chmod o-r \(file.path.shellWord)",
                    metadata: [LogKey.file: "\(file.path)"])
            }
            do { try await Self.using(Gateway(url, settings: settings), body) } catch let failure as RunError
                where failure.code == .notAllowed && settings.credentials == nil && settings.accessTokens == nil
                // The error may be about the other gateway, if the command has two.
                && failure.description.contains("\(url)")
            {
                throw RunError(.notAllowed, "\(failure); no credentials are set: \(Credentials.advice(environment))")
            }
        case .embedded(let given):
            let file = try given.flatMap { try use.fileToOpen($0, logger) }
            var configuration = EmbeddedGateway.Configuration(
                storage: file.map { .file($0) } ?? .memory, logger: logger)
            configuration.allowsConflicts = use.keepsConflicts
            let embedded = EmbeddedGateway(configuration)
            try await embedded.whileServing { address in
                logger.notice("embedded gateway", metadata: [LogKey.url: "\(address.url)"])
                if let file { try use.checkCollections(of: embedded, file, logger) }
                var settings = GatewaySettings()
                settings.requestObserver = requestObserver(and: observer)
                settings.keepsExpiry = try access.keepsExpiry(environment)
                try await Self.using(Gateway(try GatewayURL(address.url), settings: settings), body)
            }
        }
    }

    /// Logs requests, and reports them to `other`. Nil: no observer.
    private func requestObserver(
        and other: (@Sendable (RequestRecord) -> Void)?
    ) -> (@Sendable (RequestRecord) -> Void)? {
        guard let log = requestLog else { return other }
        guard let other else { return log }
        return { record in
            log(record)
            other(record)
        }
    }

    /// Logs each request at the level `debug`; nil at higher levels.
    private var requestLog: (@Sendable (RequestRecord) -> Void)? {
        guard logger.logLevel <= .debug else { return nil }
        return { [logger] record in
            var metadata: Logger.Metadata = [
                "method": "\(record.method)", "path": "\(record.target)", "seconds": "\(record.duration.seconds)",
                "bytes_out": "\(record.sent)", "bytes_in": "\(record.received)",
            ]
            if let status = record.status { metadata["status"] = "\(status)" }
            if let failure = record.failure { metadata["reason"] = "\(failure)" }
            logger.debug("request", metadata: metadata)
        }
    }

    private static func using(_ gateway: Gateway, _ body: (Gateway) async throws -> Void) async throws {
        do { try await body(gateway) } catch {
            await gateway.shutdown()
            throw error
        }
        await gateway.shutdown()
    }
}

extension Duration {
    /// Seconds for logs, rounded to milliseconds: `0.034`.
    fileprivate var seconds: Double { ((self / .milliseconds(1)).rounded()) / 1000 }
}
