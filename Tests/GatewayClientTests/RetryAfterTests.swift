import Locking
import TestKit
import Testing

@testable import GatewayClient

/// A gateway's `Retry-After` applies to all requests to it, not only to the refused one.
@Suite(.limitedParallelism) struct RetryAfterTests {
    private let clock = Monitor(ContinuousClock.now)

    private func scripted(_ status: Int, _ wait: String) throws -> ScriptedGateway {
        var settings = GatewaySettings()
        settings.process.now = { [clock] in clock.with { $0 } }
        return try ScriptedGateway(settings: settings) { connection, request in
            if request.target == "/todo/refused" {
                return try connection.answer(
                    status, headers: syncGateway + ["Retry-After: \(wait)"], body: #"{"error":"busy"}"#)
            }
            try connection.answer(headers: syncGateway, body: #"{"db_name":"todo","state":"Online"}"#)
        }
    }

    @Test(arguments: [(429, GatewayError.Code.tooManyRequests), (503, .unavailable), (500, .unavailable)])
    func noRequestIsSentBeforeRetryAfter(status: Int, code: GatewayError.Code) async throws {
        let scripted = try scripted(status, "60")
        let first = await #expect(throws: GatewayError.self) { try await scripted.gateway.document("refused") }
        #expect(first?.retryAfter == .seconds(60))
        clock.with { $0 += .seconds(20) }
        let sibling = scripted.gateway.sibling(try KeyspaceName("other"))
        for gateway in [scripted.gateway, sibling] {
            let error = await #expect(throws: GatewayError.self) { try await gateway.databaseInfo() }
            #expect(error?.code == code && error?.retryAfter == .seconds(40) && error?.isRetryable == true)
            #expect(error?.message.contains("Retry-After") == true)
        }
        clock.with { $0 += .seconds(40) }
        _ = try await scripted.gateway.databaseInfo()
    }

    @Test(arguments: [(404, "60"), (413, "60"), (503, "0"), (503, "soon")])
    func otherAnswersDoNotDelayRequests(status: Int, wait: String) async throws {
        let scripted = try scripted(status, wait)
        _ = try? await scripted.gateway.document("refused")
        _ = try await scripted.gateway.databaseInfo()
    }
}
