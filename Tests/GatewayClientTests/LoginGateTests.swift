import Locking
import TestKit
import Testing

@testable import GatewayClient

/// Regression: CouchDB locks an account after five refused logins in five minutes. A bot with an outdated password
/// locked its own account.
@Suite(.limitedParallelism) struct LoginGateTests {
    private static let key = LoginGate.Key(
        server: "http://a:5984", credentials: .basic(user: "amy", password: "old"))
    private static let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { Self.start + .seconds(seconds) }

    private func attempt(_ key: LoginGate.Key = key) -> LoginGate.Attempt { LoginGate.Attempt(key) }

    @Test func refusedPasswordIsSentOnceMoreThenBlockedForFiveMinutes() {
        let gate = LoginGate()
        var sent: [Int] = []
        for second in 0..<400 {
            let attempt = attempt()
            guard gate.admit(attempt, at: at(Double(second))) == .probe else { continue }
            gate.noteRefused(attempt, at: at(Double(second)))
            sent.append(second)
        }
        #expect(sent == [0, 10, 300, 310])
    }

    @Test func secondAttemptIsAnnounced() {
        let gate = LoginGate()
        gate.noteRefused(attempt(), at: at(0))
        #expect(gate.admit(attempt(), at: at(2)) == .hold(nextAttempt: .seconds(8)))
        let second = attempt()
        #expect(gate.admit(second, at: at(10)) == .probe)
        // It is in progress.
        #expect(gate.admit(attempt(), at: at(10)) == .hold(nextAttempt: .seconds(1)))
        gate.noteRefused(second, at: at(10.5))
        #expect(gate.admit(attempt(), at: at(100)) == .hold(nextAttempt: nil))
    }

    @Test func otherPasswordsUsersAndServersAreNotAffected() {
        let gate = LoginGate()
        for _ in 0..<2 { gate.noteRefused(attempt(), at: at(0)) }
        for other in [
            LoginGate.Key(server: "http://a:5984", credentials: .basic(user: "amy", password: "new")),
            LoginGate.Key(server: "http://a:5984", credentials: .basic(user: "bob", password: "old")),
            LoginGate.Key(server: "http://b:5984", credentials: .basic(user: "amy", password: "old")),
        ] {
            #expect(gate.admit(attempt(other), at: at(1)) == .probe)
        }
    }

    @Test func acceptedRequestClearsEarlierRefusals() {
        let gate = LoginGate()
        gate.noteRefused(attempt(), at: at(0))
        // A late answer: the request was sent before the password was changed.
        gate.noteAccepted(attempt(), sent: at(-30), proof: at(1))
        #expect(gate.admit(attempt(), at: at(1)) == .hold(nextAttempt: .seconds(9)))
        gate.noteAccepted(attempt(), sent: at(10), proof: at(10.5))
        #expect(gate.admit(attempt(), at: at(11)) == .go)
        #expect(gate.admit(attempt(), at: at(11)) == .go)
    }

    /// The feed, the writers and the mark send requests at the same moment.
    @Test func requestsWaitForFirstAfterPause() {
        let gate = LoginGate()
        let first = attempt()
        #expect(gate.admit(first, at: at(0)) == .probe)
        #expect(gate.admit(attempt(), at: at(0.1)) == .wait)
        gate.noteAccepted(first, sent: at(0), proof: at(0.2))
        for _ in 0..<3 { #expect(gate.admit(attempt(), at: at(1)) == .go) }
        let large = attempt()
        #expect(gate.admit(large, at: at(60)) == .probe)
        #expect(gate.admit(attempt(), at: at(60)) == .wait)
        // A large upload is answered much later.
        let second = attempt()
        #expect(gate.admit(second, at: at(63)) == .probe)
        #expect(gate.admit(attempt(), at: at(66)) == .wait)
        gate.noteUnanswered(second)
        #expect(gate.admit(attempt(), at: at(66)) == .probe)
        #expect(gate.admit(attempt(), at: at(77)) == .probe)
    }

    /// Regression: one change woke the longpolls of all bots; the answer to each one let the next request leave.
    @Test func answersToOtherRequestsDoNotEndTest() {
        let gate = LoginGate()
        #expect(gate.admit(attempt(), at: at(60)) == .probe)
        gate.noteAccepted(attempt(), sent: at(10), proof: at(10))
        #expect(gate.admit(attempt(), at: at(60)) == .wait)
        gate.noteUnanswered(attempt())
        #expect(gate.admit(attempt(), at: at(60)) == .wait)
    }

    // MARK: - Over the wire

    private static let refusal = #"{"error":"unauthorized","reason":"Name or password is incorrect."}"#

    private func settings(_ elapsed: Monitor<Duration>, _ password: Monitor<String>? = nil) -> GatewaySettings {
        var settings = GatewaySettings()
        settings.process.loginGate = LoginGate()
        settings.dialect = .couchDB
        settings.credentials = .basic(user: "amy", password: "old")
        if let password { settings.credentialsSource = { .basic(user: "amy", password: password.with { $0 }) } }
        settings.process.now = { Self.start + elapsed.with { $0 } }
        return settings
    }

    @Test(arguments: [false, true])
    func wholeProcessSendsRefusedPasswordTwice(usesSession: Bool) async throws {
        let elapsed = Monitor<Duration>(.zero)
        let logins = EventCounter()
        var settings = settings(elapsed)
        settings.usesSession = usesSession
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in
            logins.increment()
            try connection.answer(401, headers: couchDB, body: Self.refusal)
        }
        // Another gateway object, as used by another bot in this process.
        let other = Gateway(scripted.gateway.url, settings: settings)
        var held = 0
        for second in 0..<60 {
            elapsed.with { $0 = .seconds(second) }
            for gateway in [scripted.gateway, other] {
                let error = await #expect(throws: GatewayError.self) { _ = try await gateway.document("a") }
                #expect(error?.code == .unauthorized)
                #expect(error?.cause == .wrongCredentials)
                #expect(error?.description.contains("old") == false)
                if error?.isHeldBack == true { held += 1 }
            }
        }
        #expect(logins.count == 2)
        #expect(held == 118)
        await other.shutdown()
    }

    /// Regression: five bots of one process woke up together and locked the account. With sessions, all cookies end with
    /// the password.
    @Test(arguments: [false, true])
    func botsThatWakeTogetherSendRefusedPasswordTwice(usesSession: Bool) async throws {
        let elapsed = Monitor<Duration>(.zero)
        var settings = settings(elapsed)
        settings.usesSession = usesSession
        let isChanged = Monitor(false)
        let refused = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { request in
                guard isChanged.with({ $0 }) else {
                    let cookie = "Set-Cookie: AuthSession=abc; Path=/; Max-Age=600"
                    return try connection.answer(headers: couchDB + [cookie], body: #"{"ok":true,"name":"amy"}"#)
                }
                if request.values(of: "cookie").isEmpty { refused.increment() }
                try connection.answer(401, headers: couchDB, body: Self.refusal)
            }
        }
        defer { server.stop() }
        let url = try GatewayURL(server.url("/todo"))
        let bots = (0..<5).map { _ in Gateway(url, settings: settings) }
        for bot in bots { _ = try await bot.loginInfo() }
        isChanged.with { $0 = true }
        for (second, count) in [(8, 1), (9, 1), (19, 2), (40, 2)] {
            elapsed.with { $0 = .seconds(second) }
            await withTaskGroup(of: Void.self) { group in
                for bot in bots {
                    group.addTask {
                        let feed = ChangesRequest.Feed.longpoll(timeout: .seconds(50))
                        _ = try? await bot.changes(ChangesRequest(feed: feed))
                    }
                    group.addTask { _ = try? await bot.document("a") }
                }
            }
            #expect(refused.count == count, "after \(second) s")
        }
        for bot in bots { await bot.shutdown() }
    }

    /// A longpoll is answered with the next change: a write must not wait for it.
    @Test func smallRequestTestsPasswordBeforeLongpoll() async throws {
        let targets = Monitor<[String]>([])
        let elapsed = Monitor<Duration>(.zero)
        let scripted = try ScriptedGateway(settings: settings(elapsed)) { connection, request in
            targets.with { $0.append(String(request.target.prefix { $0 != "?" })) }
            try connection.answer(headers: couchDB, body: #"{"results":[],"last_seq":"1-a"}"#)
        }
        let feed = ChangesRequest(feed: .longpoll(timeout: .seconds(50)))
        for second in [0, 0.5, 30] {
            elapsed.with { $0 = .seconds(second) }
            _ = try await scripted.gateway.changes(feed)
        }
        #expect(
            targets.with { $0 } == ["/todo/", "/todo/_changes", "/todo/_changes", "/todo/", "/todo/_changes"])
    }

    /// The gateway of many databases has no database of its own: its name is a placeholder.
    @Test func smallRequestAsksTheServerBeforeItAnnounces() async throws {
        let targets = Monitor<[String]>([])
        let scripted = try ScriptedGateway(settings: settings(Monitor(.zero))) { connection, request in
            targets.with { $0.append(String(request.target.prefix { $0 != "?" })) }
            try connection.answer(headers: couchDB, body: #"{"results":[],"last_seq":"1-a"}"#)
        }
        _ = try await scripted.gateway.databaseUpdates(since: SequenceID("1-a"))
        #expect(targets.with { $0 } == ["/", "/_db_updates"])
    }

    /// The clock stands still: a request that waits for the longpoll would wait forever.
    @Test func writeDoesNotWaitForLongpollIfItsTestIsForbidden() async throws {
        let (isPolled, isWritten) = (EventCounter(), EventCounter())
        let scripted = try ScriptedGateway(settings: settings(Monitor(.zero))) { connection, request in
            if request.target.hasPrefix("/todo/_changes") {
                isPolled.increment()
                isWritten.block(until: 1)
                return try connection.answer(headers: couchDB, body: #"{"results":[],"last_seq":"1-a"}"#)
            }
            guard request.method == "PUT" else {
                return try connection.answer(403, headers: couchDB, body: #"{"error":"forbidden","reason":"proxy"}"#)
            }
            isWritten.increment()
            try connection.answer(201, headers: couchDB, body: #"{"ok":true,"id":"a","rev":"1-a"}"#)
        }
        async let feed = scripted.gateway.changes(ChangesRequest(feed: .longpoll(timeout: .seconds(50))))
        await isPolled.wait(for: 1)
        try await scripted.gateway.put("a", body: Array("{}".utf8))
        _ = try await feed
    }

    @Test func changedPasswordIsSentImmediately() async throws {
        let elapsed = Monitor<Duration>(.zero)
        let password = Monitor("old")
        let logins = EventCounter()
        let scripted = try ScriptedGateway(settings: settings(elapsed, password)) { connection, request in
            logins.increment()
            if request.values(of: "authorization") == ["Basic YW15Om5ldw=="] {
                try connection.answer(headers: couchDB, body: #"{"_id":"a","_rev":"1-a"}"#)
            } else {
                try connection.answer(401, headers: couchDB, body: Self.refusal)
            }
        }
        for _ in 0..<5 { _ = try? await scripted.gateway.document("a") }
        #expect(logins.count == 1)
        password.with { $0 = "new" }
        _ = try await scripted.gateway.document("a")
        #expect(logins.count == 2)
    }

    /// The password is right, but this user may not read that database.
    @Test func databaseRefusalIsNotPasswordRefusal() async throws {
        let logins = EventCounter()
        let scripted = try ScriptedGateway(settings: settings(Monitor(.zero))) { connection, _ in
            logins.increment()
            let body = #"{"error":"unauthorized","reason":"You are not authorized to access this db."}"#
            try connection.answer(401, headers: couchDB, body: body)
        }
        for _ in 0..<5 { _ = try? await scripted.gateway.document("a") }
        #expect(logins.count == 5)
    }

    /// Recorded from CouchDB 3.5.0: even the right password gets this answer. Regression: the bot exited with 77.
    @Test func lockedAccountIsOutage() async throws {
        let scripted = try ScriptedGateway(settings: settings(Monitor(.zero))) { connection, _ in
            let reason = "Account is temporarily locked due to multiple authentication failures"
            try connection.answer(403, headers: couchDB, body: #"{"error":"forbidden","reason":"\#(reason)"}"#)
        }
        for _ in 0..<3 {
            let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.databaseInfo() }
            #expect(error?.code == .unavailable)
            #expect(error?.cause == .accountLocked)
            #expect(error?.isRetryable == true)
            #expect(error?.description.contains("wrong password") == true)
        }
    }
}
