internal import GatewayClient
internal import Logging
internal import Pipeline

/// Finds out whether there is a gateway, whether it lets this user in, and what it is.
struct FirstContact {
    let gateway: Gateway
    let patience: Patience.Settings
    let report: RunReport
    let logger: Logger

    /// - Parameters:
    ///   - needsNewest: The gateway's newest sequence must be known, or there is no place to start.
    ///   - wasThere: It is no first contact: the database was there and went away.
    /// - Throws: ``RunFailure``, `CancellationError`.
    func make(needsNewest: Bool = false, wasThere: Bool = false) async throws -> DatabaseInfo {
        let info = try await patiently(Patience(patience, hasSucceeded: wasThere)) {
            let info = try await gateway.databaseInfo()
            if needsNewest, !(info.isOnline && info.updateSequence != nil) {
                throw GatewayError(
                    .unavailable, "\(gateway.url) does not tell its newest sequence while it is not online")
            }
            return info
        }
        // Proxies may hide what the answer says of the server, and the server's own page: nothing depends on that.
        _ = try? await gateway.findDialect()
        logger.info(
            "connected", metadata: ["gateway": "\(gateway.url)", "dialect": "\(gateway.dialect.rawValue)"])
        return info
    }

    /// One more question, to a gateway that has answered already.
    func ask<Answer: Sendable>(_ question: () async throws -> Answer) async throws -> Answer {
        try await patiently(Patience(patience, hasSucceeded: true), question)
    }

    private func patiently<Answer: Sendable>(
        _ start: Patience, _ question: () async throws -> Answer
    ) async throws -> Answer {
        var patience = start
        var outage = Outage()
        while true {
            do {
                let answer = try await question()
                outage.end(logger)
                return answer
            } catch let error as GatewayError {
                if error.code == .cancelled { throw CancellationError() }
                switch patience.verdict(on: error) {
                case .end(let failure): throw failure
                case .retry(let delay):
                    // What is no gateway is told of once, at the end.
                    logger.log(
                        level: error.code == .malformedAnswer ? .debug : .warning,
                        "no proper answer from the gateway yet",
                        metadata: ["reason": "\(error)", "wait": "\(delay.text)"])
                    outage.note()
                    await report.noteContactRetry()
                    try await Task.sleep(for: delay)
                }
            }
        }
    }
}
