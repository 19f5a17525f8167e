import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

/// What a gateway says about a login, and the local document that a login may keep.
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
    func eachServerIsAskedAtItsPlace(headers: [String], target: String) async throws {
        let scripted = try ScriptedGateway { connection, request in
            let isLogin = request.target == target
            try connection.answer(headers: headers, body: isLogin ? #"{"userCtx":{"name":"amy"}}"# : "{}")
        }
        // The answer shows which server it is.
        _ = try? await scripted.gateway.serverInfo()
        #expect(try await scripted.gateway.loginInfo().user == "amy")
    }

    @Test(arguments: [(200, #"["todo"]"#, true), (404, #"{"error":"not_found","reason":"unknown URL"}"#, false)])
    func onlyTheAdminPortListsDatabases(status: Int, body: String, isAdmin: Bool) async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/_all_dbs")
            try connection.answer(status, headers: syncGateway, body: body)
        }
        #expect(await scripted.gateway.isAdminPort() == isAdmin)
    }

    @Test func aLocalDocumentIsDeletedByItsRevision() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.method == "DELETE")
            #expect(request.target == "/todo/_local/a?rev=0-1")
            try connection.answer(headers: syncGateway)
        }
        try await scripted.gateway.deleteLocalDocument("a", revision: RevisionID("0-1"))
    }

    @Test func aProxyMayForbidIt() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(403, headers: syncGateway, body: #"{"error":"forbidden","reason":"no"}"#)
        }
        let error = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.deleteLocalDocument("a", revision: RevisionID("0-1"))
        }
        #expect(error?.code == .notOffered)
    }
}
