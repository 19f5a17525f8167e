import ArgumentParser
import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import changebot

/// The program's messages on stderr.
@Suite(.limitedParallelism) struct MessageTests {
    private static let noGateway = "http://127.0.0.1:1/todo"
    private static let evil = "\u{1B}[2J\u{7}\r\n\u{85}\u{9B}\u{202E}\u{2028}"

    private func expectVisible(_ text: String, _ location: SourceLocation = #_sourceLocation) {
        for line in text.split(separator: "\n") {
            #expect(
                line.unicodeScalars.allSatisfy { $0.isVisible }, "\(line.debugDescription)", sourceLocation: location)
        }
        #expect(!text.contains("\r\n"), sourceLocation: location)
    }

    /// Each line is an object with a time, a level and a message.
    private func lines(_ text: String) throws -> [JSONText] {
        try text.split(separator: "\n").map { line in
            let object = try JSONText(String(line))
            for member in ["time", "level", "message"] { #expect(object.root[member]?.kind == .string, "\(line)") }
            return object
        }
    }

    @Test(arguments: ["text", "json"])
    func gatewayAnswersAreEscapedForTerminals(format: String) async throws {
        let body = #"{"error":"\u001b]0;x\u0007","reason":"a\r\nb\u009b2J\u202e\u2028 \u0085"}"#
        let server = try TestServer { connection in
            try connection.serve { _ in
                try connection.answer(403, headers: ["Server: \u{1B}[31mX\u{9B}"], body: body)
            }
        }
        try await Program.withDirectory { directory in
            for command in [["run", "--once", "--rules", Program.pictureRules, "--state", directory], ["export"]] {
                let result = try await Program.run(
                    command + ["--gateway", server.url("/todo"), "--log-format", format, "--log-level", "trace"])
                #expect(result.code == 77)
                #expect(result.output.isEmpty)
                expectVisible(result.errors)
                if format == "json" {
                    let last = try #require(try lines(result.errors).last).root
                    #expect(last["level"]?.string == "error" && last["exit"]?.integer == 77)
                }
            }
        }
    }

    @Test func namesOfFilesAndVariablesAreEscaped() async throws {
        let cases: [([String], [String: String], Int32)] = [
            (["run", "--once", "--gateway", Self.noGateway, "--rules", "/none/" + Self.evil], [:], 66),
            (["import", "--gateway", Self.noGateway, "/none/" + Self.evil], [:], 66),
            (["verify", "/none/" + Self.evil], [:], 66),
            (["rules", "check", "/none/" + Self.evil], [:], 66),
            (["rules", "explain", Program.pictureRules, "--document", "/none/" + Self.evil], [:], 66),
            (["gateway", "--listen", Self.evil], [:], 64),
            (["gateway", "--config", "/none/" + Self.evil], [:], 66),
            (["checkpoint", "show", "--state", "/none/" + Self.evil], [:], 66),
            (["checkpoint", "set", Self.evil], [:], 64),
            (["export", "--gateway", Self.noGateway], ["CHANGEBOT_RETRY_FOR": Self.evil], 64),
            (["export"], ["CHANGEBOT_GATEWAY": Self.evil], 64),
            (["run", "--\(Self.evil)"], [:], 64), ([Self.evil], [:], 64), (["run", Self.evil], [:], 64),
            (["run", "--retry-for", Self.evil], [:], 64),
        ]
        for (arguments, environment, code) in cases {
            let result = try await Program.run(arguments, environment: environment)
            #expect(result.code == code, "\(arguments) \(result.errors)")
            #expect(!result.errors.isEmpty, "\(arguments)")
            expectVisible(result.errors)
        }
    }

    @Test func ruleFileNamesAreEscaped() async throws {
        let yaml = """
            version: 1
            rules:
              - name: "a\\e[2J\\u009b\\n\\u202e\\N\\L"
                when: { "x\\e]0;": { "$regx\\e": a } }
                then: []
              - name: b
                when: { a: 1 }
                then: [{ merge: { jq: "\\e[2J" } }]
            tests:
              - name: "t\\e[2J\\r"
                given: { _id: "\\e[2J" }
                expect: { fired: ["a\\e[2J"] }
            """
        try await Program.withDirectory { directory in
            let file = directory + "/r.yaml"
            try Data(yaml.utf8).write(to: URL(fileURLWithPath: file))
            for command in ["check", "test"] {
                let result = try await Program.run(["rules", command, file])
                #expect(result.code == 65, "\(result.errors)")
                expectVisible(result.errors)
                expectVisible(result.output)
            }
        }
    }

    @Test func explanationsAndRuleTestsAreEscaped() async throws {
        let yaml = """
            version: 1
            rules:
              - name: "a\\e[2J\\u009b\\n\\u202e"
                when: { "x\\e]0;": "v\\e[2J" }
                then: [{ merge: { "k\\e[2J": "\\u009b" } }]
            tests:
              - name: "t\\e[2J\\r"
                given: { _id: "\\e[2J", "x\\e]0;": "v\\e[2J" }
                expect: { document: { "x\\e]0;": "\\e" } }
            """
        try await Program.withDirectory { directory in
            let file = directory + "/r.yaml"
            try Data(yaml.utf8).write(to: URL(fileURLWithPath: file))
            let document = directory + "/d.json"
            try Data("{\"_id\":\"\u{9B}\\u001b\",\"x\\u001b]0;\":\"v\u{202E}\"}".utf8)
                .write(to: URL(fileURLWithPath: document))
            let tests = try await Program.run(["rules", "test", file])
            #expect(tests.code == 1, "\(tests.errors)")
            expectVisible(tests.output)
            let explanation = try await Program.run(["rules", "explain", file, "--document", document])
            #expect(explanation.code == 0, "\(explanation.errors)")
            expectVisible(explanation.output)
            let check = try await Program.run(["rules", "check", file])
            expectVisible(check.errors + check.output)
        }
    }

    @Test(arguments: [
        ["run", "--nonsense"], ["exprot"], ["run", "--retry-for", "soon"], ["run", "--once"], ["help", "exprot"],
        ["run", "--once", "--rules", "/none", "--gateway", "http://127.0.0.1:1/todo"], ["dead-letters", "lst"],
        ["export", "--gateway", "http://127.0.0.1:1/todo"], ["rules", "check", "/none.yaml"], ["verify", "/none"],
    ])
    func fatalErrorsAreJSONInJSONLogs(arguments: [String]) async throws {
        for (more, environment) in [([], ["CHANGEBOT_LOG_FORMAT": "json"]), (["--log-format", "json"], [:])] {
            // Some commands lack the option.
            if !more.isEmpty, ["verify", "rules", "help", "exprot", "dead-letters"].contains(arguments[0]) { continue }
            let result = try await Program.run(arguments + more, environment: environment)
            let last = try #require(try lines(result.errors).last).root
            #expect(last["level"]?.string == "error" && last["exit"]?.integer == Int(result.code), "\(result.errors)")
        }
    }

    /// `--quiet` was suggested for `--rule`.
    @Test(arguments: [["rules", "test", "r.yaml", "--rule", "a"], ["fix", "--once"]])
    func optionThatIsNotSimilarIsNotSuggested(arguments: [String]) async throws {
        let result = try await Program.run(arguments)
        #expect(result.code == 64 && !result.errors.contains("Did you mean"), "\(result.errors)")
    }

    @Test(
        arguments: [
            (["exprot"], "Did you mean 'changebot export'?"), (["help", "exprot"], "Did you mean 'changebot export'?"),
            (["dead-letters", "lst"], "Did you mean 'changebot dead-letters list'?"),
            (["deadletters", "list"], "Did you mean 'changebot dead-letters'?"),
            (["rules", "chek", "x.yaml"], "Did you mean 'changebot rules check'?"),
            (["explain"], "Did you mean 'changebot rules explain'?"),
            (
                ["show"],
                "Did you mean 'changebot checkpoint show' or 'changebot dead-letters show' or 'changebot config show'?"
            ),
            (["frobnicate"], "Commands: run, fix"), (["--quiet", "run"], "changebot run --quiet"),
            (["run", "--gatway", "x"], "Did you mean '--gateway'?"),
            // The intended option has another name in this command, or only the same beginning.
            (["fix", "--dry"], "did you mean --dry-run?"), (["run", "--max", "3"], "did you mean --max-errors"),
            (["verify", "f.ndjson", "--gateway", "http://h/d"], "name the gateway with --against URL"),
            (["replicate", "--gateway", "http://h/d"], "changebot replicate SOURCE TARGET"),
            (["export", "--file", "f"], "name the file with --output FILE"),
            (["rules", "check", "--rules", "r.yaml"], "changebot rules check PATH"),
        ] as [([String], String)])
    func nearestNameIsSuggested(arguments: [String], part: String) async throws {
        let result = try await Program.run(arguments)
        #expect(result.code == 64)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    @Test(
        arguments: [
            (["rules", "--help"], "USAGE: changebot rules <subcommand>"),
            (["checkpoint", "show", "-h"], "USAGE: changebot checkpoint show"),
            (["export", "--help"], "--version"), (["help", "fix"], "USAGE: changebot fix"),
        ])
    func helpNamesTheWholeCommand(arguments: [String], part: String) async throws {
        let result = try await Program.run(arguments)
        #expect(result.code == 0 && result.output.contains(part), "\(result.output)")
    }

    /// Each message about an invalid value, on the command line and in the environment, names what is expected, with an
    /// example.
    @Test(
        arguments: [
            (["run"], "since", "yesterday", "7-g1AAAA"), (["export"], "since", "now", "such as 1234"),
            (["run"], "retry-for", "soon", "30s or 5m"), (["run"], "shutdown-grace", "-", "30s or 5m"),
            (["run"], "memory-budget", "much", "24MiB"), (["import", "x"], "max-errors", "101%", "5%"),
            (["fix"], "limit", "few", "such as 100"), (["fix"], "limit", "-1", "0 or more"),
            (["run"], "retry-for", "5", "its unit"),
            (["run"], "retry-for", "-5s", "its unit"), (["gateway"], "shutdown-grace", "-1s", "its unit"),
            (["run"], "memory-budget", "24", "its unit"), (["fix"], "memory-budget", "-1MiB", "of at least 1"),
            (["verify", "x"], "retry-for", "-1s", "its unit"), (["run"], "since", "-1", "7-g1AAAA"),
            (["export"], "since", "-1", "such as 1234"), (["fix"], "max-errors", "-1", "0 or more"),
            (["gateway"], "listen", "127.0.0.1:99999", "from 1 to 65535"),
            (["gateway"], "database", "A b", "lowercase letter"),
            (["verify", "x"], "limit", "1.5", "such as 100"),
            (["export"], "channels", ",", "groceries,orders"), (["run"], "feed", "poll", "continuous"),
            (["run"], "log-level", "loud", "critical"), (["run"], "log-format", "xml", "json"),
            (["run"], "on-reset", "x", "restart"), (["gateway"], "listen", "here", "127.0.0.1:4985"),
            (["checkpoint", "show"], "name", "a/b", "such as pictures"),
        ] as [([String], String, String, String)])
    func invalidValueNamesTheExpectedForm(
        command: [String], option: String, value: String, part: String
    ) async throws {
        let variable = "CHANGEBOT_" + option.uppercased().split(separator: "-").joined(separator: "_")
        let needed = ["CHANGEBOT_RULES": Program.pictureRules, "CHANGEBOT_GATEWAY": Self.noGateway]
        // A value that begins with '-' may be mistaken for an option.
        let separate = value.hasPrefix("-") ? [(["--\(option)", value], needed)] : []
        for (more, environment) in separate + [
            (["--\(option)=\(value)"], needed), ([], needed.merging([variable: value]) { $1 }),
        ] {
            // Only the program itself reads environment variables.
            var message = more.isEmpty ? nil : Self.refusal(command + more)
            if message == nil {
                let result = try await Program.run(command + more, environment: environment)
                #expect(result.code == 64, "\(result.errors)")
                message = result.errors
            }
            #expect(message?.contains(option) == true || message?.contains(variable) == true, "\(message ?? "")")
            #expect(message?.contains(part) == true, "\(message ?? "")")
        }
    }

    /// The parser's message about arguments that it refuses with 64. Faster than running the program, which prints it,
    /// as ``nearestNameIsSuggested(arguments:part:)`` shows. Nil if they are accepted.
    private static func refusal(_ arguments: [String]) -> String? {
        do { _ = try Changebot.parseAsRoot(arguments) } catch {
            return Changebot.exitCode(for: error) == .validationFailure ? Changebot.fullMessage(for: error) : nil
        }
        return nil
    }

    // MARK: - Quiet

    private static let breaking = """
          - name: breaks
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]
          - name: sets
            when: { type: task, done: { $exists: false } }
            then: [{ merge: { done: false } }]

        """

    @Test func quietJobThatFailsPrintsOneLine() async throws {
        let documents = [#"{"_id":"a","type":"broken"}"#, #"{"_id":"b","type":"broken"}"#]
        try await CommandTestBed.with(documents, rules: Self.breaking) { bed in
            let common = [
                "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state, "--quiet",
            ]
            let rows = bed.folder + "/rows.ndjson"
            try Data((documents.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: rows))
            for (command, code, part) in [
                (["fix"] + common, 1, "2 changes became dead letters"),
                (["fix", "--dry-run"] + common, 1, "2 changes would become dead letters"),
                (["run", "--once"] + common, 1, "dead-letters list"),
                (["dead-letters", "retry"] + common, 1, "none of 2 dead letters could be settled"),
                (["import", rows, "--gateway", bed.url, "--quiet"], 1, "2 documents were rejected"),
                (["verify", "/none", "--quiet"], 66, "/none"),
            ] as [([String], Int32, String)] {
                let result = try await Program.run(command)
                #expect(result.code == code, "\(command) \(result.errors)")
                #expect(result.errors.split(separator: "\n").count == 1, "\(command) \(result.errors)")
                #expect(result.errors.contains(part), "\(result.errors)")
            }
        }
    }

    /// Regression: without these options, the suggested command was about another state, or none.
    @Test func advisedCommandsNameTheState() async throws {
        let documents = (0..<25).map { #"{"_id":"d\#($0)","type":"broken"}"# }
        try await CommandTestBed.with(documents, rules: Self.breaking) { bed in
            for (name, since, advice) in [
                ("bot", "0", "see them with: changebot dead-letters list "),
                ("bot", "0", "to move it: changebot checkpoint set SEQUENCE "),
                ("ahead", "99999", "to start at the beginning: changebot checkpoint reset "),
            ] {
                let result = try await bed.runOnce("--name", name, "--since", since)
                let options = "--state \(bed.state) --name \(name) --gateway \(bed.url)"
                #expect(result.errors.contains(advice + options), "\(result.errors.suffix(600))")
            }
        }
    }

    /// A daemon does not end, so it must report them while it runs.
    @Test func quietDaemonReportsDeadLetters() async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"broken"}"#], rules: Self.breaking) { bed in
            let bot = try ChildProcess([
                "/bin/sh", "-c",
                "exec \(Program.path) run --quiet --gateway \(bed.url) --rules \(bed.folder)/r.yaml "
                    + "--state \(bed.state) 2>&1",
            ])
            defer { bot.kill() }
            let line = try #require(await bot.readLine())
            #expect(line.contains("dead-lettered a document") && line.contains("id=a"), "\(line)")
            bot.signal(SIGTERM)
            #expect(await bot.wait() == 0)
        }
    }

    @Test func quietJobThatSucceedsPrintsNothing() async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: Self.breaking) { bed in
            let common = ["--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state]
            let file = bed.folder + "/all.ndjson"
            for command in [
                ["fix"] + common, ["run", "--once"] + common, ["dead-letters", "retry"] + common,
                ["dead-letters", "list", "--state", bed.state],
                ["dead-letters", "drop", "--all", "--state", bed.state],
                ["checkpoint", "set", "1", "--state", bed.state], ["checkpoint", "reset", "--state", bed.state],
                ["export", "--gateway", bed.url, "--output", file],
                ["import", file, "--gateway", bed.url, "--mode", "upsert"],
                ["verify", file], ["verify", file, "--against", bed.url],
            ] {
                let result = try await Program.run(command + ["--quiet"])
                #expect(result.code == 0, "\(command) \(result.errors)")
                #expect(result.errors.isEmpty && result.output.isEmpty, "\(command) \(result.errors)\(result.output)")
            }
        }
    }
}
