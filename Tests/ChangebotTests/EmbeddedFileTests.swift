import BotState
import Foundation
import TestKit
import Testing

/// How commands use the file of `embedded:FILE`.
@Suite(.limitedParallelism) struct EmbeddedFileTests {
    private static let rules = Program.pictureRules

    private func run(_ command: [String], on file: String, in folder: String) async throws -> Program.Result {
        let first = command.first ?? ""
        let more: [String] =
            switch first {
            case "export": ["--output", folder + "/out.ndjson"]
            case "import": [folder + "/in.ndjson"]
            default: ["--rules", Self.rules, "--state", folder + "/state"]
            }
        try Data("{\"_id\":\"a\"}\n".utf8).write(to: URL(fileURLWithPath: folder + "/in.ndjson"))
        return try await Program.run(command + ["--gateway", "embedded:" + file] + more)
    }

    /// Regression: a mistyped name became an empty database, and the command succeeded.
    @Test(
        arguments: [
            (["export"], 66, false, "there is no file"), (["fix"], 66, false, "there is no file"),
            (["fix", "--dry-run"], 66, false, "there is no file"),
            (["dead-letters", "retry"], 66, false, "there is no state"),
            (["run", "--once"], 0, true, "created a database file"), (["import"], 0, true, "created a database file"),
            (["run", "--once", "--dry-run"], 0, false, "without --dry-run, it is created"),
            (["import", "--dry-run"], 0, false, "without --dry-run, it is created"),
        ] as [([String], Int32, Bool, String)])
    func missingEmbeddedFileIsReported(command: [String], code: Int32, isCreated: Bool, part: String) async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/none.sqlite"
            let result = try await run(command, on: file, in: folder)
            #expect(result.code == code && result.errors.contains(part), "\(result.errors)")
            #expect(FileManager.default.fileExists(atPath: file) == isCreated)
            guard isCreated else { return }
            let again = try await run(command, on: file, in: folder)
            #expect(!again.errors.contains(part), "\(again.errors)")
        }
    }

    /// Regression: the empty database was left, and later commands used it instead of the intended one.
    @Test func missingInputCreatesNothing() async throws {
        try await Program.withDirectory { folder in
            let result = try await Program.run([
                "import", folder + "/none.ndjson", "--gateway", "embedded:\(folder)/g.sqlite",
            ])
            #expect(result.code == 66 && result.errors.contains("none.ndjson: No such file"), "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    /// Other files that the import needs are also checked before the database is created.
    @Test(
        arguments: [
            (["--attachments", "none"], nil, 66, "there is no folder none"),
            (
                [],
                #"{"options":{"attachments":"folder","folder":"gone"},"attachments":{"bodies":1},"bytes":12,"sha256":""}"#,
                65, "SHA-256"
            ),
            ([], #"{"bytes":7,"sha256":""}"#, 65, "it has 12 bytes"), ([], "{", 65, "is not a manifest"),
            (["--progress-file", "in.ndjson", "--ignore-manifest"], nil, 64, "--progress-file"),
        ] as [([String], String?, Int32, String)])
    func importThatCannotBeginCreatesNothing(
        options: [String], manifest: String?, code: Int32, part: String
    ) async throws {
        try await Program.withDirectory { folder in
            let made = ["in.ndjson": "{\"_id\":\"a\"}\n", "in.ndjson.manifest.json": manifest].compactMapValues { $0 }
            for (name, text) in made { try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name)) }
            let options = options.map { made[$0] == nil ? $0 : folder + "/" + $0 }
            let result = try await Program.run(
                ["import", folder + "/in.ndjson", "--gateway", "embedded:\(folder)/g.sqlite"] + options)
            #expect(result.code == code && result.errors.contains(part), "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == made.keys.sorted())
        }
    }

    /// Regression: the gateway added its tables to the state of a bot, which no bot could read any more.
    @Test(arguments: [["export"], ["fix"], ["run", "--once"], ["run", "--once", "--dry-run"], ["import"]])
    func foreignFileIsNotTouched(command: [String]) async throws {
        try await Program.withDirectory { folder in
            _ = try await run(["run", "--once"], on: folder + "/g.sqlite", in: folder)
            let file = folder + "/state/changebot.sqlite"
            let before = try Data(contentsOf: URL(fileURLWithPath: file))
            let result = try await run(command, on: file, in: folder)
            #expect(result.code == 66, "\(result.errors)")
            #expect(result.errors.contains("it belongs to another program: its tables are"), "\(result.errors)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
            let catalogue = StateCatalogue(directory: folder + "/state", name: "changebot")
            try catalogue.openExisting(address: nil, access: .shared).close()
        }
    }

    /// Documents of other collections are not served, so the file seemed empty.
    @Test(
        arguments: [(["export"], 66), (["fix"], 66), (["run", "--once"], 66), (["import"], 0)] as [([String], Int32)])
    func fileWithOtherCollectionsIsReported(command: [String], code: Int32) async throws {
        try await Program.withDirectory { folder in
            let users =
                #"{"databases":{"todo":{"guest":{"collection_access":{"s":{"c":{"admin_channels":["*"]}}}},"scopes":{"s":{"collections":{"c":{}}}}}}}"#
            let file = folder + "/g.sqlite"
            try await Program.withGateway(data: file, users: users) { url in
                try await CommandTestBed(url: url + ".s.c", folder: folder).put([#"{"_id":"b"}"#])
                let busy = try await run(command, on: file, in: folder)
                #expect(busy.code == 75 && busy.errors.contains("another gateway has it open"), "\(busy.errors)")
            }
            let result = try await run(command, on: file, in: folder)
            #expect(result.code == code && result.errors.contains("s.c"), "\(result.errors)")
        }
    }

    /// Regression: because the earlier documents existed, the reset looked like a cluster node that is behind. Nothing
    /// was exported, and the command succeeded.
    @Test func refilledDatabaseIsAnotherOne() async throws {
        try await Program.withDirectory { folder in
            let gateway = ["--gateway", "embedded:\(folder)/g.sqlite"]
            func fill(_ edit: Int, _ count: Int) async throws {
                let lines = (0..<count).map { "{\"_id\":\"d\($0)\",\"edit\":\(edit)}\n" }
                try Data(lines.joined().utf8).write(to: URL(fileURLWithPath: folder + "/in.ndjson"))
                let result = try await Program.run(["import", folder + "/in.ndjson", "--mode", "upsert"] + gateway)
                #expect(result.code == 0, "\(result.errors)")
            }
            for edit in 0..<3 { try await fill(edit, 10) }
            let whole = try await Program.run(["export", "--output", folder + "/a.ndjson"] + gateway)
            #expect(whole.code == 0, "\(whole.errors)")
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix("g.sqlite") {
                try FileManager.default.removeItem(atPath: folder + "/" + name)
            }
            try await fill(3, 11)
            let next = try await Program.run(
                ["export", "--output", folder + "/b.ndjson", "--since-manifest", folder + "/a.ndjson.manifest.json"]
                    + gateway)
            #expect(next.code == 78 && next.errors.contains("reset"), "\(next.code) \(next.errors)")
        }
    }
}
