import Locking
import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

@Suite(.limitedParallelism) struct SessionTests {
    private static let answer = #"{"db_name":"todo","update_seq":7,"state":"Online"}"#
    private static let login = #"{"ok":true,"userCtx":{"channels":{"!":1},"name":"amy"}}"#

    private func settings(_ dialect: GatewayDialect? = nil) -> GatewaySettings {
        var settings = GatewaySettings()
        settings.credentials = .basic(user: "amy", password: "s3cret")
        settings.usesSession = true
        settings.dialect = dialect
        return settings
    }

    @Test func syncGatewayGetsPasswordOnce() async throws {
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

    /// With an expired cookie, a request is anonymous, and anonymous users may read a public database.
    @Test func couchDBSessionIsRenewedBeforeExpiry() async throws {
        let start = ContinuousClock.now
        let elapsed = Monitor<Duration>(.zero)
        let logins = EventCounter()
        var settings = settings(.couchDB)
        settings.process.now = { start + elapsed.with { $0 } }
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

    @Test func renewedCookieIsUsed() async throws {
        let scripted = try ScriptedGateway(settings: settings(.couchDB)) { connection, request in
            let value = request.target == "/_session" ? "first" : "second"
            let cookie = "Set-Cookie: AuthSession=\(value); Max-Age=600"
            if request.target == "/todo/b" { #expect(request.values(of: "cookie") == ["AuthSession=second"]) }
            try connection.answer(headers: couchDB + [cookie], body: #"{"ok":true,"name":"amy"}"#)
        }
        _ = try await scripted.gateway.document("a")
        _ = try await scripted.gateway.document("b")
    }

    /// Sync Gateway's `session_cookie_name`, with a load balancer's cookie.
    @Test func allLoginCookiesAreSentBack() async throws {
        let scripted = try ScriptedGateway(settings: settings(.syncGateway)) { connection, request in
            if request.method == "POST" {
                let cookies = [
                    "Set-Cookie: route=node1; Max-Age=1; Path=/", "Set-Cookie: TodoSession=bc10=; Path=/todo; HttpOnly",
                ]
                try connection.answer(headers: syncGateway + cookies, body: Self.login)
            } else if request.target == "/todo/a" {
                #expect(request.values(of: "cookie") == ["route=node1; TodoSession=bc10="])
                let cookies = [
                    "Set-Cookie: route=node2; Path=/", "Set-Cookie: TodoSession=; Max-Age=0", "Set-Cookie: x=y",
                ]
                try connection.answer(headers: syncGateway + cookies, body: #"{"_id":"a","_rev":"1-a"}"#)
            } else {
                #expect(request.values(of: "cookie") == ["route=node2; TodoSession=bc10="])
                try connection.answer(headers: syncGateway, body: #"{"_id":"b","_rev":"1-b"}"#)
            }
        }
        _ = try await scripted.gateway.document("a")
        _ = try await scripted.gateway.document("b")
    }

    @Test func expiredSessionIsRestartedOnce() async throws {
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
        (200, "Path=", #"{"ok":true,"name":"amy"}"#),
        (401, "AuthSession=; Max-Age=600", #"{"error":"unauthorized","reason":"Name or password is incorrect."}"#),
    ])
    func loginWithoutUsersSessionIsRefused(status: Int, cookie: String, body: String) async throws {
        let scripted = try ScriptedGateway(settings: settings(.couchDB)) { connection, request in
            #expect(request.target == "/_session")
            try connection.answer(status, headers: couchDB + ["Set-Cookie: \(cookie)"], body: body)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .unauthorized)
        #expect(error?.description.contains("s3cret") == false)
    }

    /// Regression: Sync Gateway gives the same answer for a wrong password and for an unknown database. A daemon with
    /// an outdated password waited for its database forever.
    @Test(arguments: [
        (["WWW-Authenticate: Basic"], GatewayError.Cause.wrongCredentials, "check the user name and password"),
        ([], .unknownDatabaseOrLogin, "or there is no database 'todo'"),
    ])
    func refusedLoginIsDistinguishedFromMissingDatabase(
        challenge: [String], cause: GatewayError.Cause, part: String
    ) async throws {
        let scripted = try ScriptedGateway(settings: settings(.syncGateway)) { connection, request in
            #expect(request.values(of: "authorization").isEmpty)
            let isLogin = request.method == "POST"
            let reason = isLogin ? "Invalid login" : "Login required"
            try connection.answer(
                401, headers: syncGateway + (isLogin ? [] : challenge),
                body: #"{"error":"Unauthorized","reason":"\#(reason)"}"#)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .unauthorized && error?.cause == cause && error?.status == 401)
        #expect(error?.description.contains(part) == true, "\(String(describing: error))")
    }

    @Test func sessionDoesNotPrintItsCookie() throws {
        let session = try #require(GatewaySession(["AuthSession=s3cret"], of: .bearer(token: "s3cret"), at: .now))
        var dumped = ""
        dump(session, to: &dumped)
        #expect(!"\(session) \(String(reflecting: session)) \(dumped)".contains("s3cret"))
    }
}

@Suite(.limitedParallelism) struct CredentialsSourceTests {
    private struct NoFile: Error {}

    @Test func credentialsAreReadForEachRequest() async throws {
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

    @Test func failingSourceEndsRequest() async throws {
        var settings = GatewaySettings()
        settings.credentialsSource = { throw NoFile() }
        let scripted = try ScriptedGateway(settings: settings) { _, _ in Issue.record("a request was sent") }
        let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.document("a") }
        #expect(error?.code == .unauthorized)
    }

    private static func answer(_ isRight: Bool, _ connection: TestConnection) throws {
        if isRight { return try connection.answer(headers: syncGateway, body: #"{"db_name":"todo"}"#) }
        try connection.answer(
            401, headers: syncGateway + ["WWW-Authenticate: Basic"],
            body: #"{"error":"Unauthorized","reason":"Invalid login"}"#)
    }

    /// The file is rewritten between two requests, and during one.
    @Test(arguments: [1, 2, 9])
    func sourceIsReadAgainAfter401(rightFrom: Int) async throws {
        let (asked, requests) = (EventCounter(), EventCounter())
        var settings = GatewaySettings()
        settings.credentialsSource = {
            asked.increment()
            return .bearer(token: "t\(asked.count)")
        }
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            requests.increment()
            #expect(request.values(of: "authorization") == ["Bearer t\(requests.count)"])
            try Self.answer(requests.count >= rightFrom, connection)
        }
        if rightFrom <= 2 {
            #expect(try await scripted.gateway.databaseInfo().name == "todo")
        } else {
            let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
            #expect(error?.code == .unauthorized && error?.cause == .wrongCredentials)
        }
        #expect(requests.count == min(rightFrom, 2) && asked.count == requests.count)
    }

    /// Servers count failed logins, and lock the account after too many.
    @Test(arguments: [true, false])
    func sameCredentialsAreNotRetried(hasSource: Bool) async throws {
        let requests = EventCounter()
        var settings = GatewaySettings()
        settings.credentials = .basic(user: "amy", password: "old")
        if hasSource { settings.credentialsSource = { .basic(user: "amy", password: "old") } }
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in
            requests.increment()
            try Self.answer(false, connection)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .unauthorized)
        #expect(requests.count == 1)
    }

    @Test func writeIsRepeatedCompletely() async throws {
        let asked = EventCounter()
        var settings = GatewaySettings()
        settings.credentialsSource = {
            asked.increment()
            return .basic(user: "amy", password: "p\(asked.count)")
        }
        let requests = EventCounter()
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            requests.increment()
            #expect(request.text == #"{"a":1}"#)
            guard requests.count == 2 else { return try Self.answer(false, connection) }
            try connection.answer(201, headers: syncGateway, body: #"{"rev":"1-a"}"#)
        }
        #expect(try await scripted.gateway.put("a", body: Array(#"{"a":1}"#.utf8)).text == "1-a")
    }

    /// Logins with a series of passwords: the source's value is used at the second attempt, or not at all.
    @Test(arguments: [(["old", "new"], true), (["old", "older"], false), (["old", "old", "new"], false)])
    func refusedLoginIsRetriedWithNewCredentials(passwords: [String], isRight: Bool) async throws {
        let (asked, logins) = (EventCounter(), EventCounter())
        var settings = GatewaySettings()
        settings.usesSession = true
        settings.dialect = .couchDB
        settings.credentialsSource = {
            asked.increment()
            return .basic(user: "amy", password: passwords[min(asked.count, passwords.count) - 1])
        }
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            guard request.target == "/_session" else { return try Self.answer(true, connection) }
            logins.increment()
            guard request.text.contains(#""new""#) else { return try Self.answer(false, connection) }
            let cookie = "Set-Cookie: AuthSession=x; Max-Age=600"
            try connection.answer(headers: couchDB + [cookie], body: #"{"ok":true,"name":"amy"}"#)
        }
        if isRight {
            #expect(try await scripted.gateway.databaseInfo().name == "todo")
        } else {
            let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
            #expect(error?.code == .unauthorized)
        }
        #expect(logins.count == Set(passwords.prefix(2)).count)
    }

    @Test func sessionOfOtherUserIsNotUsed() async throws {
        let user = Monitor("amy")
        var settings = GatewaySettings()
        settings.usesSession = true
        settings.dialect = .couchDB
        settings.credentialsSource = { .basic(user: user.with { $0 }, password: "p") }
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            let name = user.with { $0 }
            guard request.target == "/_session" else {
                #expect(request.values(of: "cookie") == ["AuthSession=\(name)"])
                return try Self.answer(true, connection)
            }
            let cookie = "Set-Cookie: AuthSession=\(name); Max-Age=600"
            try connection.answer(headers: couchDB + [cookie], body: #"{"ok":true,"name":"\#(name)"}"#)
        }
        for name in ["amy", "amy", "bob"] {
            user.with { $0 = name }
            _ = try await scripted.gateway.databaseInfo()
        }
    }
}

@Suite(.limitedParallelism) struct RedirectTests {
    @Test func redirectWithinServerIsFollowed() async throws {
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
    func redirectToOtherServerIsNotFollowed(place: String) async throws {
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

    /// Regression: the message contained the user info of the URL, and said "redirects to " for an empty one.
    @Test(arguments: [
        ("http://amy:s3cret@127.0.0.1:1/todo/?key=k", "http://127.0.0.1:1/todo/"),
        ("//amy:s3cret@other.example/", "//other.example/"), ("", "another address"), ("/login#x", "/login"),
        ("https://amy:s3/cret@other.example/", "another address"),
        ("https://amy:s3@cret@other.example", "https://other.example"),
        ("https:\\\\amy:s3cret@other.example/", "another address"),
    ])
    func messageOfARedirectHasNoCredentials(place: String, shown: String) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(302, headers: ["Location: \(place)"])
        }
        let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.document("a") }
        #expect(
            error?.message.hasSuffix(
                "it redirects to \(shown); redirects are not followed: write the gateway's own address") == true,
            "\(error?.message ?? "")")
    }

    @Test func writeIsNotRedirected() async throws {
        let requests = EventCounter()
        let scripted = try ScriptedGateway { connection, _ in
            requests.increment()
            try connection.answer(301, headers: ["Location: /todo/b"])
        }
        await #expect(throws: GatewayError.self) { try await scripted.gateway.put("a", body: Array("{}".utf8)) }
        #expect(requests.count == 1)
    }
}
