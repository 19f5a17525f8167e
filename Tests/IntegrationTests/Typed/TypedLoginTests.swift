import EmbeddedGateway
import GatewayClient
import TestKit
import Testing

@testable import TypedDocuments

/// Errors of the login.
@Suite(.limitedParallelism) struct TypedLoginTests {
    /// Nil if it succeeds.
    private func login(_ url: String, user: String? = nil, password: String = "") async throws -> LoginError? {
        let keyspace = try Keyspace(url, user: user, password: password)
        let result = await Result { try await keyspace.logIn() }
        await keyspace.shutdown()
        guard case .failure(let error) = result else { return nil }
        return try #require(error as? LoginError)
    }

    private func name(_ error: LoginError?) -> String {
        switch error {
        case .unreachable?: "unreachable"
        case .wrongCredentials?: "wrong credentials"
        case .noAccess?: "no access"
        case nil: "none"
        }
    }

    @Test func reachableKeyspaceIsUsable() async throws {
        try await TypedTestBed.with { try await $0.keyspace.logIn() }
    }

    @Test func closedPortIsUnreachable() async throws {
        let error = try await login("http://127.0.0.1:1/todo")
        #expect(name(error) == "unreachable")
    }

    @Test func missingDatabaseIsNoAccess() async throws {
        try await TypedTestBed.with { bed in
            let missing = try bed.keyspace.keyspace("no-such-database")
            let error = await #expect(throws: LoginError.self) { try await missing.logIn() }
            #expect(name(error) == "no access")
        }
    }

    @Test(arguments: [
        (GatewayError.Cause.wrongCredentials, GatewayError.Code.unauthorized, "wrong credentials"),
        (.accessDenied, .unauthorized, "no access"), (.accessDenied, .forbidden, "no access"),
        (.unknownDatabaseOrLogin, .unauthorized, "no access"), (.databaseOffline, .unavailable, "unreachable"),
    ])
    func refusalHasAReason(cause: GatewayError.Cause, code: GatewayError.Code, expected: String) {
        var error = GatewayError(code, "no")
        error.cause = cause
        #expect(name(LoginError(error)) == expected)
    }

    private static let users = #"""
        {"databases": {"todo": {
            "users": {"amy": {"password": "secret", "admin_channels": ["amy"]}},
            "scopes": {"app": {"collections": {"lists": {}}}}
        }}}
        """#

    @Test(arguments: [
        ("todo.app.lists", "amy", "secret", "none"), ("todo.app.lists", "amy", "wrong", "wrong credentials"),
        ("todo.app.lists", "ben", "secret", "wrong credentials"), ("todo.app.lists", nil, "", "wrong credentials"),
        ("other", "amy", "secret", "no access"), ("todo.app.other", "amy", "secret", "no access"),
    ])
    func eachReasonHasItsOwnError(keyspace: String, user: String?, password: String, expected: String) async throws {
        let users = try EmbeddedGateway.Users.parse(Array(Self.users.utf8), database: "todo")
        try await TypedTestBed.withEmbedded {
            $0.users = users
        } body: { bed in
            let url = bed.keyspace.url.sibling(try KeyspaceName(keyspace)).description
            #expect(name(try await login(url, user: user, password: password)) == expected)
        }
    }
}

extension Result where Failure == any Error {
    /// What `body` returns or throws.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
