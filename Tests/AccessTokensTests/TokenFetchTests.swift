import Encodings
import Foundation
import Locking
import TestKit
import Testing

@testable import AccessTokens

/// Requests to a token server on this machine.
@Suite(.limitedParallelism) struct TokenFetchTests {
    private func fetch(_ method: TokenMethod) async throws -> TokenAnswer {
        try await TokenFetch(method: method, userAgent: "changebot/test").run()
    }

    private func client(
        _ server: TestServer, secret: TokenSecret = .text("s+e/c=r:e t"),
        form: TokenMethod.ClientCredentials.Form = .basic
    ) -> TokenMethod {
        .clientCredentials(
            .init(
                server: TokenServer(url: server.url("/token")), clientID: "bot:1", secret: secret,
                scope: "read write", form: form))
    }

    private func server(_ seen: Monitor<[TestRequest]>, _ body: String = #"{"access_token":"abc","expires_in":60}"#)
        throws -> TestServer
    {
        try TestServer { connection in
            try connection.serve { request in
                seen.with { $0.append(request) }
                try connection.answer(headers: ["Content-Type: application/json"], body: body)
            }
        }
    }

    @Test func clientIdentifiesItselfInTheHeader() async throws {
        let seen = Monitor<[TestRequest]>([])
        let server = try server(seen)
        let answer = try await fetch(client(server))
        #expect(answer.text == "abc" && answer.lifetime == .seconds(60))
        let request = try #require(seen.with { $0 }.first)
        #expect(request.method == "POST" && request.target == "/token")
        #expect(request.text == "grant_type=client_credentials&scope=read%20write")
        #expect(request.values(of: "content-type") == ["application/x-www-form-urlencoded"])
        // RFC 6749, section 2.3.1: both parts are encoded before they are joined.
        let credentials = Base64.text(Array("bot%3A1:s%2Be%2Fc%3Dr%3Ae%20t".utf8))
        #expect(request.values(of: "authorization") == ["Basic " + credentials])
    }

    @Test func audienceIsSent() async throws {
        let seen = Monitor<[TestRequest]>([])
        let server = try server(seen)
        _ = try await fetch(
            .clientCredentials(
                .init(
                    server: TokenServer(url: server.url("/token")), clientID: "bot", secret: .text("s3cret"),
                    scope: nil,
                    audience: "https://api.example/", form: .basic)))
        #expect(
            seen.with { $0 }.map(\.text) == ["grant_type=client_credentials&audience=https%3A%2F%2Fapi.example%2F"])
    }

    @Test func clientIdentifiesItselfInTheForm() async throws {
        let seen = Monitor<[TestRequest]>([])
        let server = try server(seen)
        _ = try await fetch(client(server, form: .body))
        let request = try #require(seen.with { $0 }.first)
        #expect(
            request.text
                == "grant_type=client_credentials&scope=read%20write&client_id=bot%3A1&client_secret=s%2Be%2Fc%3Dr%3Ae%20t"
        )
        #expect(request.values(of: "authorization").isEmpty)
    }

    @Test func apiKeyIsExchanged() async throws {
        let seen = Monitor<[TestRequest]>([])
        let server = try server(seen)
        try await withDirectory { directory in
            let file = directory + "/key"
            try "\n k3y-1 \n".write(toFile: file, atomically: true, encoding: .utf8)
            let method = TokenMethod.apiKey(
                .init(server: TokenServer(url: server.url("/identity/token")), key: .file(file)))
            #expect(try await fetch(method).text == "abc")
            #expect(
                seen.with { $0 }.first?.text
                    == "grant_type=urn%3Aibm%3Aparams%3Aoauth%3Agrant-type%3Aapikey&apikey=k3y-1")
            try "".write(toFile: file, atomically: true, encoding: .utf8)
            let empty = await #expect(throws: TokenError.self) { try await fetch(method) }
            #expect(empty?.message == "the API key file \(file) is empty; write the API key into it")
            try FileManager.default.removeItem(atPath: file)
            let missing = await #expect(throws: TokenError.self) { try await fetch(method) }
            #expect(missing?.message.contains("can't read the API key file \(file)") == true)
            #expect(missing?.kind == .unavailable)
        }
    }

    @Test func unreachableServerIsNamed() async throws {
        let port = try TestServer { _ in }.port
        let method = TokenMethod.clientCredentials(
            .init(
                server: TokenServer(url: "http://127.0.0.1:\(port)/t?x=s3cret"), clientID: "c", secret: .text("s"),
                scope: nil, form: .basic))
        let error = await #expect(throws: TokenError.self) { try await fetch(method) }
        #expect(error?.kind == .unreachable)
        #expect(error?.message.contains("no access token from http://127.0.0.1:\(port)/t: ") == true)
        #expect(error?.message.contains("check token_url, and that the server is up") == true)
        #expect(error?.message.contains("s3cret") == false)
    }

    @Test func linkLocalServerIsRefused() async throws {
        let method = TokenMethod.clientCredentials(
            .init(
                server: TokenServer(url: "http://169.254.169.254/token"), clientID: "c", secret: .text("s"), scope: nil,
                form: .basic))
        let error = await #expect(throws: TokenError.self) { try await fetch(method) }
        #expect(error?.message.contains("link-local addresses are refused") == true)
    }
}
