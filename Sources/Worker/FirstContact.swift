internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Finds out whether there is a gateway, whether it lets this user in, and what it is.
struct FirstContact {
    let gateway: Gateway
    let logger: Logger
    private let contact: GatewayContact

    init(gateway: Gateway, retries: RetryPolicy.Settings, report: RunReport, logger: Logger) {
        self.gateway = gateway
        self.logger = logger
        contact = GatewayContact(settings: retries, logger: logger) { await report.noteContactRetry() }
    }

    /// - Parameters:
    ///   - needsNewest: The gateway's newest sequence must be known, or there is no place to start.
    ///   - wasThere: It is no first contact: the database was there and went away.
    /// - Throws: ``RunFailure``, `CancellationError`.
    func make(needsNewest: Bool = false, wasThere: Bool = false) async throws -> DatabaseInfo {
        let look = {
            let info = try await gateway.databaseInfo()
            if needsNewest, !(info.isOnline && info.updateSequence != nil) {
                throw GatewayError(
                    .unavailable, "\(gateway.url) does not tell its newest sequence while it is not online")
            }
            return info
        }
        let info = wasThere ? try await contact.again(look) : try await contact.first(look)
        // Proxies may hide what the answer says of the server, and the server's own page: nothing depends on that.
        _ = try? await gateway.findDialect()
        logger.info(
            "connected", metadata: ["gateway": "\(gateway.url)", "dialect": "\(gateway.dialect.rawValue)"])
        return info
    }

    /// One more question, to a gateway that has answered already.
    func ask<Answer: Sendable>(_ question: () async throws -> Answer) async throws -> Answer {
        try await contact.again(question)
    }
}
