internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Finds out whether there is a gateway, whether it lets this user in, and which server it is.
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
    ///   - needsNewest: Wait until the gateway reports its newest sequence: the run starts there.
    ///   - wasThere: The database has answered this run before: retry as after a first contact.
    /// - Throws: ``RunError``, `CancellationError`.
    func make(needsNewest: Bool = false, wasThere: Bool = false) async throws -> DatabaseInfo {
        let look = {
            let info = try await gateway.databaseInfo()
            if needsNewest, !info.reportsNewest {
                throw GatewayError(
                    .unavailable, "\(gateway.url) does not tell its newest sequence while it is not online")
            }
            return info
        }
        let info = wasThere ? try await contact.again(look) : try await contact.first(look)
        // A proxy may hide which server it is. Nothing depends on that.
        _ = try? await gateway.findDialect()
        logger.info(
            "connected", metadata: ["gateway": "\(gateway.url)", "dialect": "\(gateway.dialect.rawValue)"])
        return info
    }

    /// Another request, to a gateway that has answered already.
    func ask<Answer: Sendable>(_ question: () async throws -> Answer) async throws -> Answer {
        try await contact.again(question)
    }
}

extension DatabaseInfo {
    /// Whether ``updateSequence`` is the newest sequence now.
    var reportsNewest: Bool { isOnline && updateSequence != nil }
}
