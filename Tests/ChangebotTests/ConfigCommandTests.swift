import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// `config show`, `config check` and `run --config`, as a user runs them.
@Suite(.limitedParallelism) struct ConfigCommandTests {
    private func withFile<Result>(
        _ text: String, _ body: (_ folder: String, _ path: String) async throws -> Result
    ) async throws -> Result {
        try await Program.withDirectory { folder in
            let path = folder + "/changebot.yaml"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let rules = """
                version: 1
                rules:
                  - {name: stamp, when: {type: task, done: {$exists: false}}, then: [{merge: {done: true}}]}

                """
            try Data(rules.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            return try await body(folder, path)
        }
    }

    private static let two = """
        version: 1
        retry_for: 7s
        bots:
          - name: a
            gateway: http://127.0.0.1:1/todo
            rules: r.yaml
          - name: b
            gateway: http://127.0.0.1:1/todo
            rules: r.yaml
            retry_for: 8s

        """

    /// Including values that are read late.
    @Test(
        arguments: [
            ("lease: 1s", ":5:12: 'lease' must be from 2s to 1h", 78),
            ("lease: 2h", ":5:12: 'lease' must be from 2s to 1h", 78),
            ("partitions: x", ":5:17: 'partitions' is not valid: 'x'; write a whole number", 78),
            ("partitions: 4", "write 'role: auto'", 78), ("ca_file: none.pem", ":5:14: 'ca_file': can't read", 66),
            ("summary: none/s.json", ":5:14: can't create", 73), ("color: pink", ":2:8: 'color' is not valid", 78),
            (
                "auth: session",
                ":5:11: 'auth: session' needs a user and a password: write 'user' and 'password_file' in", 78
            ),
        ] as [(String, String, Int32)])
    func badValueNamesItsPlace(setting: String, message: String, code: Int32) async throws {
        let own = setting.hasPrefix("color") ? "" : "    \(setting)\n"
        let common = setting.hasPrefix("color") ? "\(setting)\n" : ""
        let text =
            "version: 1\n\(common)bots:\n  - name: a\n    engine: postgres://127.0.0.1:1/x\n\(own)"
            + "    gateway: http://127.0.0.1:1/todo\n    rules: r.yaml\n"
        try await withFile(text) { _, path in
            let result = try await Program.run(["config", "check", "--config", path])
            #expect(result.errors.contains(message), "\(result.errors)")
            #expect(result.code == code)
        }
    }

    @Test func statusBeforeTheFirstRunSaysSo() async throws {
        try await withFile(Self.two.replacing("retry_for: 7s", with: "state: state")) { _, path in
            let result = try await Program.run(["status", "--config", path, "--bot", "a"])
            #expect(result.code == 66)
            #expect(result.errors.contains("has not run yet: it has no state in"), "\(result.errors)")
            #expect(result.errors.contains("start it with changebot run --config \(path)"), "\(result.errors)")
        }
    }

    @Test func showHasTheDefaultOfRetryFor() async throws {
        let result = try await Program.run(["config", "show"])
        #expect(result.output.contains(try Regex("retry_for +300s +default")), "\(result.output)")
    }

    @Test func showNamesTheSourceOfEachValueAndNoSecret() async throws {
        try await withFile(Self.two) { folder, path in
            let result = try await Program.run(
                ["config", "show", "--config", path, "--json"],
                environment: [
                    "CHANGEBOT_FEED": "continuous", "CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "hunter2",
                ])
            #expect(result.code == 0)
            #expect(!result.output.contains("hunter2"))
            let bots = try result.output.split(separator: "\n").map { try JSONText(String($0)).root }
            #expect(bots.map { $0["name"]?["value"]?.string } == ["a", "b"])
            #expect(bots.map { $0["retry_for"]?["value"]?.string } == ["7s", "8s"])
            #expect(bots[1]["retry_for"]?["source"]?.string == "\(path):10:16")
            #expect(bots[0]["feed"]?["source"]?.string == "CHANGEBOT_FEED")
            #expect(bots[0]["password"]?["value"]?.string == "********")
            #expect(bots[0]["auth"]?["source"]?.string == "default")
            // The default depends on the rules.
            #expect(bots[0]["on_reset"]?["source"]?.string == "not set")
            // The start depends on the copy of the checkpoint in the database.
            #expect(bots[0]["since"]?["source"]?.string == "not set")
            let lines = try await Program.run(["config", "show", "--config", path, "--bot", "b"]).output
            #expect(lines.contains("retry_for") && lines.contains("\(path):10:16"))
            #expect(!lines.contains(" a "))
        }
    }

    @Test func checkReportsAllMistakesAtOnce() async throws {
        let text = """
            version: 1
            retry_for: soon
            max_erors: 5
            bots:
              - name: a
                gateway: ftp://h/db
                rules: bad.yaml
                feed: sometimes
              - name: b
                gateway: http://127.0.0.1:1/todo
                rules: worse.yaml
                since: yesterday
              - name: c
                gateway: http://127.0.0.1:1/todo
                rules: r.yaml
                on_reset: maybe
                auth: never
              - name: d

            """
        try await withFile(text) { folder, path in
            for name in ["bad", "worse"] {
                try Data("version: 1\nrules: [{}]\n".utf8).write(to: URL(fileURLWithPath: folder + "/\(name).yaml"))
            }
            let result = try await Program.run(["config", "check", "--config", path])
            #expect(result.code == 78)
            let lines = result.errors.split(separator: "\n").map(String.init)
            for place in ["2:12", "3:1", "6:14", "8:11", "12:12", "16:15", "17:11"] {
                #expect(lines.filter { $0.contains("changebot.yaml:\(place): ") }.count == 1, "\(place): \(lines)")
            }
            #expect(lines.contains { $0.contains("bad.yaml:2:9") } && lines.contains { $0.contains("worse.yaml:2:9") })
            #expect(lines.filter { $0.contains("changebot.yaml:18:11: the bot has no") }.count == 2, "\(lines)")
        }
    }

    /// Regression: two bots with one fleet were reported only if there were no other mistakes, and without their
    /// places.
    @Test func checkNamesThePlacesOfMissingFilesAndOfSharedFleets() async throws {
        let text = """
            version: 1
            engine: postgres://127.0.0.1/x
            fleet: f
            bots:
              - name: a
                gateway: http://127.0.0.1:1/todo
                rules: missing.yaml
                on_reset: maybe
              - name: b
                gateway: http://127.0.0.1:1/todo
                rules: [r.yaml, gone.yaml]
                user: amy
                password_file: nope

            """
        try await withFile(text) { folder, path in
            let result = try await Program.run(["config", "check", "--config", path])
            #expect(result.code == 78)
            let lines = result.errors.split(separator: "\n").map { $0.replacing(folder + "/", with: "") }
            #expect(
                lines.sorted() == [
                    "changebot.yaml:11:12: 'rules': gone.yaml: does not exist; correct the path or create the file",
                    "changebot.yaml:13:20: can't read the password file nope ('password_file'): there is no such file; "
                        + "correct the path or its permissions",
                    "changebot.yaml:7:12: 'rules': missing.yaml: does not exist; correct the path or create the file",
                    "changebot.yaml:8:15: 'on_reset' is not valid: 'maybe'; write restart or stop",
                    "changebot.yaml:9:11: the bots 'a' and 'b' have the same fleet: give each its own 'fleet'",
                ])
            let run = try await Program.run(["run", "--once", "--config", path, "--bot", "b"])
            #expect(run.code == 66 && run.errors.contains("changebot.yaml:11:12: 'rules': "), "\(run.errors)")
        }
    }

    @Test func checkAlsoReadsTheRules() async throws {
        try await withFile(Self.two) { folder, path in
            let good = try await Program.run(["config", "check", "--config", path])
            #expect(good.code == 0, "\(good.errors)")
            #expect(
                good.errors.contains("a: 1 rule, http") && good.errors.contains("b: 1 rule, http"), "\(good.errors)")
            try Data("version: 1\nrules: [{}]\n".utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            let bad = try await Program.run(["config", "check", "--config", path])
            #expect(bad.code == 65)
            #expect(bad.errors.contains("r.yaml:2:9"), "\(bad.errors)")
        }
    }

    @Test(
        arguments: [
            ("version: 1\nrules: r.yaml\n", [], 78, "changebot.yaml:1:1: the bot has no 'gateway'"),
            (
                "version: 1\nbots:\n  - name: a\n    gateway: http://h/db\n", [], 78,
                "changebot.yaml:3:11: the bot has no 'rules'"
            ),
            ("version: 1\ngateway: ftp://h/db\nrules: r.yaml\n", [], 78, "changebot.yaml:2:10: "),
            ("version: 1\nname: ../x\ngateway: http://h/db\nrules: r.yaml\n", [], 78, "changebot.yaml:2:7: "),
            ("version: 1\nhttp: 0.0.0.0:80\ngateway: http://h/db\nrules: r.yaml\n", [], 78, "changebot.yaml:2:7: "),
            (
                "version: 1\nhttp: 0.0.0.0:80\ngateway: http://h/db\nrules: r.yaml\n", [], 78,
                "write http_allow_remote: true, or listen on 127.0.0.1"
            ),
            (
                "version: 1\ngateway: http://amy:secret@h/db\nrules: r.yaml\n", [], 78,
                "changebot.yaml:2:10: a secret does not belong in this file"
            ),
            ("version: 1\ngateway: http://h/db\nrules: r.yaml\nauth: session\n", [], 78, "changebot.yaml:4:7: "),
            ("version: 1\non_bot_failure: maybe\ngateway: http://h/db\nrules: r.yaml\n", [], 78, "continue or stop"),
            (
                "version: 1\ngateway: http://h/db\nrules: r.yaml\nsummary: changebot.yaml\n", [], 78,
                "changebot.yaml:4:10: 'summary'"
            ),
            (
                "version: 1\nsummary: r.yaml\ngateway: http://h/db\nrules: r.yaml\n", [], 78,
                "changebot.yaml:2:10: 'summary'"
            ),
            (
                """
                version: 1
                bots:
                  - {name: a, gateway: http://h/db, rules: r.yaml, summary: s.json}
                  - {name: b, gateway: http://h/db, rules: r.yaml, summary: s.json}

                """, [], 64, "summary of b"
            ),
            (
                """
                version: 1
                bots:
                  - {name: a, gateway: "embedded:g.sqlite", rules: r.yaml}
                  - {name: b, gateway: "embedded:g.sqlite", rules: r.yaml}

                """, [], 78, "the bots 'a' and 'b' would open the same file"
            ),
            (two, ["--gateway", "http://h/db"], 64, "--gateway would apply to all 2 bots"),
            (two, ["--bot", "c"], 64, "has no bot 'c'; bots there: a, b"),
        ] as [(String, [String], Int32, String)])
    func errorsNameTheirPlace(text: String, more: [String], code: Int32, part: String) async throws {
        try await withFile(text) { _, path in
            let result = try await Program.run(["run", "--once", "--config", path] + more)
            #expect(result.code == code, "\(result.errors)")
            #expect(result.errors.contains(part), "\(result.errors)")
            #expect(!result.errors.contains("secret@"))
        }
    }

    @Test func botWithoutAFileIsRefused() async throws {
        let result = try await Program.run(["run", "--bot", "a"])
        #expect(result.code == 64)
        #expect(result.errors.contains("add --config FILE"))
    }

    @Test func severalBotsRunInOneProcessAndSurviveAFailure() async throws {
        try await Program.withGateway { url in
            let text = """
                version: 1
                state: state
                bots:
                  - {name: broken, gateway: "http://127.0.0.1:1/todo", rules: r.yaml}
                  - {name: good, gateway: "\(url)", rules: r.yaml, summary: good.json}

                """
            try await withFile(text) { folder, path in
                let bed = CommandTestBed(url: url, folder: folder)
                try await bed.put([#"{"_id":"t","type":"task"}"#])
                let result = try await Program.run(["run", "--once", "--config", path])
                #expect(result.code == 69, "\(result.errors)")
                #expect(result.errors.contains("failed: broken"), "\(result.errors)")
                #expect(try await bed.document("t")?.root["done"]?.bool == true)
                let summary = try String(contentsOfFile: folder + "/good.json", encoding: .utf8)
                #expect(summary.contains(#""written":1"#))
                let one = try await Program.run(["run", "--once", "--config", path, "--bot", "good"])
                #expect(one.code == 0)
                // Other commands get the bot's gateway and state from the file.
                let shown = try await Program.run(["checkpoint", "show", "--config", path, "--bot", "good", "--json"])
                #expect(shown.output.contains(url), "\(shown.output)\(shown.errors)")
                let unnamed = try await Program.run(["checkpoint", "show", "--config", path])
                #expect(unnamed.code == 64 && unnamed.errors.contains("name one with --bot"), "\(unnamed.errors)")
            }
        }
    }

    /// From a folder other than that of the configuration file.
    @Test(arguments: [1, 2]) func suggestedCommandsFindStateAndRulesByTheConfigurationFile(bots: Int) async throws {
        let rules = """
            version: 1
            rules:
              - name: breaks
                when: { type: task }
                then: [{ patch: [{ op: remove, path: /none }] }]

            """
        try await Program.withGateway { url in
            let other = bots == 1 ? "" : "\n  - {name: other, gateway: \"\(url)\", rules: breaks.yaml}"
            let text = """
                version: 1
                state: state
                bots:
                  - {name: good, gateway: "\(url)", rules: breaks.yaml}\(other)

                """
            try await withFile(text) { folder, path in
                try rules.write(toFile: folder + "/breaks.yaml", atomically: true, encoding: .utf8)
                try await CommandTestBed(url: url, folder: folder).put([#"{"_id":"t","type":"task"}"#])
                let result = try await Program.run(["run", "--once", "--config", path, "--bot", "good"])
                let options = ["--config", path] + (bots == 1 ? [] : ["--bot", "good"])
                let command = ["dead-letters", "list"] + options
                #expect(
                    result.errors.contains("see them with: changebot \(command.joined(separator: " "))\n"),
                    "\(result.errors)")
                let list = try await Program.run(command)
                #expect(list.code == 0 && list.output.contains("breaks"), "\(list.errors)")
                let retry = try await Program.run(["dead-letters", "retry", "1"] + options)
                #expect(retry.code == 1, "\(retry.errors)")
                // An option that differs from the file must be repeated.
                let named = try await Program.run(
                    ["run", "--once", "--config", path, "--bot", "good", "--since", "0", "--state", folder + "/second"])
                #expect(
                    named.errors.contains("\(command.joined(separator: " ")) --state \(folder)/second\n"),
                    "\(named.errors)")
            }
        }
    }

    @Test func deadLettersOfAllBotsOfAFileAreListed() async throws {
        try await Program.withGateway { url in
            let text = """
                version: 1
                state: state
                bots:
                  - {name: absent, gateway: "\(url)", rules: r.yaml}
                  - {name: present, gateway: "\(url)", rules: r.yaml}

                """
            try await withFile(text) { folder, path in
                _ = try await Program.run(["run", "--once", "--config", path, "--bot", "present"])
                let list = try await Program.run(["dead-letters", "list", "--config", path])
                #expect(list.code == 0, "\(list.errors)")
                #expect(list.errors.contains("absent: no state yet"), "\(list.errors)")
                #expect(list.errors.contains("present: no dead letters"), "\(list.errors)")
                let counts = try await Program.run(["dead-letters", "list", "--count", "--json", "--config", path])
                #expect(counts.output == #"{"bot":"present","dead_letters":0,"rules":{},"no_rule":0}"# + "\n")
            }
        }
    }

    @Test func statusShowsTheOthersIfABotHasNotRunYet() async throws {
        try await Program.withGateway { url in
            let text = """
                version: 1
                state: state
                bots:
                  - {name: absent, gateway: "http://127.0.0.1:1/todo", rules: r.yaml}
                  - {name: present, gateway: "\(url)", rules: r.yaml}

                """
            try await withFile(text) { _, path in
                _ = try await Program.run(["run", "--once", "--config", path])
                let status = try await Program.run(["status", "--config", path])
                #expect(status.code == 0 && status.output.contains("present: not running"), "\(status)")
                #expect(status.errors.contains("'absent'"), "\(status)")
            }
        }
    }

    @Test func failedBotStopsTheOthersIfConfigured() async throws {
        try await Program.withGateway { url in
            let text = """
                version: 1
                state: state
                on_bot_failure: stop
                bots:
                  - {name: refused, gateway: "\(url)-no-such-database", rules: r.yaml}
                  - {name: good, gateway: "\(url)", rules: r.yaml}

                """
            try await withFile(text) { _, path in
                let result = try await Program.run(["run", "--config", path])
                #expect(result.code == 66 || result.code == 77, "\(result.errors)")
                #expect(result.errors.contains("a bot has ended bot=refused"), "\(result.errors)")
                #expect(result.errors.contains("done bot=good"), "\(result.errors)")
            }
        }
    }

    @Test func worldReadablePasswordIsWarnedOf() async throws {
        try await withFile("version: 1\ngateway: http://127.0.0.1:1/todo\nrules: r.yaml\nuser: amy\npassword_file: p\n")
        {
            folder, path in
            let password = folder + "/p"
            try Data("hunter2".utf8).write(to: URL(fileURLWithPath: password))
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: password)
            for command in [["run", "--once"], ["config", "check"]] {
                let result = try await Program.run(command + ["--config", path])
                #expect(result.errors.contains("every user of this machine can read"), "\(result.errors)")
            }
        }
    }

    @Test func schemaIsPrinted() async throws {
        let file = try String(contentsOfFile: Program.root + "/assets/configuration.schema.json", encoding: .utf8)
        #expect(try await Program.run(["config", "schema"]).output == file)
    }
}
