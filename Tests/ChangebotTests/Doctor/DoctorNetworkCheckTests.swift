import DocumentFlow
import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient
@testable import HTTPTransport
@testable import changebot

/// The conclusions of network checks, without a network.
@Suite(.limitedParallelism) struct DoctorNetworkCheckTests {
    // MARK: - The clock

    /// By the gateway's clock, the answer was sent at 1000. The other times are by the local clock.
    @Test(
        arguments: [
            (999.9, 1000.2, 0, .ok), (1000.0, 1001.0, 0, .ok),
            // A slow answer explains the difference.
            (980.0, 1060.0, 0, .ok),
            (1006.0, 1006.1, 5, .ok), (1031.5, 1031.6, 30.5, .warning), (969.0, 969.1, -30.9, .warning),
            (1301.5, 1301.6, 300.5, .error), (600.0, 600.1, -399.9, .error),
        ] as [(Double, Double, Double, Finding.Level)])
    func clockDifferencesAreJudged(sent: Double, answered: Double, offset: Double, level: Finding.Level) {
        let reading = ClockReading(sent: sent, answered: answered, date: 1000)
        #expect(abs(reading.offset - offset) < 0.001)
        #expect(reading.finding.level == level)
        #expect((reading.finding.remedy == nil) == (level == .ok))
        if offset < 0 { #expect(reading.finding.text.contains("behind")) }
        if offset > 1 { #expect(reading.finding.text.contains("ahead of")) }
        #expect(reading.finding(of: "the engine").text.contains("the engine's"))
    }

    // MARK: - Certificates

    /// 2026-11-20T00:00:00Z
    private static let now = 1_795_132_800

    private static func certificate(names: String = "DNS:gw.example", from: String, until: String) -> HTTPCertificate {
        HTTPCertificate(fields: [
            "Subject:CN = gw", "Issuer:CN = our authority", "X509v3 Subject Alternative Name:\(names)",
            "Start date:\(from)", "Expire date:\(until)",
        ])
    }

    private static let good = certificate(from: "Jan  1 00:00:00 2026 GMT", until: "Jan  1 00:00:00 2028 GMT")

    private func findings(
        _ chain: [HTTPCertificate], _ problem: HTTPTransportError.TLSProblem? = nil, isInsecure: Bool = false,
        url: String = "https://gw.example:4984/todo"
    ) throws -> [Finding] {
        let check = CertificateCheck(url: try GatewayURL(url), isInsecure: isInsecure, now: Self.now)
        let error = problem.map { HTTPTransportError(.tlsFailed($0), "a message", host: "gw.example", port: 4984) }
        return check.findings(chain, refusedWith: error)
    }

    @Test func validCertificatePasses() throws {
        let found = try findings([Self.good])
        #expect(found.map(\.level) == [.ok, .ok])
        #expect(found[0].text.contains("valid for gw.example") && found[0].text.contains("our authority"))
        #expect(found[1].text.contains("2028-01-01, in 407 days"), "\(found[1])")
    }

    @Test(
        arguments: [
            ("Dec 21 00:00:00 2026 GMT", .ok, "in 31 days"), ("Dec 20 00:00:00 2026 GMT", .warning, "in 30 days"),
            ("Nov 21 00:00:00 2026 GMT", .warning, "in 1 day"), ("Nov 19 00:00:00 2026 GMT", .warning, "expired on"),
        ] as [(String, Finding.Level, String)])
    func earliestExpiryOfTheChainCounts(until: String, level: Finding.Level, part: String) throws {
        let issuer = Self.certificate(from: "Jan  1 00:00:00 2026 GMT", until: until)
        let found = try findings([Self.good, issuer])
        #expect(found.map(\.level) == [.ok, level])
        #expect(found[1].text.contains(part), "\(found[1])")
    }

    @Test func refusedCertificatesAreExplained() throws {
        let expired = Self.certificate(from: "Jan  1 00:00:00 2020 GMT", until: "Jan  1 00:00:00 2021 GMT")
        let future = Self.certificate(from: "Jan  1 00:00:00 2027 GMT", until: "Jan  1 00:00:00 2028 GMT")
        let cases: [(HTTPCertificate, HTTPTransportError.TLSProblem, String, String)] = [
            (expired, .outOfDate, "expired on 2021-01-01", "renew"),
            (future, .outOfDate, "not valid before 2027-01-01", "set this machine's clock"),
            (Self.good, .unknownAuthority, "a message", "--ca-file FILE"),
            (
                Self.certificate(
                    names: "DNS:a.example, IP Address:10.0.0.1", from: "Jan  1 00:00:00 2026 GMT",
                    until: "Jan  1 00:00:00 2028 GMT"), .wrongHost, "not for gw.example, but for a.example, 10.0.0.1",
                "gw.example"
            ),
        ]
        for (certificate, problem, text, remedy) in cases {
            let found = try findings([certificate], problem)
            let first = try #require(found.first)
            #expect(first.level == .error && first.text.contains(text), "\(first)")
            #expect(first.remedy?.contains(remedy) == true, "\(first)")
            // `--insecure` still connects.
            let insecure = try findings([certificate], problem, isInsecure: true)
            #expect(insecure.allSatisfy { $0.level != .error } && insecure[0].text.contains("--insecure"))
        }
    }

    /// Regression: OpenSSL reports only one problem, so doctor claimed that an expired chain was accepted.
    @Test func furtherProblemsOfARefusedCertificateAreListed() throws {
        let other = Self.certificate(
            names: "DNS:a.example, DNS:*.b.example", from: "Jan  1 00:00:00 2020 GMT",
            until: "Jan  1 00:00:00 2021 GMT")
        let found = try findings([other], .unknownAuthority)
        #expect(found.map(\.level) == [.error, .error, .warning], "\(found)")
        #expect(found.count == 3 && found[1].text.contains("not for gw.example, but for a.example"), "\(found)")
        #expect(found.last?.text.hasSuffix("expired on 2021-01-01") == true, "\(found)")
        for host in ["A.example", "x.b.example", "[::1]"] {
            let same = try findings([other], .unknownAuthority, url: "https://\(host):4984/todo")
            #expect(same.map(\.level) == [.error, .warning], "\(same)")
        }
        let below = try findings([other], .unknownAuthority, url: "https://y.x.b.example/todo")
        #expect(below.map(\.level) == [.error, .error, .warning], "\(below)")
        #expect(try findings([other]).last?.text.contains("still accepted") == true)
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:4984/todo", .ok), ("http://localhost/todo", .ok), ("http://gw.example/todo", .warning),
        ] as [(String, Finding.Level)])
    func plainHTTPIsReported(url: String, level: Finding.Level) throws {
        #expect(try findings([], url: url).map(\.level) == [level])
    }

    // MARK: - The server

    @Test(
        arguments: [
            (.couchDB, "3.5.0", nil, .ok, "CouchDB 3.5.0"), (.couchDB, "3.50.1", nil, .warning, "was not tested"),
            (.syncGateway, "Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE", nil, .ok, "Sync Gateway 4.1.1"),
            (.syncGateway, "Couchbase Sync Gateway/3.3.7 CE", nil, .ok, "3.3.7"),
            (.syncGateway, "Couchbase Sync Gateway/2.8.3 CE", nil, .warning, "3.3 and 4.1"),
            (.couchDB, "CouchDB/3.5.0 (Erlang OTP/25)", .couchDB, .ok, "3.5.0"),
            (.syncGateway, "Couchbase Sync Gateway/4.1.1 (changebot embedded)", nil, .ok, "embedded"),
            (.couchDB, "3.5.0", .syncGateway, .error, "--dialect"), (.couchDB, nil, nil, .unknown, "version"),
            (nil, nil, nil, .unknown, "does not say"),
        ] as [(GatewayDialect?, String?, GatewayDialect?, Finding.Level, String)])
    func serverVersionsAreChecked(
        dialect: GatewayDialect?, version: String?, given: GatewayDialect?, level: Finding.Level, part: String
    ) throws {
        let check = ServerVersionCheck(url: try GatewayURL("http://h/todo"), givenDialect: given)
        let finding = check.finding(dialect: dialect, version: version)
        #expect(finding.level == level && finding.text.contains(part), "\(finding)")
    }

    @Test func appServicesAreUntested() throws {
        let url = try GatewayURL("https://x.apps.cloud.couchbase.com:4984/todo")
        let finding = ServerVersionCheck(url: url, givenDialect: nil).finding(
            dialect: .syncGateway, version: "Couchbase Sync Gateway/4.1.1")
        #expect(finding.level == .warning)
    }

    // MARK: - Requests that wait

    private static let closed = GatewayError(.connectionLost, "h:1: the connection was closed")
    private static let gatewayTimeout = GatewayError(.unavailable, "no", status: 504)

    @Test func idleRequestEndsAreExplained() {
        func finding(_ outcome: IdleCheck.Outcome, _ following: FeedReader.FeedMode = .longpoll) -> Finding {
            IdleCheck.finding(outcome, span: .seconds(50), following)
        }
        #expect(finding(.answered(after: .seconds(50))).level == .ok)
        #expect(finding(.answered(after: .seconds(3))).level == .unknown)
        let cut = finding(.cut(after: .milliseconds(30_040), Self.closed))
        #expect(cut.level == .warning && cut.text.contains("after 30 s, by closing the connection"), "\(cut)")
        #expect(cut.remedy?.contains("proxy_read_timeout") == true && cut.remedy?.contains("continuous") == true)
        #expect(finding(.cut(after: .seconds(30), Self.closed), .continuous).level == .ok)
        let early = finding(.cut(after: .seconds(20), Self.gatewayTimeout), .continuous)
        #expect(early.level == .warning && early.text.contains("HTTP 504"))
        #expect(early.remedy?.contains("continuous") == false)
        #expect(finding(.cut(after: .seconds(2), Self.closed)).level == .error)
        #expect(finding(.cut(after: .seconds(55), Self.closed)).level == .ok)
        #expect(finding(.silent(after: .seconds(57))).level == .warning)
        #expect(finding(.busy(longest: .seconds(3))).level == .unknown)
        #expect(finding(.refused(Self.closed)).level == .unknown)
    }

    @Test func failedRequestsAreExplained() {
        func isCut(_ error: GatewayError, after waited: Duration) -> Bool {
            if case .cut = IdleCheck.outcome(of: error, after: waited) { true } else { false }
        }
        #expect(isCut(Self.closed, after: .seconds(30)))
        #expect(isCut(Self.gatewayTimeout, after: .seconds(30)))
        #expect(!isCut(Self.closed, after: .milliseconds(3)))
        #expect(!isCut(GatewayError(.badRequest, "no", status: 400), after: .seconds(30)))
        guard case .silent = IdleCheck.outcome(of: GatewayError(.timedOut, "no"), after: .seconds(57)) else {
            Issue.record("a request without an end")
            return
        }
    }

    // MARK: - The login

    private func info(_ json: String) throws -> DatabaseInfo {
        try #require(databaseInfo(json))
    }

    @Test func loginsAreChecked() throws {
        func login(_ answer: Result<DatabaseInfo, GatewayError>, _ who: String?) -> Finding {
            PermissionChecks.login(answer, as: who, advice: "set CHANGEBOT_USER")
        }
        let online = try info(#"{"db_name":"todo","state":"Online"}"#)
        #expect(login(.success(online), "user amy").text.contains("user amy"))
        #expect(login(.success(online), nil).level == .ok)
        let offline = login(.success(try info(#"{"db_name":"todo","state":"Offline"}"#)), nil)
        #expect(offline.level == .error && offline.text.contains("Offline"))
        let refused = GatewayError(.unauthorized, "http://h/todo: Invalid login; check the password", status: 401)
        let wrong = login(.failure(refused), "user amy")
        #expect(wrong == Finding(.error, "http://h/todo: Invalid login (HTTP 401)", remedy: "check the password"))
        #expect(login(.failure(refused), nil).remedy == "set CHANGEBOT_USER")
    }

    @Test func permissionsAreChecked() {
        let forbidden = GatewayError(.forbidden, "no", status: 403)
        let notOffered = GatewayError(.notOffered, "no", status: 403)
        let broken = GatewayError(.serverError, "no", status: 500)
        let bad = GatewayError(.badRequest, "no", status: 400)
        #expect(PermissionChecks.feed(.success(())).level == .ok)
        #expect(PermissionChecks.feed(.failure(forbidden)).level == .error)
        #expect(PermissionChecks.list(.success(())).level == .ok)
        #expect(PermissionChecks.list(.failure(notOffered)).level == .warning)
        #expect(PermissionChecks.list(.failure(broken)).level == .error)
        #expect(PermissionChecks.write(.success(()), to: .syncGateway).text.contains("sync function"))
        #expect(PermissionChecks.write(.success(()), to: .couchDB).text.contains("validation function"))
        #expect(PermissionChecks.write(.failure(forbidden), to: .couchDB).level == .error)
        #expect(PermissionChecks.write(.failure(bad), to: .couchDB).level == .unknown)
        #expect(PermissionChecks.write(.failure(broken), to: .couchDB).level == .error)
        #expect(PermissionChecks.local(.keptAndDeleted, named: "x").level == .ok)
        #expect(PermissionChecks.local(.left(broken), named: "x").text.contains("_local/x"))
        let refused = PermissionChecks.local(.refused(notOffered), named: "x")
        #expect(refused.level == .warning && refused.text.contains("reset"))
        #expect(PermissionChecks.local(.refused(broken), named: "x").level == .error)
    }

    @Test(
        arguments: [
            (["!", "a", "b"], nil, .ok, "2 channels: a, b"), (["*"], ["x"], .ok, "all"),
            (["!"], nil, .warning, "public"),
            ([], nil, .warning, "public"), (["!", "a"], ["a", "b"], .warning, "--channels: b"),
            (["!", "a"], ["a"], .ok, "1 channel: a"), (nil, nil, .unknown, "does not say"),
        ] as [([String]?, [String]?, Finding.Level, String)])
    func channelsAreChecked(own: [String]?, wanted: [String]?, level: Finding.Level, part: String) {
        let login = LoginInfo(user: "amy", channels: own)
        let finding = PermissionChecks.channels(.success(login), of: .syncGateway, isAdmin: false, wanted: wanted)
        #expect(finding.level == level && finding.text.contains(part), "\(finding)")
        #expect((finding.remedy == nil) == (level == .ok), "\(finding)")
    }

    @Test func channelsNeedSyncGateway() {
        let anonymous = LoginInfo(user: nil, channels: nil)
        func finding(_ dialect: GatewayDialect, isAdmin: Bool = false, wanted: [String]? = nil) -> Finding.Level {
            PermissionChecks.channels(.success(anonymous), of: dialect, isAdmin: isAdmin, wanted: wanted).level
        }
        #expect(finding(.syncGateway, isAdmin: true) == .ok)
        #expect(finding(.syncGateway) == .unknown)
        #expect(finding(.couchDB) == .skipped)
        #expect(finding(.couchDB, wanted: ["a"]) == .error)
    }
}

/// A gateway's information about its database.
private func databaseInfo(_ json: String) -> DatabaseInfo? {
    SmallJSON(Array(json.utf8)).flatMap { DatabaseInfo($0) }
}
