import GatewayClient
import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// `_session`: the current user, and the login.
@Suite(.limitedParallelism) struct SessionTests {
    @Test func sessionNamesTheUser() async throws {
        let server = try await ConformanceServer.shared()
        let reply = try await server.send(HTTPRequest(url: address(server), credentials: server.credentials))
        #expect(reply.status == 200)
        #expect(reply["ok"]?.bool == true)
        let name = server.isAdministration ? nil : server.user?.name
        #expect(reply["userCtx"]?["name"]?.string == name)
        #expect(reply["userCtx"]?["name"]?.kind == (name == nil ? .null : .string))
    }

    @Test(.serversThatCheckPasswords) func wrongPasswordBeginsNoSession() async throws {
        let server = try await ConformanceServer.shared()
        let reply = try await logIn(server, "changebot-nobody", "wrong")
        let expected = KnownDifferences.invalidLogin[server.kind]
        #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
    }

    @Test(.serversWithUser) func sessionAuthenticates() async throws {
        let server = try await ConformanceServer.shared()
        let user = try #require(server.user)
        let login = try await logIn(server, user.name, user.password)
        #expect(login.status == 200)
        let field = try #require(login.headers.values(of: "Set-Cookie").first)
        #expect(field.hasPrefix(KnownDifferences.sessionCookie[server.kind]))
        let cookie = String(field.prefix { $0 != ";" })
        let reply = try await server.send(
            HTTPRequest(url: address(server), headers: [("Accept", "application/json"), ("Cookie", cookie)]))
        #expect(reply["userCtx"]?["name"]?.string == user.name)
    }

    private func address(_ server: ConformanceServer) -> String {
        KnownDifferences.sessionIsOfDatabase[server.kind]
            ? "\(server.databaseURL)/_session" : "\(server.url.base)/_session"
    }

    private func logIn(_ server: ConformanceServer, _ name: String, _ password: String) async throws -> Reply {
        let body = "{\"name\":\(name.json),\"password\":\(password.json)}"
        return try await server.send(
            HTTPRequest(
                method: "POST", url: address(server),
                headers: [("Content-Type", "application/json"), ("Accept", "application/json")],
                body: .bytes(body.bytes)))
    }
}
