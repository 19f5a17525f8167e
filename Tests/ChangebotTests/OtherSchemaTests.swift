import Foundation
import GRDB
import PostgreSQL
import TestKit
import Testing

/// If the tables of a state are not those of this program, each command refuses it and says what to do.
@Suite(.limitedParallelism) struct OtherSchemaTests {
    private static let rules =
        "  - { name: r, when: { type: t, x: { $exists: false } }, then: [{ merge: { x: 1 } }] }\n"
    private static let commands = [
        ["checkpoint", "show"], ["checkpoint", "reset"], ["dead-letters", "list"], ["dead-letters", "show", "1"],
        ["dead-letters", "export"], ["dead-letters", "drop", "--all"], ["list"], ["status"], ["trace", "a"],
    ]

    /// Changes of a state's tables, and the message of each command.
    private static let changes = [
        (
            // As after a downgrade of the program.
            """
            UPDATE identity SET value = '99' WHERE name = 'version';
            UPDATE identity SET value = '2.5.1' WHERE name = 'program'
            """, "newer changebot, version 2.5.1 (this is "
        ),
        // As before the first release.
        (
            "UPDATE identity SET name = 'schema' WHERE name = 'version'",
            "its tables have no version: it was created before changebot's first release, or by another program; use "
        ),
    ]

    private static func expectRefused(
        _ bed: CommandTestBed, _ options: [String], _ reason: String, _ option: String
    ) async throws {
        for command in commands {
            let result = try await Program.run(command + ["--state", bed.state] + options)
            #expect(result.code == 78, "\(command): \(result.errors)")
            #expect(result.errors.contains(reason) && result.errors.contains(option), "\(command): \(result.errors)")
            #expect(result.output.isEmpty)
        }
        for more in [[], ["--dry-run"]] {
            let run = try await run(bed, options + more)
            #expect(run.code == 78, "\(more): \(run.errors)")
            #expect(run.errors.contains(reason) && run.errors.contains(option), "\(run.errors)")
        }
        let doctor = try await Program.run(
            ["doctor", "--no-wait", "--gateway", bed.url, "--state", bed.state] + options)
        // The remedy is on a line of its own.
        let text = reason.replacing("; use ", with: "")
        #expect(doctor.code == 1 && doctor.output.contains(text) && doctor.output.contains(option), "\(doctor.output)")
    }

    private static func run(_ bed: CommandTestBed, _ more: [String]) async throws -> Program.Result {
        try await Program.run(
            ["run", "--once", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state] + more)
    }

    @Test(arguments: changes) func otherSchemaOfAFileIsRefused(change: String, reason: String) async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"t"}"#], rules: Self.rules) { bed in
            #expect(try await Self.run(bed, []).code == 0)
            let path = bed.state + "/changebot.sqlite"
            let file = try DatabaseQueue(path: path)
            try await file.writeWithoutTransaction { try $0.execute(sql: change) }
            try file.close()
            let before = FileManager.default.contents(atPath: path)
            try await Self.expectRefused(bed, [], reason, "another --name")
            #expect(FileManager.default.contents(atPath: path) == before)
        }
    }

    @Test(arguments: changes) func otherSchemaOfAFleetIsRefused(change: String, reason: String) async throws {
        let server = try TestPostgres.shared
        let database = server.uniqueName("other")
        try server.createDatabase(database)
        try await CommandTestBed.with([#"{"_id":"a","type":"t"}"#], rules: Self.rules) { bed in
            let engine = ["--engine", server.url(database), "--fleet", "orders"]
            #expect(try await Self.run(bed, engine).code == 0)
            var settings = PostgresSettings()
            settings.schema = "changebot_orders"
            let connection = try PostgresConnection(
                PostgresAddress(server.url(database)), password: nil, settings: settings)
            try connection.script(change)
            try await Self.expectRefused(bed, engine, reason, "another --fleet")
            let status = try await Program.run(["fleet", "status"] + engine)
            #expect(status.code == 78 && status.errors.contains(reason), "\(status.errors)")
            let shared = try await Self.run(bed, engine + ["--role", "auto"])
            #expect(shared.code == 64 || shared.code == 78, "\(shared.errors)")
        }
    }
}
