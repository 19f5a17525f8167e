import Foundation
import GRDB
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import Bots
@testable import changebot

/// `changebot doctor` as a user runs it.
@Suite(.limitedParallelism) struct DoctorCommandTests {
    /// Its findings by check.
    private struct Report {
        let result: Program.Result
        private let findings: [JSONText]

        init(_ result: Program.Result) throws {
            self.result = result
            findings = try result.output.split(separator: "\n").map { try JSONText(String($0)) }
        }

        /// The levels of a check's findings.
        func levels(_ check: DoctorCheck, bot: String? = nil) -> [String] {
            all(check, bot).compactMap { $0["level"]?.string }
        }

        /// The texts and remedies of a check's findings.
        func text(_ check: DoctorCheck, bot: String? = nil) -> String {
            all(check, bot).flatMap { [$0["text"]?.string, $0["remedy"]?.string] }.compactMap(\.self)
                .joined(separator: "\n")
        }

        private func all(_ check: DoctorCheck, _ bot: String?) -> [JSONValue] {
            findings.map(\.root).filter {
                $0["check"]?.string == check.rawValue && (bot == nil || $0["bot"]?.string == bot)
            }
        }
    }

    private func report(
        _ url: String, _ more: [String] = [], environment: [String: String] = [:], state: String? = nil
    ) async throws -> Report {
        let state = state ?? NSTemporaryDirectory() + "no-state-\(UUID().uuidString)"
        return
            try Report(
                await Program.run(
                    ["doctor", "--json", "--gateway", url, "--state", state]
                        + (more.contains("--idle") ? [] : ["--no-wait"]) + more, environment: environment))
    }

    @Test func healthySetupPasses() async throws {
        try await CommandTestBed.with(
            [#"{"_id":"a","type":"task"}"#],
            rules:
                "  - { name: r, when: { type: task, done: { $exists: false } }, then: [{ merge: { done: true } }] }\n"
        ) { bed in
            let before = try await bed.document("a")
            let found = try await report(
                bed.url, ["--rules", bed.folder + "/r.yaml", "--idle", "1s"], state: bed.state)
            #expect(found.result.code == 0, "\(found.result.output)\(found.result.errors)")
            let skippedChecks: [DoctorCheck] = [
                .databases, .pictures, .files, .channels, .keyspaces, .indexes, .engine,
            ]
            for check in DoctorCheck.allCases where !skippedChecks.contains(check) {
                #expect(found.levels(check) == ["ok"], "\(check): \(found.text(check))")
            }
            #expect(found.levels(.pictures) == ["skipped"] && found.levels(.files) == ["skipped"])
            #expect(found.levels(.indexes) == ["skipped"] && found.levels(.keyspaces) == ["skipped"])
            #expect(found.text(.gateway).contains("embedded") && found.text(.rules).contains("1 rule"))
            #expect(found.text(.idle).contains("nothing cut a request"))
            // Nothing was created: no state, no document, no new revision.
            #expect(!FileManager.default.fileExists(atPath: bed.state))
            #expect(try await bed.document("a")?.bytes == before?.bytes)
        }
    }

    /// A terminal gets lines in order, with the remedy below.
    @Test func findingsAreReadableLines() async throws {
        try await Program.withDirectory { folder in
            let result = try await Program.run([
                "doctor", "--gateway", "http://127.0.0.1:1/todo", "--state", folder + "/s", "--no-wait",
            ])
            let lines = result.output.split(separator: "\n").map(String.init)
            #expect(result.code == 1, "\(result.errors)")
            #expect(lines.first?.hasPrefix("ok       libraries") == true, "\(lines)")
            let place = try #require(lines.firstIndex { $0.hasPrefix("error    reachability") })
            #expect(lines[place].contains("Connection refused"))
            #expect(lines[place + 1].hasPrefix("                       → check that the gateway is running"))
            #expect(lines.contains { $0.hasPrefix("skipped  login") } && lines.last?.contains("idle") == true)
            #expect(result.errors.contains("1 error, no warnings"), "\(result.errors)")
        }
    }

    /// cron mails all output.
    @Test func quietPrintsOnlyWarningsAndErrors() async throws {
        try await Program.withGateway { url in
            try await Program.withDirectory { folder in
                let common = ["doctor", "--state", folder + "/s", "--no-wait", "--quiet", "--gateway"]
                let healthy = try await Program.run(common + [url])
                #expect(
                    healthy.code == 0 && healthy.output.isEmpty && healthy.errors.isEmpty,
                    "\(healthy.output)\(healthy.errors)")
                let unreachable = try await Program.run(common + ["http://127.0.0.1:1/todo"])
                let lines = unreachable.output.split(separator: "\n").map(String.init)
                #expect(unreachable.code == 1 && unreachable.errors.isEmpty, "\(unreachable.errors)")
                #expect(lines.count == 2, "\(lines)")
                #expect(lines.first?.hasPrefix("error    reachability") == true, "\(lines)")
                let path = try writeConfiguration(
                    [
                        #"{ name: a, gateway: "\#(url)", rules: "\#(Program.pictureRules)" }"#,
                        #"{ name: b, gateway: "http://127.0.0.1:1/todo", rules: "\#(Program.pictureRules)" }"#,
                    ], folder)
                let several = try await Program.run(["doctor", "--no-wait", "--quiet", "--config", path])
                #expect(several.output.hasPrefix("\nbot b\nerror    reachability"), "\(several.output)")
                #expect(!several.output.contains("bot a\n"), "\(several.output)")
            }
        }
    }

    @Test func unknownHostIsReported() async throws {
        let found = try await report("http://nonexistent.invalid/todo")
        #expect(found.result.code == 1 && found.levels(.reachability) == ["error"])
        #expect(found.text(.reachability).contains("check its name"), "\(found.text(.reachability))")
        #expect(found.levels(.login) == ["skipped"] && found.levels(.state) == ["ok"])
    }

    // MARK: - The login

    @Test func wrongPasswordIsReported() async throws {
        let users = SecretTestBed.users(password: "right")
        try await Program.withGateway(users: users) { url in
            let login = ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "wr0ngAndSecret"]
            let found = try await report(url, environment: login)
            #expect(found.result.code == 1 && found.levels(.login) == ["error"])
            #expect(found.text(.login).contains("password"), "\(found.text(.login))")
            #expect(found.levels(.gateway) == ["ok"])
            for check in DoctorCheck.afterLogin { #expect(found.levels(check) == ["skipped"]) }
            #expect(!(found.result.output + found.result.errors).contains("wr0ngAndSecret"))
            let without = try await report(url)
            #expect(without.levels(.login) == ["error"])
            #expect(without.text(.login).contains("set CHANGEBOT_USER and CHANGEBOT_PASSWORD"))
            let right = try await report(
                url, environment: ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "right"])
            #expect(right.result.code == 0 && right.text(.login).contains("user amy"))
        }
    }

    @Test func unknownDatabaseIsReported() async throws {
        try await Program.withGateway { url in
            let found = try await report(url.replacing("/todo", with: "/nothere"))
            #expect(found.result.code == 1 && found.levels(.login) == ["error"])
            #expect(found.text(.login).contains("nothere"), "\(found.text(.login))")
        }
    }

    @Test func unknownCollectionIsReported() async throws {
        try await Program.withGateway { url in
            let found = try await report(url + "._default.none")
            #expect(found.result.code == 1 && found.levels(.login) == ["ok"] && found.levels(.feed) == ["error"])
            #expect(found.text(.feed).contains("_default.none"), "\(found.text(.feed))")
            #expect(found.levels(.write) == ["skipped"], "\(found.result.output)")
        }
    }

    @Test func otherServerIsReported() async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in
                try connection.answer(headers: ["Content-Type: text/html"], body: "<html>Welcome</html>")
            }
        }
        let found = try await report(server.url("/todo"))
        #expect(found.result.code == 1 && found.levels(.gateway) == ["error"])
        #expect(found.text(.gateway).contains("HTML") && found.levels(.login) == ["skipped"])
        #expect(found.levels(.clock) == ["unknown"])
    }

    @Test(arguments: [("_local/", DoctorCheck.local, "warning"), ("_all_docs", .list, "warning")])
    func optionalPermissionsMayBeMissing(path: String, check: DoctorCheck, level: String) async throws {
        let server = try FakeGateway(refused: path).start()
        let found = try await report(server.url("/todo"))
        #expect(found.result.code == 0 && found.levels(check) == [level], "\(found.result.output)")
        #expect(found.text(check).contains("a proxy forbids it"), "\(found.text(check))")
        #expect(found.text(.channels).contains("groceries"))
    }

    @Test(arguments: [("_changes", DoctorCheck.feed), ("_bulk_docs", .write)])
    func requiredPermissionsAreChecked(path: String, check: DoctorCheck) async throws {
        let server = try FakeGateway(refused: path).start()
        let found = try await report(server.url("/todo"))
        #expect(found.result.code == 1 && found.levels(check) == ["error"], "\(found.result.output)")
    }

    // MARK: - On the way

    @Test func proxyThatCutsConnectionsIsReported() async throws {
        let server = try FakeGateway(cutsAfter: .seconds(2)).start()
        let found = try await report(server.url("/todo"), ["--idle", "10s"])
        #expect(found.result.code == 1 && found.levels(.idle) == ["error"])
        #expect(found.text(.idle).contains(/after [2-4] s, by closing/), "\(found.text(.idle))")
        #expect(found.result.errors.contains("waiting 10s"), "\(found.result.errors)")
    }

    @Test(
        arguments: [(-40, "warning", "ahead of"), (60, "warning", "behind"), (400, "error", "behind")]
            as [(Int, String, String)])
    func wrongClockIsReported(seconds: Int, level: String, part: String) async throws {
        let date = HTTPDateText.of(secondsFromNow: seconds)
        let server = try FakeGateway(date: date).start()
        let found = try await report(server.url("/todo"))
        #expect(found.levels(.clock) == [level] && found.text(.clock).contains(part), "\(found.text(.clock))")
        #expect(found.result.code == (level == "error" ? 1 : 0))
    }

    @Test(.enabled(if: TestCertificate.openSSL != nil, "needs the openssl command"))
    func invalidCertificatesAreReported() async throws {
        let cases: [(TestCertificate, trusts: Bool, part: String)] = [
            (try TestCertificate(for: "IP:127.0.0.1"), false, "--ca-file FILE"),
            (try TestCertificate(for: "DNS:elsewhere.example"), true, "elsewhere.example"),
            (try TestCertificate(for: "IP:127.0.0.1", isExpired: true), true, "2021-01-01"),
        ]
        for (certificate, trusts, part) in cases {
            let server = try SecureTestServer(certificate)
            let url = "https://127.0.0.1:\(server.port)/todo"
            let found = try await report(url, trusts ? ["--ca-file", certificate.file] : [])
            #expect(found.result.code == 1 && found.levels(.tls).first == "error", "\(found.text(.tls))")
            #expect(found.text(.tls).contains(part), "\(found.text(.tls))")
            #expect(found.levels(.reachability) == ["ok"] && found.levels(.login) == ["skipped"])
            // By then it is connected, but not to a gateway.
            let insecure = try await report(url, ["--insecure"])
            #expect(insecure.levels(.tls).contains("warning") && insecure.levels(.gateway) == ["error"])
        }
    }

    @Test(.enabled(if: TestCertificate.openSSL != nil, "needs the openssl command"))
    func wrongSchemeIsReported() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let server = try SecureTestServer(certificate)
        let found = try await report(
            "https://127.0.0.1:\(server.port)/todo", ["--ca-file", certificate.file])
        #expect(found.levels(.tls) == ["ok", "ok"] && found.text(.tls).contains("2090-01-01"), "\(found.text(.tls))")
        let plain = try await report("http://127.0.0.1:\(server.port)/todo")
        #expect(plain.result.code == 1)
        #expect(plain.text(.reachability).contains("write https://"), "\(plain.result.output)")
    }

    // MARK: - This machine

    @Test func fileInPlaceOfTheStateFolderIsReported() async throws {
        try await Program.withDirectory { folder in
            let path = folder + "/state"
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
            for state in [path, path + "/below", "/proc/none"] {
                let found = try await report("http://127.0.0.1:1/todo", state: state)
                #expect(found.result.code == 1 && found.levels(.state) == ["error"], "\(found.text(.state))")
                #expect(found.text(.state).contains("--state"), "\(found.text(.state))")
            }
        }
    }

    @Test func stateOfANewerProgramIsReported() async throws {
        try await CommandTestBed.with(rules: "  - { name: r, when: { type: t }, then: [] }\n") { bed in
            try await bed.runOnce()
            let file = try DatabaseQueue(path: bed.state + "/changebot.sqlite")
            try await file.write { try $0.execute(sql: "UPDATE identity SET value = '99' WHERE name = 'version'") }
            try file.close()
            let found = try await report(bed.url, state: bed.state)
            #expect(found.result.code == 1 && found.levels(.state) == ["error"])
            #expect(found.text(.state).contains("newer changebot"), "\(found.text(.state))")
            let run = try await bed.runOnce()
            #expect(run.code == 78 && run.errors.contains("newer changebot"), "\(run.errors)")
        }
    }

    @Test func doctorWorksDuringARun() async throws {
        try await CommandTestBed.with(
            rules:
                "  - { name: r, when: { type: task, done: { $exists: false } }, then: [{ merge: { done: true } }] }\n"
        ) { bed in
            let bot = try bed.startDaemon()
            try await bed.put([#"{"_id":"a","type":"task"}"#])
            try await bed.wait(for: "a") { $0["done"] != nil }
            let found = try await report(bed.url, state: bed.state)
            #expect(found.result.code == 0, "\(found.result.output)")
            #expect(found.text(.state).contains("in use by pid \(bot.id)"), "\(found.text(.state))")
            try await bed.put([#"{"_id":"b","type":"task"}"#])
            try await bed.wait(for: "b") { $0["done"] != nil }
            bot.signal(SIGTERM)
            #expect(await bot.wait() == 0)
        }
    }

    @Test func unreadableRulesAndSecretsAreReported() async throws {
        try await Program.withDirectory { folder in
            let found = try await report(
                "http://127.0.0.1:1/todo", ["--rules", folder + "/none.yaml"],
                environment: ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD_FILE": folder + "/none"])
            #expect(found.result.code == 1)
            #expect(found.levels(.rules) == ["error"] && found.levels(.settings) == ["error"])
            #expect(found.text(.settings).contains(folder + "/none") && found.levels(.reachability) == ["skipped"])
            #expect(found.text(.settings).contains("\ncorrect the path or its permissions"), "\(found.text(.settings))")
            let secret = folder + "/secret"
            try Data("hunter22\n".utf8).write(to: URL(fileURLWithPath: secret))
            chmod(secret, 0o644)
            let exposed = try await report(
                "http://127.0.0.1:1/todo",
                environment: ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD_FILE": secret])
            #expect(exposed.levels(.settings) == ["warning", "ok"] && exposed.text(.settings).contains("chmod 600"))
        }
    }

    // MARK: - Settings

    /// - Returns: The path of a configuration file with these bots.
    private func writeConfiguration(_ bots: [String], _ folder: String) throws -> String {
        let path = folder + "/changebot.yaml"
        let text = "version: 1\nstate: s\nbots:\n" + bots.map { "  - \($0)\n" }.joined()
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func eachBotOfAFileIsChecked() async throws {
        try await Program.withGateway { url in
            try await Program.withDirectory { folder in
                let path = try writeConfiguration(
                    [
                        #"{ name: a, gateway: "\#(url)", rules: "\#(Program.pictureRules)" }"#,
                        #"{ name: b, gateway: "http://127.0.0.1:1/todo", rules: none.yaml }"#,
                        #"{ name: c, rules: "\#(Program.pictureRules)" }"#,
                        #"{ name: d, gateway: "embedded:d.sqlite", rules: "\#(Program.pictureRules)" }"#,
                    ], folder)
                let found = try Report(
                    await Program.run(["doctor", "--json", "--no-wait", "--config", path]))
                #expect(found.result.code == 1, "\(found.result.errors)")
                #expect(found.levels(.login, bot: "a") == ["ok"] && found.levels(.pictures, bot: "a") == ["ok"])
                #expect(found.levels(.reachability, bot: "b") == ["error"])
                #expect(found.levels(.rules, bot: "b") == ["error"])
                #expect(found.text(.settings, bot: "c").contains("changebot.yaml:6"), "\(found.result.output)")
                #expect(found.levels(.gateway, bot: "d") == ["ok"] && found.levels(.login, bot: "d") == ["skipped"])
                #expect(!FileManager.default.fileExists(atPath: folder + "/d.sqlite"))
                let one = try Report(
                    await Program.run(["doctor", "--json", "--no-wait", "--config", path, "--bot", "a"]))
                #expect(one.result.code == 0 && one.levels(.login, bot: "b").isEmpty, "\(one.result.output)")
                let wrong = try await Program.run([
                    "doctor", "--no-wait", "--config", path, "--gateway", "http://127.0.0.1:1/todo",
                ])
                #expect(wrong.code == 64 && wrong.errors.contains("--gateway"), "\(wrong.errors)")
            }
        }
    }

    @Test(
        arguments: [
            ([], 64, "no gateway given"), (["--gateway", "http://h"], 64, "keyspace"),
            (["--gateway", "http://127.0.0.1:1/todo", "--idle", "5s", "--no-wait"], 64, "--no-wait"),
            (["--gateway", "http://127.0.0.1:1/todo", "--idle", "5"], 64, "30s or 5m"),
            (["--config", "/no/such/file"], 66, "/no/such/file"),
        ] as [([String], Int32, String)])
    func wrongUseIsRefused(arguments: [String], code: Int32, part: String) async throws {
        let result = try await Program.run(["doctor"] + arguments)
        #expect(result.code == code && result.errors.contains(part), "\(result.errors)")
        #expect(result.output.isEmpty)
    }
}

/// A date as a server writes it.
private enum HTTPDateText {
    static func of(secondsFromNow seconds: Int) -> String {
        var moment = time(nil) + seconds
        var parts = tm()
        gmtime_r(&moment, &parts)
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
