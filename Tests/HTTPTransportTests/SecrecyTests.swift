import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism) struct SecrecyTests {
    private static let secrets = ["hunter2", "alice", "tok3n", "api_key=9f"]

    /// Everything that printing, dumping or logging `value` can show.
    private func shown(_ value: some Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value)" + String(reflecting: value) + dumped
    }

    private func expectNoSecret(in value: some Any) {
        let text = shown(value)
        for secret in Self.secrets { #expect(!text.contains(secret), "\(secret) in \(text)") }
    }

    @Test(arguments: [HTTPCredentials.basic(user: "alice", password: "hunter2"), .bearer(token: "tok3n")])
    func credentialsAreNeverShown(credentials: HTTPCredentials) {
        expectNoSecret(in: credentials)
        expectNoSecret(in: Optional(credentials) as Any)
        expectNoSecret(in: [credentials])
        let request = HTTPRequest(
            url: "http://alice:hunter2@127.0.0.1/db?api_key=9f", headers: [("Cookie", "tok3n")],
            credentials: credentials)
        expectNoSecret(in: request)
        #expect("\(request)" == "GET http://127.0.0.1/db")
    }

    @Test(arguments: [
        (HTTPCredentials.basic(user: "alice", password: "hunter2"), "Basic YWxpY2U6aHVudGVyMg=="),
        (.bearer(token: "tok3n"), "Bearer tok3n"),
    ])
    func credentialsArriveExactlyOnce(credentials: HTTPCredentials, field: String) async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                try connection.answer(body: request.values(of: "authorization").joined(separator: "|"))
            }
        }
        let client = HTTPClient()
        let sent = try await client.send(HTTPRequest(url: server.url(), credentials: credentials))
        #expect(try await sent.text() == field)
        // A kept connection must not keep the credentials.
        let bare = try await client.send(HTTPRequest(url: server.url()))
        #expect(try await bare.text() == "")
        #expect(server.accepted.count == 1)
    }

    @Test func errorsShowHostAndPortOnly() async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
        }
        let client = HTTPClient()
        let requests = [
            server.url("/alice?api_key=9f"), "http://127.0.0.1:1/alice?api_key=9f",
            "http://nonexistent.invalid/alice?api_key=9f", "http://alice:hunter2@127.0.0.1/", "ftp://127.0.0.1/alice",
        ]
        for url in requests {
            for credentials in [HTTPCredentials.basic(user: "alice", password: "hunter2"), .bearer(token: "tok3n")] {
                let error = await #expect(throws: HTTPTransportError.self) {
                    try await client.send(HTTPRequest(url: url, credentials: credentials))
                }
                if let error { expectNoSecret(in: error) }
            }
        }
    }

    @Test func userInfoInTheURLIsRefused() async {
        let client = HTTPClient()
        for url in ["http://alice:hunter2@127.0.0.1:1/", "https://tok3n@127.0.0.1:1/", "http://@127.0.0.1:1/"] {
            await #expect(throws: HTTPTransportError(.badURL, "")) { try await client.send(HTTPRequest(url: url)) }
        }
    }

    @Test func credentialsWithLineBreaksAreRefused() async {
        let client = HTTPClient()
        let wrong: [HTTPCredentials] = [
            .basic(user: "a:b", password: "c"), .basic(user: "a", password: "b\0c"), .bearer(token: "a\r\nX: y"),
        ]
        for credentials in wrong {
            await #expect(throws: HTTPTransportError(.invalidRequest, "")) {
                try await client.send(HTTPRequest(url: "http://127.0.0.1:1/", credentials: credentials))
            }
        }
    }

    @Test func redirectIsReturnedAndNotFollowed() async throws {
        let other = try TestServer { connection in
            try connection.serve { _ in try connection.answer() }
        }
        let elsewhere = other.url()
        let server = try TestServer { connection in
            try connection.serve { _ in try connection.answer(302, headers: ["Location: \(elsewhere)"]) }
        }
        let response = try await HTTPClient().send(
            HTTPRequest(url: server.url(), credentials: .basic(user: "alice", password: "hunter2")))
        #expect(response.status == 302)
        #expect(response.headers["location"] == elsewhere)
        #expect(try await response.text() == "")
        #expect(other.accepted.count == 0)
    }
}

extension HTTPResponse {
    /// The whole body as text.
    func text() async throws(HTTPTransportError) -> String {
        String(decoding: try await body.collect(upTo: 1 << 20), as: UTF8.self)
    }
}
