import Foundation
import GRDB
import TestKit
import Testing

/// Commands that only show a state do not change it.
@Suite(.limitedParallelism) struct ShownStateTests {
    private static let rules = """
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]
          - name: r
            when: { type: t, x: { $exists: false } }
            then: [{ merge: { x: 1 } }]

        """
    private static let commands = [
        ["list"], ["list", "--json"], ["status"], ["status", "--json"], ["checkpoint", "show"],
        ["checkpoint", "show", "--json"], ["dead-letters", "list"], ["dead-letters", "list", "--json"],
        ["dead-letters", "list", "--count"], ["dead-letters", "show", "1"], ["dead-letters", "export"],
        ["trace", "a"], ["trace", "a", "--json"],
    ]

    /// Calls `body` with a state that has a checkpoint, an own revision and a dead letter.
    private func withState(_ body: (CommandTestBed) async throws -> Void) async throws {
        let documents = [#"{"_id":"a","type":"t"}"#, #"{"_id":"b","type":"broken"}"#]
        try await CommandTestBed.with(documents, rules: Self.rules) { bed in
            #expect(try await bed.runOnce().code == 1)
            try await body(bed)
        }
    }

    private func contents(_ folder: String) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let contents = names.map { ($0, FileManager.default.contents(atPath: folder + "/" + $0) ?? Data()) }
        return Dictionary(uniqueKeysWithValues: contents)
    }

    /// The output of each command. None of them changes the state, or leaves a copy of it.
    ///
    /// - Parameter launcher: The words that start the program.
    private func shown(
        _ bed: CommandTestBed, launcher: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        let temporary = bed.folder + "/tmp"
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        let before = try contents(bed.state)
        var texts: [String] = []
        for command in Self.commands {
            let result = try await Program.run(
                command + ["--state", bed.state], environment: ["TMPDIR": temporary], launcher: launcher)
            #expect(result.code == 0, "\(command): \(result.errors)", sourceLocation: sourceLocation)
            texts.append(result.output)
        }
        #expect(try contents(bed.state) == before, sourceLocation: sourceLocation)
        #expect(try contents(temporary).isEmpty, sourceLocation: sourceLocation)
        return texts
    }

    /// Root may write everywhere unless it drops that privilege.
    private static let launcher =
        getuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"] : []

    @Test(
        .enabled(
            if: launcher.isEmpty || FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"),
            "needs setpriv, or a user that is not root"))
    func stateInAReadOnlyFolderIsShown() async throws {
        try await withState { bed in
            let before = try await shown(bed)
            chmod(bed.state, 0o500)
            chmod(bed.state + "/changebot.sqlite", 0o400)
            defer { chmod(bed.state, 0o700) }
            #expect(try await shown(bed, launcher: Self.launcher) == before)
            let set = try await Program.run(
                ["checkpoint", "set", "1", "--state", bed.state], launcher: Self.launcher)
            #expect([73, 74, 78].contains(set.code), "the folder can be written to: \(set.errors)")
        }
    }

    /// Regression: CouchDB's sequences stretched each line of a table over several lines.
    @Test func longSequencesAreShortenedInTables() async throws {
        try await withState { bed in
            let long = "7-g1AAAA" + String(repeating: "x", count: 400)
            #expect(try await bed.command("checkpoint", "set", long).code == 0)
            for command in [["list"], ["status"], ["checkpoint", "show"]] {
                let short = try await Program.run(command + ["--state", bed.state])
                #expect(short.output.contains("7-g1AAAAxxxxxxxxxxxxxxxx…"), "\(short.output)")
                #expect(!short.output.contains(long), "\(short.output)")
                let whole = try await Program.run(command + ["--json", "--state", bed.state])
                #expect(whole.output.contains(long), "\(whole.output)")
            }
        }
    }

    /// Regression: a bot that waited for its first answer was not shown: it has no state, and the folder was missing.
    @Test func botThatWaitsForItsGatewayIsShown() async throws {
        try await Program.withDirectory { folder in
            let (rules, state) = (folder + "/r.yaml", folder + "/a/state")
            try Data("version: 1\nrules:\n\(Self.rules)".utf8).write(to: URL(fileURLWithPath: rules))
            let bot = try ChildProcess([
                Program.path, "run", "--gateway", "http://127.0.0.1:1/none", "--rules", rules, "--state", state,
                "--retry-for", "1h", "--log-level", "error",
            ])
            let status = "\(state)/changebot.status.\(bot.id).json"
            try await bot.waitUntil { FileManager.default.fileExists(atPath: status) }
            let shown = try await Program.run(["status", "--state", state])
            #expect(shown.code == 0 && shown.output.contains("http://127.0.0.1:1/none"), "\(shown)")
            let list = try await Program.run(["list", "--state", state])
            #expect(list.code == 0 && list.output.contains("http://127.0.0.1:1/none"), "\(list)")
            let checkpoint = try await Program.run(["checkpoint", "show", "--state", state])
            #expect(checkpoint.code == 66, "\(checkpoint)")
            #expect(checkpoint.errors.contains("is running (process \(bot.id)), but has no state"), "\(checkpoint)")
            bot.signal(SIGTERM)
            _ = await bot.wait()
            #expect(!FileManager.default.fileExists(atPath: folder + "/a"))
        }
    }

    @Test func missingSpaceForACopyIsReported() async throws {
        try await withState { bed in
            let command = ["checkpoint", "show", "--state", bed.state]
            let missing = try await Program.run(command, environment: ["TMPDIR": bed.folder + "/none"])
            #expect(missing.code == 73 && missing.errors.contains("set TMPDIR to"), "\(missing.errors)")
            #expect(missing.errors.contains("can't create \(bed.folder)/none/changebot-"), "\(missing.errors)")
            // A limit of 8 blocks for files simulates a full disk.
            let full = try await Program.run(
                command, launcher: ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
            #expect(full.code == 74, "\(full.errors)")
            #expect(full.errors.contains("can't write a temporary copy of \(bed.state)/changebot.sqlite"))
        }
    }
}
