import GatewayClient
import TestKit
import Testing

@testable import BotState

/// Which errors mean that this user may not keep local documents. A reset then goes unnoticed, and the run continues.
@Suite(.limitedParallelism) struct MarkRefusalTests {
    @Test(
        arguments: [
            .forbidden, .notOffered, .malformedAnswer, .badRequest, .tooLarge, .conflict, .invalidRequest,
            .tlsFailed, .sourceFailed, .outOfResources,
        ] as [GatewayError.Code])
    func refusalIsFinal(code: GatewayError.Code) {
        #expect(MarkDocument.isRefusal(GatewayError(code, "x")))
    }

    /// The feed reader handles these errors too.
    @Test(
        arguments: [
            .cancelled, .unauthorized, .notFound, .cannotConnect, .connectionLost, .timedOut, .tooManyRequests,
            .unavailable, .serverError, .digestMismatch,
        ] as [GatewayError.Code])
    func temporaryErrorIsNotARefusal(code: GatewayError.Code) {
        #expect(!MarkDocument.isRefusal(GatewayError(code, "x")))
    }

    private static func mark(on server: TestServer) throws -> MarkDocument {
        MarkDocument(gateway: Gateway(try GatewayURL(server.url("/todo"))), name: "bot")
    }

    private static func server(_ body: String) throws -> TestServer {
        try TestServer { connection in
            try connection.serve { _ in
                try connection.answer(headers: ["Content-Type: application/json"], body: body)
            }
        }
    }

    @Test func malformedAnswerOfAGatewayIsARefusal() async throws {
        let server = try Self.server(#"{"db_name":"todo","update_seq":1,"state":"Online"}"#)
        defer { server.stop() }
        try await Self.mark(on: server).requireRefusal(GatewayError(.malformedAnswer, "x"))
    }

    /// An error page of a proxy is temporary, so the mark is looked up again.
    @Test func malformedAnswerOfAProxyIsNotARefusal() async throws {
        let server = try Self.server("<html>")
        defer { server.stop() }
        let error = await #expect(throws: GatewayError.self) {
            try await Self.mark(on: server).requireRefusal(GatewayError(.malformedAnswer, "x"))
        }
        #expect(error?.code == .malformedAnswer && error?.message != "x")
    }

    /// Sync Gateway describes an offline database, and answers everything else with 503.
    @Test(arguments: ["Online", "Offline"])
    func lastingFailureIsARefusalWhileTheDatabaseIsOnline(state: String) async throws {
        let server = try Self.server(#"{"db_name":"todo","update_seq":1,"state":"\#(state)"}"#)
        defer { server.stop() }
        let mark = try Self.mark(on: server)
        var refusals = 0
        for _ in 1...6 {
            do { try await mark.requireRefusal(GatewayError(.unavailable, "x", status: 503)) } catch { continue }
            refusals += 1
        }
        #expect(refusals == (state == "Online" ? 2 : 0))
    }

    @Test func temporaryErrorIsRethrown() async throws {
        let server = try Self.server("<html>")
        defer { server.stop() }
        let error = await #expect(throws: GatewayError.self) {
            try await Self.mark(on: server).requireRefusal(GatewayError(.timedOut, "x"))
        }
        #expect(error?.code == .timedOut)
        #expect(server.accepted.count == 0)
    }

    /// The database is recreated between writing and reading the mark: the gateway does keep local documents.
    @Test func markThatVanishesAfterItsReplacementIsNotGivenUp() async throws {
        let own = DatabaseMark.new()
        let writes = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { request in
                let json = ["Content-Type: application/json"]
                switch (request.method, writes.count > 0) {
                case ("PUT", _):
                    writes.increment()
                    try connection.answer(
                        201, headers: json, body: #"{"id":"_local/changebot.bot","ok":true,"rev":"0-2"}"#)
                case (_, false):
                    let mark = String(decoding: own.json, as: UTF8.self)
                    try connection.answer(headers: json, body: #"{"_rev":"0-1","# + mark.dropFirst())
                default:
                    try connection.answer(404, headers: json, body: #"{"error":"not_found","reason":"missing"}"#)
                }
            }
        }
        defer { server.stop() }
        let document = try Self.mark(on: server)
        #expect(try await document.replace { $0?.mark }.mark == own)
        #expect(try await document.find() == nil)
        await document.gateway.shutdown()
    }
}
