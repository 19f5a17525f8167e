import EmbeddedGateway
import Foundation
import GatewayClient
import Logging
import LosslessJSON
import TestKit
import Testing

@testable import changebot

/// The commands on many databases, as a user runs them.
@Suite(.limitedParallelism) struct ManyDatabasesCommandTests {
    private static let rules = """
        version: 1
        rules:
          - name: mark
            when: { type: task, done: { $exists: false } }
            then: [{ merge: { done: true } }]
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]
        """

    private struct Bed {
        let folder: String
        let base: String
        let gateway: EmbeddedGateway

        func put(_ keyspace: String, _ id: String, _ body: String) async throws {
            let gateway = Gateway(try GatewayURL("\(base)/\(keyspace)"))
            try await gateway.put(DocumentID(id), body: Array(body.utf8))
            await gateway.shutdown()
        }

        func document(_ keyspace: String, _ id: String) async throws -> JSONText? {
            let gateway = Gateway(try GatewayURL("\(base)/\(keyspace)"))
            let document = try await gateway.document(DocumentID(id))
            await gateway.shutdown()
            return document
        }

        func command(_ arguments: String...) async throws -> Program.Result {
            try await Program.run(arguments + ["--config", folder + "/changebot.yaml"])
        }
    }

    private func withBed(
        _ settings: String, configure: (inout EmbeddedGateway.Configuration) -> Void = { _ in },
        _ body: (Bed) async throws -> Void
    ) async throws {
        try await Program.withDirectory { folder in
            var logger = Logger(label: "gateway")
            logger.logLevel = .critical
            var configuration = EmbeddedGateway.Configuration(database: "main", logger: logger)
            configuration.hostsFurtherDatabases = true
            configure(&configuration)
            let gateway = EmbeddedGateway(configuration)
            try await gateway.whileServing { address in
                let url = try GatewayURL(address.administrationURL ?? address.url)
                try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: folder + "/rules.yaml"))
                let text = "version: 1\nstate: state\nrules: rules.yaml\nlog_level: error\n" + settings
                try Data(text.replacing("BASE", with: url.base).utf8).write(
                    to: URL(fileURLWithPath: folder + "/changebot.yaml"))
                try await body(Bed(folder: folder, base: url.base, gateway: gateway))
            }
        }
    }

    private static let databases = "gateway: BASE/{database}\ndatabases: [user-*, \"!user-x\"]\n"

    /// A rule is paused for one database, while the bot runs.
    @Test func rulesOfOneDatabaseArePaused() async throws {
        try await withBed(Self.databases) { bed in
            for name in ["user-a", "user-b"] {
                try bed.gateway.createDatabase(name)
                try await bed.put(name, "t1", #"{"type":"task"}"#)
            }
            let bot = try ChildProcess([Program.path, "run", "--config", bed.folder + "/changebot.yaml"])
            func wait(_ database: String, _ id: String) async throws {
                while try await bed.document(database, id)?.root["done"] == nil {
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            for name in ["user-a", "user-b"] { try await wait(name, "t1") }
            let which = try await bed.command("pause", "mark")
            #expect(which.code == 64 && which.errors.contains("choose one with --database NAME"), "\(which.errors)")
            let paused = try await bed.command("pause", "mark", "--database", "user-a")
            #expect(paused.code == 0 && paused.errors.contains("within seconds"), "\(paused.errors)")
            // Another order shows when it is taken up.
            #expect(try await bed.command("backfill", "--rule", "broken", "--database", "user-a").code == 0)
            while try await !bed.command("checkpoint", "show", "--database", "user-a").output.contains("done at") {
                try await Task.sleep(for: .milliseconds(50))
            }
            for name in ["user-a", "user-b"] { try await bed.put(name, "t2", #"{"type":"task"}"#) }
            try await wait("user-b", "t2")
            #expect(try await bed.document("user-a", "t2")?.root["done"] == nil)
            #expect(try await bed.command("resume", "mark", "--database", "user-a").code == 0)
            try await wait("user-a", "t2")
            #expect(await bot.stop() == 0)
        }
    }

    /// A database in which nothing has changed since is looked at, too.
    @Test(arguments: [true, false]) func orderToAStoppedBotReachesAQuietDatabase(once: Bool) async throws {
        try await withBed(Self.databases) { bed in
            for name in ["user-a", "user-b"] {
                try bed.gateway.createDatabase(name)
                try await bed.put(name, "t1", #"{"type":"task"}"#)
            }
            #expect(try await bed.command("run", "--once").code == 0)
            #expect(try await bed.command("backfill", "--rule", "mark", "--database", "user-a").code == 0)
            func isDone() async throws -> Bool {
                try await bed.command("checkpoint", "show", "--database", "user-a").output.contains("done at")
            }
            if once {
                #expect(try await bed.command("run", "--once").code == 0)
            } else {
                let bot = try ChildProcess([Program.path, "run", "--config", bed.folder + "/changebot.yaml"])
                while try await !isDone() { try await Task.sleep(for: .milliseconds(50)) }
                #expect(await bot.stop() == 0)
            }
            #expect(try await isDone())
        }
    }

    @Test func commandsWorkOnEachDatabase() async throws {
        try await withBed(Self.databases) { bed in
            for name in ["user-a", "user-b", "user-x"] {
                try bed.gateway.createDatabase(name)
                try await bed.put(name, "t1", #"{"type":"task"}"#)
            }
            try await bed.put("user-b", "b1", #"{"type":"broken"}"#)
            let preview = try await bed.command("fix", "--dry-run")
            #expect(preview.code == 1)
            #expect(preview.output.split(separator: "\n").count == 3)
            let run = try await bed.command("run", "--once")
            #expect(run.code == 1)
            #expect(run.errors.contains("dead-letters list --config \(bed.folder)/changebot.yaml --database NAME"))
            for name in ["user-a", "user-b"] {
                #expect(try await bed.document(name, "t1")?.root["done"]?.bool == true)
            }
            #expect(try await bed.document("user-x", "t1")?.root["done"] == nil)

            let status = try await bed.command("status")
            #expect(status.output.contains("  databases     2\n"))
            #expect(status.output.contains("  worst         user-b: quiet, 1 dead letter\n"))
            let one = try await bed.command("status", "--database", "user-b")
            #expect(one.output.hasPrefix("user-b: the bot is not running\n"))
            #expect(one.output.contains("dead letters   1"))
            let json = try JSONText(try await bed.command("status", "--json").output)
            #expect(json.root["databases"]?["dead_letters"]?.integer == 1)
            #expect(try await Program.run(["list", "--state", bed.folder + "/state"]).output.contains("2 databases"))

            let unclear = try await bed.command("dead-letters", "list")
            #expect(unclear.code == 64)
            #expect(unclear.errors.contains("choose one with --database NAME"))
            let letters = try await bed.command("dead-letters", "list", "--database", "user-b")
            #expect(letters.output.contains("b1"))
            let unknown = try await bed.command("checkpoint", "show", "--database", "user-z")
            #expect(unknown.code == 66)
            #expect(unknown.errors.contains("has no state for a database 'user-z'"))
            try await bed.put("user-b", "b2", "{}")
            #expect(try await bed.command("dead-letters", "drop", "--all", "--database", "user-b").code == 0)
        }
    }

    @Test func eachDatabaseIsExportedToItsOwnFile() async throws {
        try await withBed(Self.databases) { bed in
            for name in ["user-a", "user-b"] {
                try bed.gateway.createDatabase(name)
                try await bed.put(name, "t1", #"{"type":"task"}"#)
            }
            let refused = try await bed.command("export", "--output", bed.folder + "/all.ndjson")
            #expect(refused.code == 64)
            #expect(refused.errors.contains("write {database} in --output"))
            let full = try await bed.command("export", "--output", bed.folder + "/{database}.ndjson")
            #expect(full.code == 0)
            for name in ["user-a", "user-b"] {
                let text = try String(contentsOfFile: bed.folder + "/\(name).ndjson", encoding: .utf8)
                #expect(text.split(separator: "\n").count == 1)
            }
            try bed.gateway.createDatabase("user-c")
            try await bed.put("user-c", "t1", "{}")
            try await bed.put("user-a", "t2", "{}")
            let more = try await bed.command(
                "export", "--output", bed.folder + "/more-{database}.ndjson", "--since-manifest",
                bed.folder + "/{database}.ndjson.manifest.json")
            #expect(more.code == 0)
            for (name, count) in [("user-a", 1), ("user-b", 0), ("user-c", 1)] {
                let text = try String(contentsOfFile: bed.folder + "/more-\(name).ndjson", encoding: .utf8)
                #expect(text.split(separator: "\n").count == count, "\(name)")
            }
            bed.gateway.refuse("user-a", status: 403)
            let partial = try await bed.command("export", "--overwrite", "--output", bed.folder + "/{database}.ndjson")
            #expect(partial.code == 1)
            #expect(partial.errors.contains("1 of 3 databases were skipped: user-a; the first, user-a: "))
        }
    }

    @Test func doctorNamesDatabasesThatCannotBeRead() async throws {
        try await withBed(Self.databases) { bed in
            for name in ["user-a", "user-b"] { try bed.gateway.createDatabase(name) }
            let healthy = try await bed.command("doctor", "--no-wait")
            #expect(healthy.output.contains("2 databases selected by: user-*, !user-x"))
            bed.gateway.refuse("user-a", status: 403)
            bed.gateway.announceUpdates(false)
            let ill = try await bed.command("doctor", "--no-wait")
            #expect(ill.code == 1)
            #expect(ill.output.contains("1 of 2 can't be read: user-a; the first, user-a: "))
            #expect(ill.output.contains("the server does not announce which databases change"))
        }
    }

    @Test func collectionsOfADatabaseAreFollowed() async throws {
        let settings = "gateway: BASE/main\ncollections: app.*\n"
        try await withBed(settings) { configuration in
            configuration.collections = ["app.a", "app.b", "other.c"]
            configuration.administration = ("127.0.0.1", 0)
        } _: { bed in
            for name in ["app.a", "app.b", "other.c"] { try await bed.put("main.\(name)", "t1", #"{"type":"task"}"#) }
            #expect(try await bed.command("run", "--once").code == 0)
            for name in ["app.a", "app.b"] {
                #expect(try await bed.document("main.\(name)", "t1")?.root["done"]?.bool == true)
            }
            #expect(try await bed.document("main.other.c", "t1")?.root["done"] == nil)
            #expect(try await bed.command("status", "--database", "app.b").output.hasPrefix("app.b: "))
        }
    }

    @Test(
        arguments: [
            (["--gateway", "http://h/x", "--databases", "a*"], "write http://h/{database}"),
            (["--gateway", "http://h/{database}"], "add --databases userdb-*"),
            (["--gateway", "http://h/{database}", "--databases", "a b"], "--databases: 'a b' contains ' '"),
            (["--gateway", "http://h/{database}", "--databases", "!a"], "no pattern includes a name"),
            (["--gateway", "http://h/{database}", "--collections", "a.*"], "such as http://h/todo"),
            (["--gateway", "http://h/db.s.c", "--collections", "a.*"], "such as http://h/db"),
            (["--gateway", "http://h/db", "--collections", "a.*", "--databases", "a"], "give one of the two"),
            (["--gateway", "embedded:", "--databases", "a"], "an embedded gateway has one database"),
            (["--gateway", "http://h/{database}", "--databases", "a", "--since", "5"], "must be 0 or now"),
            (
                ["--gateway", "http://h/{database}", "--databases", "a", "--catch-up-changed-rules"],
                "run 'changebot fix' after changing rules"
            ),
            (
                [
                    "--gateway", "http://h/{database}", "--databases", "a", "--engine", "postgres://h/d", "--role",
                    "auto",
                ], "remove --role"
            ),
        ])
    func contradictionsAreNamed(options: [String], part: String) async throws {
        let result = try await Program.run(["run", "--rules", Program.pictureRules] + options)
        #expect(result.code == 64)
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    @Test func mistakeInAFileNamesItsPlace() async throws {
        try await withBed("gateway: http://h/{database}\ndatabases: [a, \"b c\"]\n") { bed in
            let result = try await bed.command("config", "check")
            #expect(result.code == 78)
            #expect(result.errors.contains("changebot.yaml:6:12: 'databases': 'b c' contains ' '"), "\(result.errors)")
        }
    }
}
