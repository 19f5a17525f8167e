import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@Suite(.limitedParallelism) struct FixCommandTests {
    private static let rules = """
        version: 1
        rules:
          - name: complete-missing
            when: { type: task, complete: { $exists: false } }
            then: [{ merge: { complete: false } }]
          - name: stamped
            when: { stamp: true, at: { $exists: false } }
            then: [{ merge: { at: { jq: "$now" } } }]
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]

        """

    /// A gateway with these documents, and a rule file.
    private func withGateway(
        _ documents: [String], _ body: (_ url: String, _ folder: String) async throws -> Void
    ) async throws {
        try await Program.withDirectory { folder in
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            try await Program.withGateway { url in
                let gateway = Gateway(try GatewayURL(url))
                for document in documents {
                    let id = try #require(JSONText(document).root["_id"]?.string)
                    try await gateway.put(DocumentID(id), body: Array(document.utf8))
                }
                await gateway.shutdown()
                try await body(url, folder)
            }
        }
    }

    private func fix(_ url: String, _ folder: String, _ more: String...) async throws -> Program.Result {
        try await Program.run(
            ["fix", "--gateway", url, "--rules", folder + "/r.yaml", "--state", folder + "/state"] + more)
    }

    /// Rules have warnings for the same mistakes.
    @Test(arguments: [#"{"km":{"gt":3}}"#, #"{"km":{"$gt":"3"}}"#])
    func selectorThatLooksWrongIsWarnedOf(selector: String) async throws {
        try await withGateway([]) { url, folder in
            let result = try await fix(url, folder, "--selector", selector)
            #expect(result.code == 0)
            #expect(result.errors.contains("warning a condition of --selector looks wrong reason="), "\(result.errors)")
            #expect(result.errors.contains("1:"), "\(result.errors)")
            let right = try await fix(url, folder, "--selector", #"{"km":{"$gt":3,"$type":"number"}}"#)
            #expect(right.code == 0 && !right.errors.contains("--selector"), "\(right.errors)")
        }
    }

    @Test func misspeltRuleHasASuggestion() async throws {
        let expected = [
            ("complete", "did you mean 'complete-missing'? Rules: complete-missing, "),
            ("Stamped", "did you mean 'stamped'? "), ("other", "there is no rule 'other'; rules: complete-missing, "),
        ]
        try await Program.withDirectory { folder in
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            for (name, part) in expected {
                let result = try await fix("embedded:", folder, "--rule", name)
                #expect(result.code == 64 && result.errors.contains(part), "\(result.errors)")
            }
        }
    }

    @Test func misspeltEmbeddedGatewayHasASuggestion() async throws {
        let result = try await Program.run(["fix", "--gateway", "embeded:todo.sqlite", "--rules", "/none.yaml"])
        #expect(result.code == 64)
        #expect(result.errors.contains("'embeded:todo.sqlite' is not a URL: did you mean 'embedded:todo.sqlite'?"))
    }

    @Test func dryRunShowsWhatTheRunDoes() async throws {
        let documents = [#"{"_id":"a","type":"task"}"#, #"{"_id":"b","stamp":true}"#, #"{"_id":"c"}"#]
        try await withGateway(documents) { url, folder in
            let dry = try await fix(url, folder, "--dry-run", "--now", "7", "--summary", folder + "/dry.json")
            #expect(dry.code == 0, "\(dry.errors)")
            let lines = dry.output.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(
                lines[0].hasSuffix(
                    #""fired":["complete-missing"],"patch":[{"op":"add","path":"/complete","value":false}],"attachments":[],"deleted":false,"effects":[],"error":null}"#
                ) && lines[0].hasPrefix(#"{"id":"a","revision":"1-"#))
            #expect(lines[1].contains(#"[{"op":"add","path":"/at","value":7}]"#))
            let summary = try String(contentsOfFile: folder + "/dry.json", encoding: .utf8)
            #expect(summary.contains(#""written":0"#) && summary.contains(#""would_write":2"#))
            #expect(!FileManager.default.fileExists(atPath: folder + "/state"))

            let real = try await fix(url, folder, "--summary", folder + "/real.json")
            #expect(real.code == 0, "\(real.errors)")
            #expect(real.output == "")
            let done = try String(contentsOfFile: folder + "/real.json", encoding: .utf8)
            #expect(done.contains(#""changes":3,"matched":2,"written":2"#) && done.contains(#""last_seq":null"#))
            #expect(done.contains(#""rules":{"complete-missing":1,"stamped":1}"#))
            #expect(try await fix(url, folder, "--dry-run").output == "")
        }
    }

    @Test func deadLettersSetTheExitCode() async throws {
        let broken = (0..<5).map { #"{"_id":"b\#($0)","type":"broken"}"# }
        try await withGateway(broken + [#"{"_id":"z","type":"task"}"#]) { url, folder in
            let dry = try await fix(url, folder, "--dry-run")
            #expect(dry.errors.contains(" would_dead_letter=5"), "\(dry.errors)")
            #expect(!dry.errors.contains("dead_letters="), "\(dry.errors)")
            #expect(dry.code == 1)
            #expect(dry.output.split(separator: "\n").count == 6)
            let reason = "rule 'broken': patch: operation 1: the path '/none' does not exist in the document"
            #expect(dry.output.contains("\"error\":\"\(reason)\""))
            let limited = try await fix(url, folder, "--max-errors", "2")
            #expect(limited.code == 65)
            #expect(limited.errors.contains("more than --max-errors 2 allows"))
            #expect(try await fix(url, folder, "--max-errors", "90%").code == 1)
            #expect(try await fix(url, folder, "--max-errors", "10%").code == 65)
        }
    }

    /// Regression: the log named 20 of 28, but the command claimed that it named each.
    @Test(arguments: [(20, "the log names each"), (21, "the log names the first 20 of each rule")])
    func logNamesTheDocumentedNumberOfDeadLetters(count: Int, words: String) async throws {
        try await withGateway((0..<count).map { #"{"_id":"b\#($0)","type":"broken"}"# }) { url, folder in
            let dry = try await fix(url, folder, "--dry-run")
            #expect(dry.code == 1)
            #expect(dry.errors.contains("\(count) changes would become dead letters; \(words)"), "\(dry.errors)")
            let named = dry.errors.split(separator: "\n").filter {
                $0.contains(" error would ") && !$0.contains("more documents")
            }
            #expect(named.count == 20, "\(dry.errors)")
        }
    }

    @Test(arguments: [
        (["--rule", "complete-mising"], 64, "did you mean 'complete-missing'?"),
        (["--selector", "{\"a\":}"], 65, "changebot: error: --selector:1:6: not JSON"),
        (["--selector", "{\"$x\":1}"], 65, "'$x' is not an operator"),
        (["--now", "7"], 64, "--now requires --dry-run"), (["--now", "soon"], 64, "soon"),
        (["--limit", "-1"], 64, "--limit"), (["--max-errors", "x"], 64, "x"),
    ])
    func wrongUseIsExplained(arguments: [String], code: Int32, message: String) async throws {
        try await Program.withDirectory { folder in
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            let result = try await Program.run(
                ["fix", "--gateway", "http://127.0.0.1:1/todo", "--rules", folder + "/r.yaml"] + arguments,
                environment: ["XDG_STATE_HOME": folder])
            #expect(result.code == code, "\(result.errors)")
            #expect(result.errors.contains(message), "\(result.errors)")
        }
    }

    /// Regression: with a mistyped name, another state learned, and the bot still saw all documents for the first time.
    @Test func learningForAnUnknownBotIsWarnedOf() async throws {
        try await Program.withDirectory { folder in
            let rules = "version: 1\nrules:\n  - { name: a, when: { type: task }, on: [enter], then: [] }\n"
            try Data(rules.utf8).write(to: URL(fileURLWithPath: folder + "/e.yaml"))
            try Data(#"{"_id":"t","type":"task"}"#.utf8).write(to: URL(fileURLWithPath: folder + "/d.ndjson"))
            let gateway = "embedded:\(folder)/d.sqlite"
            _ = try await Program.run(["import", folder + "/d.ndjson", "--gateway", gateway])
            let shared = ["--gateway", gateway, "--rules", folder + "/e.yaml", "--state", folder + "/s"]
            #expect(try await Program.run(["run", "--once"] + shared).code == 0)
            for (name, isWarned) in [("changebot", false), ("chagebot", true)] {
                let result = try await Program.run(["fix", "--learn", "--name", name] + shared)
                #expect(result.code == 0, "\(result.errors)")
                #expect(result.errors.contains("no bot of this name has run") == isWarned, "\(result.errors)")
            }
        }
    }

    /// Regression: the command reported that the rules fired 0 times, but not how many documents they learned.
    @Test func learnedDocumentsAreCounted() async throws {
        let rules = """
              - { name: done, when: { done: true }, on: [enter], first: learn, then: [] }
              - { name: moved, when: { type: task }, changed: [place], then: [] }
              - { name: plain, when: { type: task }, then: [{ merge: { seen: true } }] }

            """
        let documents = [#"{"_id":"a","type":"task","done":true}"#, #"{"_id":"b","type":"task"}"#, #"{"_id":"c"}"#]
        try await CommandTestBed.with(rules: rules) { bed in
            try await bed.runOnce()
            try await bed.put(documents)
            let (summary, log) = (bed.folder + "/s.json", ["--log-format", "json"])
            let learn = [
                "fix", "--learn", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
            ]
            let dry = try await Program.run(learn + ["--dry-run"])
            let counts = "  3 would be learned by done\n  2 would be learned by moved\n"
            #expect(dry.errors.contains(counts), "\(dry.errors)")
            #expect(dry.errors.contains("would_learn=5"), "\(dry.errors)")
            let first = try await Program.run(learn + ["--summary", summary])
            #expect(first.code == 0, "\(first.errors)")
            #expect(first.errors.contains("  3 learned by done\n  2 learned by moved\n"), "\(first.errors)")
            #expect(!first.errors.contains("plain") && first.errors.contains("learned=5"), "\(first.errors)")
            let written = try JSONText(try String(contentsOfFile: summary, encoding: .utf8))
            #expect(written.root["learned"]?["done"]?.integer == 3)
            // The rules have already learned them.
            let second = try await Program.run(learn + log)
            #expect(
                second.errors.contains(#""message":"rule learned documents","documents":0,"rule":"done""#),
                "\(second.errors)")
        }
    }

    /// Regression: the message advised to wait for the bot, or to use another name, with which the learning would be
    /// useless.
    @Test func learningWhileTheBotRunsIsRefused() async throws {
        let rules = "  - { name: a, when: { type: task }, on: [enter], then: [{ merge: { n: 1 } }] }\n"
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: rules) { bed in
            let bot = try bed.startDaemon()
            try await bed.wait(for: "a") { $0["n"] != nil }
            let learn = try await Program.run([
                "fix", "--learn", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
            ])
            #expect(learn.code == 75, "\(learn.errors)")
            #expect(learn.errors.contains("stop the bot first, or restart it once with --catch-up"), "\(learn.errors)")
            #expect(!learn.errors.contains("another --name"), "\(learn.errors)")
            #expect(await bot.stop() == 0)
        }
    }

    /// Each pass would emit the same lines again.
    @Test func limitWithRulesThatWriteNothingIsWarnedOf() async throws {
        try await Program.withDirectory { folder in
            let rules = """
                version: 1
                rules:
                  - name: lines
                    when: { type: task }
                    then: [{ emit: { file: lines.ndjson, line: { jq: ._id } } }]

                """
            try Data(rules.utf8).write(to: URL(fileURLWithPath: folder + "/e.yaml"))
            let documents = (0..<3).map { #"{"_id":"t\#($0)","type":"task"}"# }.joined(separator: "\n")
            try Data(documents.utf8).write(to: URL(fileURLWithPath: folder + "/d.ndjson"))
            let gateway = "embedded:\(folder)/d.sqlite"
            let loaded = try await Program.run(["import", folder + "/d.ndjson", "--gateway", gateway])
            #expect(loaded.code == 0, "\(loaded.errors)")
            let result = try await Program.run(
                ["fix", "--gateway", gateway, "--rules", folder + "/e.yaml", "--limit", "2", "--state", folder + "/s"])
            #expect(result.code == 0)
            #expect(
                result.errors.contains("no rule changes a document, so the next pass with --limit begins with the same")
            )
            let lines = try String(contentsOfFile: folder + "/lines.ndjson", encoding: .utf8)
            #expect(lines.split(separator: "\n").count == 2)
            #expect(result.errors.contains("emitted=2"), "\(result.errors)")
            #expect(result.errors.contains(", 2 lines emitted"), "\(result.errors)")
        }
    }

    /// Regression: the log said `done`.
    @Test func passStoppedByASignalIsIncomplete() async throws {
        try await Program.withDirectory { folder in
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            let slow = #"{"faults":[{"latency":"10m","on":"_all_docs"}]}"#
            try await Program.withGateway(faults: slow) { url in
                let errors = folder + "/errors"
                func log() -> String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "" }
                let pass = try ChildProcess(
                    [
                        Program.path, "fix", "--gateway", url, "--rules", folder + "/r.yaml", "--state",
                        folder + "/state",
                    ], errors: errors)
                try await pass.waitUntil { log().contains("connected") }
                pass.signal(SIGTERM)
                #expect(await pass.wait() == 0)
                #expect(log().contains(" info stopped ") && !log().contains(" info done "), "\(log())")
            }
        }
    }

    @Test func worksDuringARun() async throws {
        try await withGateway([#"{"_id":"a","type":"task"}"#]) { url, folder in
            let bot = try ChildProcess(
                [
                    Program.path, "run", "--gateway", url, "--rules", folder + "/r.yaml", "--state", folder + "/state",
                    "--log-level", "error",
                ], errors: folder + "/errors")
            // Its first write shows that it runs.
            let phone = Gateway(try GatewayURL(url))
            var since = SequenceID.start
            while try await phone.document("a")?.root["complete"] == nil {
                var answer = try await phone.changes(
                    ChangesRequest(since: since, feed: .longpoll(timeout: .seconds(60))))
                while try await answer.next() != nil {}
                since = answer.lastSequence ?? since
            }
            await phone.shutdown()
            #expect(try await fix(url, folder).code == 0)
            let code = await bot.stop()
            let errors = try String(contentsOfFile: folder + "/errors", encoding: .utf8)
            #expect(code == 0, "\(errors)")
        }
    }

    /// `fix` itself counts nothing.
    @Test func readableDryRunShowsContributions() async throws {
        let rule = """
              - name: counts
                when: { type: task }
                then: [{ aggregate: { into: total, count: { open: true }, sum: { hours: { jq: .hours } } } }]

            """
        try await CommandTestBed.with([#"{"_id":"t1","type":"task","hours":1.5}"#], rules: rule) { bed in
            let run = try await bed.runOnce("--dry-run", "--color", "always")
            #expect(run.code == 0, "\(run.errors)")
            #expect(run.output.contains("adds to total: open 1, hours 1.5"), "\(run.output)")
            #expect(try await bed.document("total") == nil)
        }
    }
}
