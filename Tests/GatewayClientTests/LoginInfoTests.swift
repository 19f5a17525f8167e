import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

/// The gateway's description of a login, and the local documents that a user may write.
@Suite(.limitedParallelism) struct LoginInfoTests {
    @Test(
        arguments: [
            (
                #"{"authentication_handlers":["default"],"ok":true,"userCtx":{"channels":{"!":1,"b":3,"a":3},"name":"u"}}"#,
                LoginInfo(user: "u", channels: ["!", "a", "b"])
            ),
            (#"{"ok":true,"userCtx":{"channels":null,"name":null}}"#, LoginInfo(user: nil, channels: nil)),
            (
                #"{"ok":true,"userCtx":{"name":"admin","roles":["_admin"]},"info":{}}"#,
                LoginInfo(user: "admin", channels: nil, roles: ["_admin"])
            ),
            ("{}", LoginInfo(user: nil, channels: nil)),
        ])
    func recordedAnswers(json: String, expected: LoginInfo) throws {
        #expect(LoginInfo(try #require(SmallJSON(Array(json.utf8)))) == expected)
    }

    @Test(arguments: [(syncGateway, "/todo/_session"), (couchDB, "/_session")])
    func eachServerHasItsSessionPath(headers: [String], target: String) async throws {
        let scripted = try ScriptedGateway { connection, request in
            let isLogin = request.target == target
            try connection.answer(headers: headers, body: isLogin ? #"{"userCtx":{"name":"amy"}}"# : "{}")
        }
        // The answer shows which server it is.
        _ = try? await scripted.gateway.serverInfo()
        #expect(try await scripted.gateway.loginInfo().user == "amy")
    }

    @Test(arguments: [(200, #"["todo"]"#, true), (404, #"{"error":"not_found","reason":"unknown URL"}"#, false)])
    func onlyAdminPortListsDatabases(status: Int, body: String, isAdmin: Bool) async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/_all_dbs")
            try connection.answer(status, headers: syncGateway, body: body)
        }
        #expect(await scripted.gateway.isAdminPort() == isAdmin)
    }

    @Test(arguments: [
        (201, #"{"ok":true}"#, true), (412, #"{"error":"file_exists","reason":"exists"}"#, false),
    ])
    func databaseIsCreatedUnlessItExists(status: Int, body: String, isNew: Bool) async throws {
        let scripted = try ScriptedGateway { connection, request in
            guard request.method == "PUT" else {
                return try connection.answer(headers: couchDB, body: #"{"couchdb":"Welcome","vendor":{"name":"x"}}"#)
            }
            #expect(request.target == "/todo/")
            try connection.answer(status, headers: couchDB, body: body)
        }
        #expect(try await scripted.gateway.createDatabase() == isNew)
    }

    @Test func syncGatewayDatabaseIsNotCreated() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.method == "GET")
            let isRoot = request.target == "/"
            try connection.answer(
                isRoot ? 200 : 404, headers: syncGateway,
                body: isRoot ? "{}" : #"{"error":"not_found","reason":"no such database \"todo\""}"#)
        }
        await #expect {
            _ = try await scripted.gateway.createDatabase()
        } throws: { error in
            (error as? GatewayError)?.code == .notOffered
        }
    }

    @Test(arguments: [(true, #""2035-01-31T00:00:00Z""#), (false, nil)])
    func documentsAreReadWithExpiryIfEnabled(keeps: Bool, expiry: String?) async throws {
        var settings = GatewaySettings()
        settings.keepsExpiry = keeps
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            if request.target == "/todo/a?show_exp=true" {
                return try connection.answer(
                    headers: syncGateway, body: #"{"_id":"a","_rev":"1-a","_exp":"2035-01-31T01:00:00+01:00"}"#)
            }
            #expect(request.target == "/todo/_all_docs?include_docs=true")
            try connection.answer(
                headers: syncGateway,
                body: #"{"rows":[{"key":"a","id":"a","value":{"rev":"1-a"},"doc":{"_id":"a","_rev":"1-a"}}]}"#)
        }
        guard case .found(_, let document)? = try await scripted.gateway.currentDocuments(["a"]).first else {
            Issue.record("not found")
            return
        }
        #expect(document.root["_exp"].map { String(decoding: $0.bytes, as: UTF8.self) } == expiry)
    }

    @Test func localDocumentIsDeletedByRevision() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.method == "DELETE")
            #expect(request.target == "/todo/_local/a?rev=0-1")
            try connection.answer(headers: syncGateway)
        }
        try await scripted.gateway.deleteLocalDocument("a", revision: RevisionID("0-1"))
    }

    @Test func proxyMayForbidLocalDocuments() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(403, headers: syncGateway, body: #"{"error":"forbidden","reason":"no"}"#)
        }
        let error = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.deleteLocalDocument("a", revision: RevisionID("0-1"))
        }
        #expect(error?.code == .notOffered)
    }
}
