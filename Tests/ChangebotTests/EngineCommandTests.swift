import Foundation
import GatewayClient
import LosslessJSON
import PostgreSQL
import TestKit
import Testing

/// Commands that use the engine of a fleet.
@Suite(.limitedParallelism) struct EngineCommandTests {
    private static let rule =
        "  - { name: r, when: { type: task, done: { $exists: false } }, then: [{ merge: { done: true } }] }\n"

    private static func administer(_ server: TestPostgres, _ script: String) async throws {
        let queue = PostgresQueue(try PostgresAddress(server.url()))
        defer { queue.close() }
        try await queue.perform { try $0.script(script) }
    }

    /// The finding about the engine.
    private static func doctor(
        _ engine: String, _ more: [String] = [], user: String? = nil
    ) async throws -> (findings: [JSONText], code: Int32) {
        let folder = NSTemporaryDirectory() + "no-state-\(UUID().uuidString)"
        let result = try await Program.run(
            ["doctor", "--json", "--no-wait", "--gateway", "http://127.0.0.1:9/todo", "--state", folder]
                + ["--engine", engine] + more,
            environment: user.map { ["CHANGEBOT_ENGINE_USER": $0] } ?? [:])
        let findings = try result.output.split(separator: "\n").map { try JSONText(String($0)) }
            .filter { $0.root["check"]?.string == "engine" }
        return (findings, result.code)
    }

    private static func expect(
        _ finding: JSONText?, _ level: String, _ text: String, remedy: String? = nil,
        location: SourceLocation = #_sourceLocation
    ) {
        #expect(finding?.root["level"]?.string == level, sourceLocation: location)
        #expect(
            finding?.root["text"]?.string?.contains(text) == true, "\(finding.map { "\($0)" } ?? "none")",
            sourceLocation: location)
        if let remedy {
            #expect(finding?.root["remedy"]?.string?.contains(remedy) == true, sourceLocation: location)
        }
    }

    // MARK: - doctor

    @Test func doctorInspectsAnEngine() async throws {
        let server = try TestPostgres.shared
        let name = server.uniqueName("doctor")
        let before = try await Self.doctor(server.url(), ["--fleet", name])
        #expect(before.findings.count == 1)
        Self.expect(before.findings.first, "ok", "it does not exist yet")
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: Self.rule) { bed in
            let run = try await Program.run(
                ["run", "--once", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state]
                    + ["--engine", server.url(), "--fleet", name])
            #expect(run.code == 0)
        }
        let after = try await Self.doctor(server.url(), ["--fleet", name])
        Self.expect(after.findings.first, "ok", "no member is active")
    }

    /// Regression: only the run noticed it, and was refused.
    @Test func doctorReportsAnotherNumberOfPartitions() async throws {
        let server = try TestPostgres.shared
        let fleet = ["--fleet", server.uniqueName("partitions")]
        let engine = ["--engine", server.url()] + fleet
        let shares = ["--role", "auto", "--partitions"]
        try await CommandTestBed.with(rules: Self.rule) { bed in
            let run = ["--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state] + engine
            let member = try await WatchedBot.start(run + shares + ["8"])
            while try await Self.doctor(server.url(), fleet + shares + ["8"]).findings.first?.root["text"]?.string?
                .contains("1 member sharing the work") != true
            {}
            let other = try await Self.doctor(server.url(), fleet + shares + ["4"])
            Self.expect(
                other.findings.first, "error", "has 8 partitions, which can't be changed to 4",
                remedy: "use --partitions 8, or another --fleet")
            #expect(other.code == 1)
            // The same message as that of the run.
            let refused = try await Program.run(["run"] + run + shares + ["4"])
            #expect(refused.code == 78)
            #expect(refused.errors.contains("has 8 partitions, which can't be changed to 4: use --partitions 8"))
            #expect(await member.process.stop() == 0)
        }
        let alone = try await Self.doctor(server.url(), fleet + ["--partitions", "4"])
        #expect(alone.code == 64 && alone.findings.isEmpty)
    }

    @Test(arguments: ["auto", "reader", "worker"]) func sharingNeedsAnEngine(_ role: String) async throws {
        try await Program.withDirectory { folder in
            let run = ["run", "--gateway", "http://127.0.0.1:1/todo", "--rules", Program.pictureRules]
            let byOption = try await Program.run(run + ["--role", role])
            #expect(byOption.code == 64)
            #expect(
                byOption.errors.contains(
                    "--role requires an engine: add --engine postgres://…, or remove it"),
                "\(byOption.errors)")
            let file = folder + "/changebot.yaml"
            try Data("version: 1\nrole: \(role)\n".utf8).write(to: URL(fileURLWithPath: file))
            let byFile = try await Program.run(run + ["--config", file])
            #expect(byFile.code == 78)
            #expect(byFile.errors.contains("'role' requires an engine"), "\(byFile.errors)")
        }
    }

    @Test func doctorReportsARefusedLogin() async throws {
        let found = try await Self.doctor(try TestPostgres.shared.url(), user: "nobody-here")
        Self.expect(found.findings.first, "error", "nobody-here", remedy: "check the user")
        #expect(found.code == 1)
    }

    @Test func doctorReportsAMissingPrivilege() async throws {
        let server = try TestPostgres.shared
        let user = server.uniqueName("doctor_poor")
        try await Self.administer(server, "CREATE ROLE \(user) LOGIN")
        let found = try await Self.doctor(server.url(), ["--fleet", server.uniqueName("poor")], user: user)
        Self.expect(
            found.findings.first, "error", "may not create the schema",
            remedy: "GRANT CREATE ON DATABASE \"postgres\" TO")
    }

    /// The user who created the tables may keep the right to create more.
    @Test(arguments: [[], ["--role", "auto", "--partitions", "4"]])
    func userWhoMayOnlyUseTheTablesCanWork(role: [String]) async throws {
        let server = try TestPostgres.shared
        let (fleet, user) = (server.uniqueName("granted"), server.uniqueName("granted_user"))
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: Self.rule) { bed in
            let run = ["--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state, "--fleet", fleet]
            #expect(try await Program.run(["run", "--once"] + run + ["--engine", server.url()]).code == 0)
            try await Self.administer(
                server,
                """
                CREATE ROLE \(user) LOGIN; GRANT USAGE ON SCHEMA "changebot_\(fleet)" TO \(user);
                GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "changebot_\(fleet)" TO \(user)
                """)
            let engine = server.url().replacing("postgres@", with: "\(user)@")
            Self.expect(try await Self.doctor(engine, ["--fleet", fleet]).findings.first, "ok", "no member is active")
            let bot = try await WatchedBot.start(run + ["--engine", engine] + role)
            try await bed.put([#"{"_id":"b","type":"task"}"#])
            try await bed.wait(for: "b") { $0["done"] != nil }
            #expect(await bot.process.stop() == 0)
        }
    }

    @Test func doctorReportsSettingsThatLoseData() async throws {
        let server = try TestPostgres(settings: ["fsync=off", "synchronous_commit=off"])
        let found = try await Self.doctor(server.url())
        Self.expect(found.findings.first, "error", "fsync is off", remedy: "fsync=on")
        Self.expect(found.findings.dropFirst().first, "warning", "synchronous_commit is off")
        let accepted = try await Self.doctor(server.url(), ["--allow-unsafe-engine"])
        Self.expect(accepted.findings.first, "warning", "fsync is off")
    }

    @Test func doctorReportsAnUnreachableEngine() async throws {
        let found = try await Self.doctor("postgres://127.0.0.1:9/none")
        Self.expect(found.findings.first, "error", "unavailable", remedy: "start PostgreSQL")
    }

    @Test func doctorSkipsAMissingEngine() async throws {
        let result = try await Program.run(
            ["doctor", "--json", "--no-wait", "--gateway", "http://127.0.0.1:9/todo"]
                + ["--state", NSTemporaryDirectory() + "no-state-\(UUID().uuidString)"])
        #expect(!result.output.contains(#""check":"engine""#))
    }

    // MARK: - list

    @Test func listHasTheFleetsOfAnEngine() async throws {
        let server = try TestPostgres.shared
        let database = server.uniqueName("list")
        try server.createDatabase(database)
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: Self.rule) { bed in
            let engine = ["--engine", server.url(database)]
            let empty = try await Program.run(["list", "--state", bed.state] + engine)
            #expect(empty.errors.contains("there is no fleet in the engine"))
            for fleet in ["one", "two"] {
                let command =
                    ["run", "--once", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state]
                    + engine + ["--fleet", fleet]
                var run = try await Program.run(command)
                // A busy engine does not answer a one-shot run in time.
                for _ in 0..<5 where run.code == 69 { run = try await Program.run(command) }
                #expect(run.code == 0, "\(run.errors)")
            }
            let list = try await Program.run(["list", "--json", "--state", bed.state] + engine)
            let rows = try list.output.split(separator: "\n").map { try JSONText(String($0)) }
            #expect(rows.map { $0.root["name"]?.string } == ["one", "two"])
            #expect(rows.allSatisfy { $0.root["gateway"]?.string == bed.url && $0.root["checkpoint"]?.string != nil })
        }
    }

    // MARK: - run

    @Test func partitionsNeedARole() async throws {
        let command = ["run", "--gateway", "http://127.0.0.1:9/todo", "--rules", "r.yaml"]
        let engine = ["--engine", "postgres://127.0.0.1:9/none"]
        let flag = try await Program.run(command + engine + ["--partitions", "8"])
        #expect(flag.code == 64)
        #expect(flag.errors.contains("--partitions only applies to members that share the work: add --role auto"))
        let file = NSTemporaryDirectory() + "partitions-\(UUID().uuidString).yaml"
        try """
        version: 1
        gateway: http://127.0.0.1:9/todo
        rules: r.yaml
        engine: postgres://127.0.0.1:9/none
        partitions: 8
        """.write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let written = try await Program.run(["run", "--config", file])
        #expect(written.code == 78)
        #expect(written.errors.contains("'partitions' only applies to members that share the work"))
    }
}
