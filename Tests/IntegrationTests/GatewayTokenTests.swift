import AccessTokens
import Bots
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import HTTPTransport
import Locking
import LosslessJSON
import TestKit
import Testing

/// A bot at a gateway that requires tokens with a short life, with a token server that fails now and then.
@Suite(.limitedParallelism) struct GatewayTokenTests {
    /// What the token server does, and which token is valid.
    private struct Tokens {
        var number = 0
        var validUntil = ContinuousClock.now
        var fault: TestReceiver.Reply?
        var requests = 0
        /// Requests of the bot without a valid token.
        var refused = 0
    }

    private static let lifetime: Duration = .seconds(2)
    private static let refusal: String = {
        let body = #"{"error":"unauthorized","reason":"the token has expired"}"#
        return "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
    }()

    private static func tokenServer(_ tokens: Locked<Tokens>) throws -> TestReceiver {
        try TestReceiver { _, _ in
            tokens.withLock { tokens in
                tokens.requests += 1
                if let fault = tokens.fault { return fault }
                tokens.number += 1
                tokens.validUntil = .now + lifetime
                return .answer(
                    200, headers: ["Content-Type: application/json"],
                    body: #"{"access_token":"t\#(tokens.number)","token_type":"Bearer","expires_in":2}"#)
            }
        }
    }

    private static func refusal(of request: TestRequest, _ tokens: Locked<Tokens>) -> String? {
        tokens.withLock { tokens in
            let isValid =
                request.values(of: "authorization") == ["Bearer t\(tokens.number)"] && .now < tokens.validUntil
            if !isValid { tokens.refused += 1 }
            return isValid ? nil : refusal
        }
    }

    /// Sends a request to another server, and its complete answer to the client.
    private static func forward(
        _ request: TestRequest, to upstream: String, _ http: HTTPClient, _ connection: TestConnection
    ) throws {
        let answer = Monitor<(status: Int, body: [UInt8])?>(nil)
        let headers = request.headers.filter { ["content-type", "accept", "content-encoding"].contains($0.name) }
        let forwarded = HTTPRequest(
            method: request.method, url: upstream + request.target, headers: headers,
            body: request.body.isEmpty ? .none : .bytes(request.body))
        Task {
            let response = try? await http.send(forwarded)
            let body = try? await response?.body.collect(upTo: 64 << 20)
            answer.with { $0 = (response?.status ?? 502, body ?? []) }
        }
        let (status, body) = answer.block(until: { $0 != nil }, then: { $0 ?? (502, []) })
        try connection.answer(
            status, headers: ["Content-Type: application/json", "Server: Couchbase Sync Gateway/4.1.1 CE"],
            body: String(decoding: body, as: UTF8.self))
    }

    private func withEmbeddedGateway(_ body: (BotTestBed) async throws -> Void) async throws {
        try await withDirectory { directory in
            let configuration = EmbeddedGateway.Configuration(storage: .memory, logger: BotTestBed.logger)
            try await BotTestBed.serve(configuration, in: directory, body)
        }
    }

    @Test func failingTokenServerCausesNeitherDeadLettersNorAStorm() async throws {
        let tokens = Locked(Tokens())
        let server = try Self.tokenServer(tokens)
        try await withEmbeddedGateway { bed in
            let http = HTTPClient()
            let upstream = "\(bed.url)".prefix { $0 != "/" } + "//" + "\(bed.url)".split(separator: "/")[1]
            let proxy = try TestServer { connection in
                try connection.serve { request in
                    if let refusal = Self.refusal(of: request, tokens) { return try connection.write(refusal) }
                    try Self.forward(request, to: String(upstream), http, connection)
                }
            }
            let url = try GatewayURL("http://127.0.0.1:\(proxy.port)/todo")
            var settings = GatewaySettings()
            settings.accessTokens = .shared(
                .clientCredentials(
                    .init(
                        server: TokenServer(url: server.url), clientID: "bot", secret: .text("s3cret"), scope: nil,
                        form: .basic)), userAgent: "test", noteFailure: { _ in })
            let client = BotTestBed(url: url, settings: settings, directory: bed.directory)
            let rules = try bed.rules(
                "version: 1\nrules: [{ name: a, when: { a: { $exists: false } }, then: [merge: { a: 1 }] }]")
            let faults: [TestReceiver.Reply?] = [
                nil, .close, .answer(429, headers: ["Retry-After: 1"]), .answer(200, body: "<html>"), .answer(503), nil,
            ]
            let counters = try await client.following(rules) {
                for (wave, fault) in faults.enumerated() {
                    tokens.withLock { $0.fault = fault }
                    let ids = (0..<50).map { "w\(wave)-\($0)" }
                    try await bed.load(ids.map { (DocumentID($0), #"{"_id":"\#($0)"}"#) })
                    // Longer than the present token lives.
                    try await Task.sleep(for: Self.lifetime + .milliseconds(500))
                    tokens.withLock { $0.fault = nil }
                    try await bed.wait(until: ids.map { DocumentID($0) }) { $0["a"] != nil }
                }
            }
            #expect(counters.deadLetters == 0)
            #expect(counters.written == 300)
            #expect(try client.deadLetters(rules).isEmpty)
            // Renewals of tokens of two seconds, and a few attempts in each outage.
            let (requests, refused) = tokens.withLock { ($0.requests, $0.refused) }
            #expect((8...60).contains(requests), "\(requests)")
            #expect(refused <= 20, "\(refused)")
            await client.phone.shutdown()
            await http.shutdown()
        }
    }
}
