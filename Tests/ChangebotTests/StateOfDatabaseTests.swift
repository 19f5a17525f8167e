import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// State belongs to a database, not to the notation of its URL, in the commands of a user.
@Suite(.limitedParallelism) struct StateOfDatabaseTests {
    private static let rules = """
          - name: done
            when: { type: task, done: { $exists: false } }
            then: [{ merge: { done: true } }]

        """

    private static func documents(_ count: Int) -> [String] { (0..<count).map { #"{"_id":"t\#($0)","type":"task"}"# } }

    /// Runs `run --once`, and returns its messages and its summary.
    private func run(
        _ bed: CommandTestBed, _ url: String, _ more: String...
    ) async throws -> (code: Int32, errors: String, summary: JSONText) {
        let file = bed.folder + "/summary.json"
        let result = try await Program.run(
            [
                "run", "--once", "--gateway", url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
                "--summary", file,
            ] + more)
        return (result.code, result.errors, try JSONText(try Data(contentsOf: URL(fileURLWithPath: file)).map { $0 }))
    }

    private func local(_ url: String) -> String { url.replacingOccurrences(of: "127.0.0.1", with: "localhost") }

    private func contents(_ folder: String) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            files[name] = FileManager.default.contents(atPath: folder + "/" + name)
        }
        return files
    }

    @Test(arguments: ["run --once", "fix", "run --once --dry-run"])
    func mistypedURLLeavesNoState(command: String) async throws {
        try await CommandTestBed.with(rules: Self.rules) { bed in
            for url in ["http://127.0.0.1:1/todo", bed.url + "x"] {
                let result = try await Program.run(
                    command.split(separator: " ").map(String.init) + [
                        "--gateway", url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
                    ])
                #expect([66, 69, 77].contains(result.code), "\(result.errors)")
                #expect(!FileManager.default.fileExists(atPath: bed.state))
            }
        }
    }

    @Test func newHostNameContinuesAtTheCheckpointAndIsLoggedOnce() async throws {
        try await CommandTestBed.with(Self.documents(20), rules: Self.rules) { bed in
            for _ in 1...2 { _ = try await run(bed, bed.url) }
            let known = "knows this database from another address"
            let first = try await run(bed, local(bed.url))
            #expect(first.code == 0, "\(first.errors)")
            #expect(first.errors.components(separatedBy: known).count == 2, "\(first.errors)")
            #expect(first.summary.root["changes"]?.integer == 0)
            for url in [local(bed.url), bed.url] {
                let next = try await run(bed, url)
                #expect(next.summary.root["changes"]?.integer == 0)
                #expect(!next.errors.contains(known))
            }
            #expect(try contents(bed.state).keys.sorted() == ["changebot.lock", "changebot.sqlite"])
            let shown = try await bed.command("checkpoint", "show").output
            #expect(shown.contains("also known at  \(local(bed.url))"), "\(shown)")
        }
    }

    @Test func twoDatabasesAreUsedAlternately() async throws {
        try await CommandTestBed.with(Self.documents(5), rules: Self.rules) { bed in
            try await Program.withGateway { other in
                let second = CommandTestBed(url: other, folder: bed.folder)
                try await second.put(Self.documents(8))
                #expect(try await run(bed, bed.url).summary.root["written"]?.integer == 5)
                #expect(try await run(bed, other).summary.root["written"]?.integer == 8)
                for url in [bed.url, other] { _ = try await run(bed, url) }
                for url in [bed.url, other] {
                    let again = try await run(bed, url)
                    #expect(again.code == 0, "\(again.errors)")
                    #expect(again.summary.root["changes"]?.integer == 0)
                }
                for command in [["checkpoint", "show"], ["dead-letters", "list"]] {
                    let unclear = try await Program.run(command + ["--state", bed.state])
                    #expect(unclear.code == 64)
                    #expect(unclear.errors.contains("--gateway URL"), "\(unclear.errors)")
                    #expect(unclear.errors.contains(bed.url) && unclear.errors.contains(other), "\(unclear.errors)")
                    let clear = try await Program.run(command + ["--state", bed.state, "--gateway", other])
                    #expect(clear.code == 0, "\(clear.errors)")
                }
            }
        }
    }

    @Test func runUnderAnotherHostNameIsRefused() async throws {
        try await CommandTestBed.with(Self.documents(1), rules: Self.rules) { bed in
            let bot = try bed.startDaemon()
            try await bed.wait(for: "t0") { $0["done"] != nil }
            let second = try await run(bed, local(bed.url))
            #expect(second.code == 75)
            #expect(second.errors.contains("pid \(bot.id)"), "\(second.errors)")
            #expect(try await Program.withGateway { try await run(bed, $0).code } == 0)
            bot.signal(SIGTERM)
            #expect(await bot.wait() == 0)
        }
    }

    @Test(arguments: ["run --once --dry-run", "fix --dry-run"])
    func dryRunChangesNothing(command: String) async throws {
        try await CommandTestBed.with(Self.documents(3), rules: Self.rules) { bed in
            func dryRun(_ url: String) async throws -> Program.Result {
                try await Program.run(
                    command.split(separator: " ").map(String.init) + [
                        "--gateway", url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
                    ])
            }
            let first = try await dryRun(bed.url)
            #expect(first.code == 0, "\(first.errors)")
            #expect(first.output.split(separator: "\n").count == 3)
            #expect(!FileManager.default.fileExists(atPath: bed.state))
            for mark in ["changebot.changebot", "changebot.fix-changebot"] {
                #expect(try await bed.withGateway { try await $0.localDocument(mark) } == nil)
            }
            _ = try await run(bed, bed.url)
            _ = try await Program.run([
                "fix", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
            ])
            let before = try contents(bed.state)
            for url in [bed.url, local(bed.url)] { #expect(try await dryRun(url).code == 0) }
            #expect(try contents(bed.state) == before)
        }
    }

    @Test func dryRunCreatesNoEmbeddedDatabase() async throws {
        try await CommandTestBed.with(rules: Self.rules) { bed in
            let file = bed.folder + "/none.sqlite"
            let dry = try await run(bed, "embedded:" + file, "--dry-run")
            #expect(dry.code == 0, "\(dry.errors)")
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }

    @Test func embeddedDatabaseIsTheSameBehindAGateway() async throws {
        try await Program.withDirectory { folder in
            let bed = CommandTestBed(url: "embedded:" + folder + "/g.sqlite", folder: folder)
            try bed.write(rules: Self.rules)
            try await Program.withGateway(data: folder + "/g.sqlite") { url in
                try await CommandTestBed(url: url, folder: folder).put(Self.documents(4))
                for _ in 1...2 { _ = try await run(bed, url) }
            }
            for _ in 1...2 {
                let embedded = try await run(bed, bed.url)
                #expect(embedded.code == 0, "\(embedded.errors)")
                #expect(embedded.summary.root["changes"]?.integer == 0)
            }
        }
    }

    /// A copy also contains the mark. What is done in one database must not count for the other.
    @Test func copiedDatabaseFilesBecomeAnotherDatabase() async throws {
        try await Program.withDirectory { folder in
            let bed = CommandTestBed(url: "", folder: folder)
            try bed.write(rules: Self.rules)
            let files = ["a", "b"].map { folder + "/\($0).sqlite" }
            func put(_ file: String, _ documents: [String]) async throws {
                try await Program.withGateway(data: file) { url in
                    try await CommandTestBed(url: url, folder: folder).put(documents)
                }
            }
            try await put(files[0], Self.documents(3))
            for _ in 1...2 { _ = try await run(bed, "embedded:" + files[0]) }
            try FileManager.default.copyItem(atPath: files[0], toPath: files[1])
            // Far ahead of the original.
            try await put(files[1], (0..<30).map { #"{"_id":"b\#($0)","type":"task"}"# })
            #expect(try await run(bed, "embedded:" + files[1]).summary.root["written"]?.integer == 30)
            try await put(files[0], [#"{"_id":"late","type":"task"}"#])
            #expect(try await run(bed, "embedded:" + files[0]).summary.root["written"]?.integer == 1)
            for round in 1...3 {
                for (number, file) in files.enumerated() {
                    try await put(file, [#"{"_id":"r\#(round)\#(number)","type":"task"}"#])
                    let result = try await run(bed, "embedded:" + file)
                    #expect(result.summary.root["written"]?.integer == 1, "round \(round), \(result.errors)")
                    if round > 2 { #expect(!result.errors.contains("restored"), "\(result.errors)") }
                }
            }
        }
    }

    /// Regression: it read from the beginning without a warning.
    @Test func dryRunWarnsIfOnlyOtherBotsHaveAState() async throws {
        try await CommandTestBed.with(Self.documents(1), rules: Self.rules) { bed in
            let warning = "warning there is no state 'changebot' in \(bed.state); there is 'pictures'"
            let first = try await bed.runOnce("--dry-run")
            #expect(first.code == 0 && !first.errors.contains("there is no state"), "\(first.errors)")
            #expect(try await bed.runOnce("--name", "pictures").code == 0)
            let other = try await bed.runOnce("--dry-run")
            #expect(other.code == 0 && other.errors.contains(warning), "\(other.errors)")
            let same = try await bed.runOnce("--dry-run", "--name", "pictures")
            #expect(same.code == 0 && !same.errors.contains("there is no state"), "\(same.errors)")
        }
    }

    @Test func resetUnderAnotherHostNameIsDetected() async throws {
        try await Program.withDirectory { folder in
            let bed = try await Program.withGateway { url in
                let bed = CommandTestBed(url: url, folder: folder)
                try bed.write(rules: Self.rules)
                try await bed.put(Self.documents(3))
                for _ in 1...2 { _ = try await run(bed, url) }
                return bed
            }
            try await Program.withGateway(port: try #require(URL(string: bed.url)?.port)) { url in
                try await bed.put(Self.documents(2))
                let stopped = try await run(bed, local(url), "--on-reset", "stop")
                #expect(stopped.code == 78)
                #expect(stopped.errors.contains("reset"), "\(stopped.errors)")
                let result = try await run(bed, local(url))
                #expect(result.summary.root["written"]?.integer == 2, "\(result.errors)")
                #expect(result.errors.contains("starting over from the beginning"))
            }
        }
    }
}
