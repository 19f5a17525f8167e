import Locking
import TestKit
import Testing

@testable import AccessTokens
@testable import GatewayClient

/// Requests to a gateway with tokens that are renewed.
@Suite(.limitedParallelism) struct AccessTokenTests {
    private static let answer = #"{"db_name":"todo","update_seq":7,"state":"Online"}"#
    private static let refusal = #"{"error":"unauthorized","reason":"exp not in future"}"#

    /// Settings with tokens `t1`, `t2` and so on.
    private func settings(
        lifetime: Duration? = .seconds(3600), errors: [TokenError] = []
    ) -> (GatewaySettings, requests: EventCounter) {
        let requests = EventCounter()
        var settings = GatewaySettings()
        // The time stands still, however slow the machine is.
        let now = ContinuousClock.now
        settings.accessTokens = AccessTokenSource(
            now: { now },
            fetch: { () async throws(TokenError) in
                requests.increment()
                let number = requests.count - 1
                if number < errors.count { throw errors[number] }
                return TokenAnswer(text: "t\(number - errors.count + 1)", lifetime: lifetime)
            })
        return (settings, requests)
    }

    @Test func allRequestsUseOneToken() async throws {
        let (settings, tokens) = settings()
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            #expect(request.values(of: "authorization") == ["Bearer t1"])
            try connection.answer(headers: couchDB, body: Self.answer)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { _ = try await scripted.gateway.databaseInfo() } }
            try await group.waitForAll()
        }
        _ = try await scripted.gateway.sibling(KeyspaceName("other")).databaseInfo()
        #expect(tokens.count == 1)
    }

    @Test func refusedTokenIsRenewedAndTheRequestRepeated() async throws {
        let (settings, tokens) = settings()
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            guard request.values(of: "authorization") == ["Bearer t2"] else {
                return try connection.answer(401, headers: couchDB, body: Self.refusal)
            }
            #expect(request.method == "GET" || request.text == #"{"a":1}"#)
            try connection.answer(
                request.method == "GET" ? 200 : 201, headers: couchDB,
                body: request.method == "GET" ? Self.answer : #"{"rev":"1-a"}"#)
        }
        #expect(try await scripted.gateway.put("a", body: Array(#"{"a":1}"#.utf8)).text == "1-a")
        _ = try await scripted.gateway.databaseInfo()
        #expect(tokens.count == 2)
    }

    /// Only two requests, and two tokens: no storm.
    @Test func refusedNewTokenEndsTheRequest() async throws {
        let (settings, tokens) = settings()
        let requests = EventCounter()
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in
            requests.increment()
            try connection.answer(401, headers: couchDB, body: Self.refusal)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .unauthorized && error?.status == 401)
        for _ in 0..<20 {
            let held = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
            #expect(held?.code == .unauthorized && held?.isHeldBack == true && held?.retryAfter != nil)
        }
        #expect(requests.count == 2 && tokens.count == 2)
    }

    /// Before the first answer of the gateway, some errors mean a wrong setting. Later they are an outage.
    @Test(
        arguments: [
            (.unreachable, .cannotConnect, .unavailable), (.unavailable, .unavailable, .unavailable),
            (.malformed, .malformedAnswer, .unavailable), (.refused, .unauthorized, .unauthorized),
        ] as [(TokenError.Kind, GatewayError.Code, GatewayError.Code)])
    func missingTokenIsAnErrorOfTheGateway(
        kind: TokenError.Kind, first: GatewayError.Code, later: GatewayError.Code
    ) async throws {
        let (settings, _) = settings(errors: [TokenError(kind, "no token; do this", retryAfter: .seconds(40))])
        let scripted = try ScriptedGateway(settings: settings) { _, _ in Issue.record("a request was sent") }
        for (hasAnswered, code) in [(false, first), (true, later)] {
            scripted.gateway.hasAnswered.withLock { $0 = hasAnswered }
            let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
            #expect(error?.code == code)
            #expect(error?.message.hasSuffix("/todo: no token; do this") == true, "\(error?.message ?? "")")
            #expect(error?.retryAfter.map { $0 > .seconds(30) } == true)
            #expect(error?.isHeldBack == hasAnswered)
        }
    }

    @Test func serverThatRepeatsTheTokenDoesNotRevealIt() async throws {
        var settings = GatewaySettings()
        settings.accessTokens = AccessTokenSource(fetch: { () async throws(TokenError) in
            TokenAnswer(text: "s3cret-token", lifetime: nil)
        })
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            try connection.answer(
                403, headers: couchDB,
                body: #"{"error":"forbidden","reason":"\#(request.values(of: "authorization").joined())"}"#)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.description.contains("Bearer ***") == true, "\(error?.description ?? "")")
    }
}
