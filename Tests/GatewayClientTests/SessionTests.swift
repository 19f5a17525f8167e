import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

@Suite(.timeLimit(.minutes(5))) struct SessionTests {
    private static let answer = #"{"db_name":"todo","update_seq":7,"state":"Online"}"#
    private static let login = #"{"ok":true,"userCtx":{"channels":{"!":1},"name":"amy"}}"#

    private func settings(_ dialect: GatewayDialect? = nil) -> GatewaySettings {
        var settings = GatewaySettings()
        settings.credentials = .basic(user: "amy", password: "s3cret")
        settings.usesSession = true
        settings.dialect = dialect
        return settings
    }

    @Test func syncGatewayGetsThePasswordOnce() async throws {
        let logins = EventCounter()
        let scripted = try ScriptedGateway(settings: settings()) { connection, request in
            #expect(request.values(of: "authorization").isEmpty)
            switch (request.method, request.target) {
            case ("GET", "/"): try connection.answer(headers: syncGateway, body: "{}")
            case ("POST", "/todo/_session"):
                logins.increment()
                #expect(request.text == #"{"name":"amy","password":"s3cret"}"#)
                let cookie = "Set-Cookie: SyncGatewaySession=bc10; Path=/todo; Expires=Sat, 21 Nov 2026 21:11:19 GMT"
                try connection.answer(headers: syncGateway + [cookie], body: Self.login)
            default:
                #expect(request.values(of: "cookie") == ["SyncGatewaySession=bc10"])
                try connection.answer(headers: syncGateway, body: Self.answer)
            }
        }
        for _ in 0..<3 { _ = try await scripted.gateway.databaseInfo() }
        #expect(logins.count == 1)
    }

    /// An expired cookie would be one of nobody, and nobody may well read a public database.
    @Test func theSessionOfCouchDBIsRenewedBeforeItExpires() async throws {
        let start = ContinuousClock.now
        let elapsed = Monitor<Duration>(.zero)
        let logins = EventCounter()
        var settings = settings(.couchDB)
        settings.now = { start + elapsed.with { $0 } }
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            if request.target == "/_session" {
                logins.increment()
                let cookie = "Set-Cookie: AuthSession=Y\(logins.count); Version=1; Max-Age=600; Path=/; HttpOnly"
                try connection.answer(headers: couchDB + [cookie], body: #"{"ok":true,"name":"amy","roles":[]}"#)
            } else {
                #expect(request.values(of: "cookie") == ["AuthSession=Y\(logins.count)"])
                try connection.answer(headers: couchDB, body: Self.answer)
            }
        }
        for (seconds, count) in [(0, 1), (539, 1), (541, 2), (1000, 2), (1100, 3)] {
            elapsed.with { $0 = .seconds(seconds) }
            _ = try await scripted.gateway.databaseInfo()
            #expect(logins.count == count, "after \(seconds) s")
        }
    }

    @Test func aCookieThatTheServerRenewsIsTakenOver() async throws {
        let scripted = try ScriptedGateway(settings: settings(.couchDB)) { connection, request in
            let value = request.target == "/_session" ? "first" : "second"
            let cookie = "Set-Cookie: AuthSession=\(value); Max-Age=600"
            if request.target == "/todo/b" { #expect(request.values(of: "cookie") == ["AuthSession=second"]) }
            try connection.answer(headers: couchDB + [cookie], body: #"{"ok":true,"name":"amy"}"#)
        }
        _ = try await scripted.gateway.document("a")
        _ = try await scripted.gateway.document("b")
    }

    @Test func aSessionThatIsGoneIsBegunAnewOnce() async throws {
        let logins = EventCounter()
        let scripted = try ScriptedGateway(settings: settings(.syncGateway)) { connection, request in
            if request.method == "POST" {
                logins.increment()
                let cookie = "Set-Cookie: SyncGatewaySession=c\(logins.count); Path=/todo"
                try connection.answer(headers: syncGateway + [cookie], body: Self.login)
            } else if request.target == "/todo/" && request.values(of: "cookie") == ["SyncGatewaySession=c2"] {
                try connection.answer(headers: syncGateway, body: Self.answer)
            } else {
                let body = #"{"error":"Unauthorized","reason":"Session Invalid"}"#
                try connection.answer(401, headers: syncGateway, body: body)
            }
        }
        _ = try await scripted.gateway.databaseInfo()
        #expect(logins.count == 2)
        let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.document("x") }
        #expect(error?.code == .unauthorized)
        #expect(logins.count == 3)
    }

    @Test(arguments: [
        (200, "AuthSession=x; Max-Age=600", #"{"ok":true,"name":"bob"}"#),
        (200, "AuthSession=x; Max-Age=600", #"{"ok":true,"name":null}"#),
        (200, "AuthSession=; Max-Age=600", #"{"ok":true,"name":"amy"}"#),
        (200, "Other=x", #"{"ok":true,"name":"amy"}"#),
        (401, "AuthSession=; Max-Age=600", #"{"error":"unauthorized","reason":"Name or password is incorrect."}"#),
    ])
    func whatBeginsNoSessionOfThisUserIsRefused(status: Int, cookie: String, body: String) async throws {
        let scripted = try ScriptedGateway(settings: settings(.couchDB)) { connection, request in
            #expect(request.target == "/_session")
            try connection.answer(status, headers: couchDB + ["Set-Cookie: \(cookie)"], body: body)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .unauthorized)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func aSessionDoesNotPrintItsCookie() throws {
        let session = try #require(GatewaySession(["AuthSession=s3cret"], at: .now))
        var dumped = ""
        dump(session, to: &dumped)
        #expect(!"\(session) \(String(reflecting: session)) \(dumped)".contains("s3cret"))
    }
}

@Suite(.timeLimit(.minutes(5))) struct CredentialsSourceTests {
    private struct NoFile: Error {}

    @Test func credentialsAreReadAnewForEachRequest() async throws {
        let tokens = EventCounter()
        var settings = GatewaySettings()
        settings.credentialsSource = {
            tokens.increment()
            return .bearer(token: "t\(tokens.count)")
        }
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            #expect(request.values(of: "authorization") == ["Bearer t\(tokens.count)"])
            try connection.answer(headers: syncGateway, body: "{}")
        }
        for _ in 0..<3 { _ = try await scripted.gateway.document("a") }
        #expect(tokens.count == 3)
    }

    @Test func aSourceThatFailsEndsTheRequest() async throws {
        var settings = GatewaySettings()
        settings.credentialsSource = { throw NoFile() }
        let scripted = try ScriptedGateway(settings: settings) { _, _ in Issue.record("a request was sent") }
        let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.document("a") }
        #expect(error?.code == .unauthorized)
    }
}

@Suite(.timeLimit(.minutes(5))) struct MovedTests {
    @Test func aMoveWithinTheServerIsFollowed() async throws {
        let scripted = try ScriptedGateway { connection, request in
            if request.target == "/todo/a" {
                try connection.answer(301, headers: syncGateway + ["Location: /todo/b"])
            } else {
                try connection.answer(headers: syncGateway, body: #"{"_id":"b"}"#)
            }
        }
        #expect(try await scripted.gateway.document("a")?.root["_id"]?.string == "b")
    }

    @Test(arguments: [
        "http://127.0.0.1:1/todo/a", "//127.0.0.1:1/a", "/\\127.0.0.1:1/a", "https://127.0.0.1/a", "a", "",
    ])
    func aMoveToAnotherServerIsNotFollowed(place: String) async throws {
        var settings = GatewaySettings()
        settings.credentials = .basic(user: "amy", password: "s3cret")
        let requests = EventCounter()
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in
            requests.increment()
            try connection.answer(301, headers: ["Location: \(place)"])
        }
        let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.document("a") }
        #expect(error?.code == .malformedAnswer)
        #expect(requests.count == 1)
    }

    @Test func aWriteIsNotMoved() async throws {
        let requests = EventCounter()
        let scripted = try ScriptedGateway { connection, _ in
            requests.increment()
            try connection.answer(301, headers: ["Location: /todo/b"])
        }
        await #expect(throws: GatewayError.self) { try await scripted.gateway.put("a", body: Array("{}".utf8)) }
        #expect(requests.count == 1)
    }
}
