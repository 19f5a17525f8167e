import Foundation
import GRDB
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// `changebot pause` and `changebot resume`, with bots that run and bots that do not.
@Suite(.limitedParallelism(minutes: 5)) struct PauseCommandTests {
    private static let rules = """
          - name: stamp
            when: { type: task, stamped: { $exists: false } }
            then: [{ merge: { stamped: true } }]
          - name: mark
            when: { type: task, marked: { $exists: false } }
            then: [{ merge: { marked: true } }]
          - name: count
            when: { type: task }
            then: [{ aggregate: { into: totals, count: { n: true } } }]

        """

    private func isMarked(_ document: JSONValue) -> Bool { document["marked"]?.bool == true }
    private func isStamped(_ document: JSONValue) -> Bool { document["stamped"]?.bool == true }

    /// Returns once `status` contains a text.
    private func wait(
        _ bed: CommandTestBed, _ options: [String] = [], for text: String
    ) async throws {
        try await Program.run(["status", "--state", bed.state] + options) { $0.output.contains(text) }
    }

    private func waitUntilResumed(_ bed: CommandTestBed, _ options: [String] = []) async throws {
        try await Program.run(["status", "--json", "--state", bed.state] + options) {
            $0.output.contains(#""paused_rules":[]"#)
        }
    }

    @Test func runningBotTakesUpOrders() async throws {
        try await CommandTestBed.with([#"{"_id":"before","type":"task"}"#], rules: Self.rules) { bed in
            let bot = try bed.startDaemon()
            try await bed.wait(for: "before", isMarked)
            try await wait(bed, for: "up to date")
            let paused = try await bed.command("pause", "mark")
            #expect(paused.code == 0, "\(paused.errors)")
            #expect(
                paused.errors.contains(
                    "'mark' is paused: the running bot takes this up within seconds; to resume it: changebot resume mark"
                ))
            try await wait(bed, for: "paused        mark, since ")
            try await bed.put([#"{"_id":"during","type":"task"}"#])
            try await bed.wait(for: "during", isStamped)
            #expect(try await bed.document("during")?.root["marked"] == nil)
            #expect(try await bed.command("pause", "mark").errors.contains("'mark' is paused already"))

            let resumed = try await bed.command("resume", "mark")
            #expect(resumed.code == 0 && resumed.errors.contains("makes up for the changes"), "\(resumed.errors)")
            try await bed.wait(for: "during", isMarked)
            try await waitUntilResumed(bed)
            #expect(try await bed.command("resume", "mark").errors.contains("'mark' is not paused"))
            try await bed.put([#"{"_id":"after","type":"task"}"#])
            try await bed.wait(for: "after", isMarked)
            // Counts are complete, too.
            try await bed.wait(for: "totals") { $0["n"]?.integer == 3 }
            #expect(await bot.stop() == 0)
        }
    }

    @Test func orderSurvivesUntilTheBotStarts() async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: Self.rules) { bed in
            #expect(try await bed.command("pause", "mark").code == 66)
            #expect(try await bed.runOnce().code == 0)
            let paused = try await bed.command("pause", "mark", "stamp")
            #expect(paused.code == 0)
            #expect(paused.errors.contains("'mark' is paused: the bot is not running, so this takes effect"))
            try await bed.put([#"{"_id":"b","type":"task"}"#])
            for _ in 0..<2 { #expect(try await bed.runOnce().code == 0) }
            #expect(try await bed.document("b")?.root["marked"] == nil)
            let status = try await bed.command("status").output
            #expect(status.contains("paused rules:") && status.contains("  mark  since "), "\(status)")
            let json = try JSONText(try await bed.command("status", "--json").output)
            #expect(json.root["paused_rules"]?.elements.map { $0["name"]?.string } == ["mark", "stamp"])
            #expect(try await bed.command("resume", "mark").code == 0)
            #expect(try await bed.command("resume", "stamp", "--skip").code == 0)
            let last = try await bed.runOnce()
            #expect(last.code == 0 && last.errors.contains("made up for the changes"), "\(last.errors)")
            #expect(try await bed.document("b")?.root["marked"]?.bool == true)
            // That write is a change, which all rules decide.
            #expect(try await bed.runOnce().code == 0)
            #expect(try await bed.document("b")?.root["stamped"]?.bool == true)
        }
    }

    @Test func wrongRulesAreRefused() async throws {
        try await CommandTestBed.with([], rules: Self.rules) { bed in
            #expect(try await bed.runOnce().code == 0)
            let unknown = try await bed.command("pause", "marc")
            #expect(unknown.code == 64)
            #expect(
                unknown.errors.contains(
                    "the bot has no rule 'marc': did you mean 'mark'? Rules: stamp, mark, count"), "\(unknown.errors)")
            #expect(try await bed.command("resume", "marc").code == 64)
            let counting = try await bed.command("pause", "stamp", "count")
            #expect(counting.code == 64 && counting.errors.contains("needs every change"), "\(counting.errors)")
            #expect(try await bed.command("status", "--json").output.contains(#""paused_rules":[]"#))
            #expect(try await bed.command("pause").code == 64)
            // A rule that was removed can still be resumed.
            #expect(try await bed.command("pause", "mark").code == 0)
            try bed.write(rules: Self.rules.components(separatedBy: "  - name: mark")[0])
            #expect(try await bed.runOnce().code == 0)
            #expect(try await bed.command("resume", "mark").code == 0)
            #expect(try await bed.runOnce().code == 0)
            #expect(try await bed.command("status", "--json").output.contains(#""paused_rules":[]"#))
        }
    }

    /// Rules of a file with `every` wait, and make up for the pass that others of their file had.
    @Test func pausedRulesOfSchedulesWait() async throws {
        try await CommandTestBed.with([#"{"_id":"a"}"#], rules: Self.rules) { bed in
            let text = """
                version: 1
                every: "0 3 * * *"
                rules:
                  - { name: sweep, when: { swept: { $exists: false } }, then: [merge: { swept: true }] }
                  - { name: polish, when: { polished: { $exists: false } }, then: [merge: { polished: true }] }
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: bed.folder + "/s.yaml"))
            func run() async throws {
                let result = try await bed.runOnce("--rules", bed.folder + "/r.yaml", bed.folder + "/s.yaml")
                #expect(result.code == 0, "\(result.errors)")
            }
            try await run()
            #expect(try await bed.command("pause", "sweep").code == 0)
            try bed.changeState("UPDATE schedule SET done = done - 3 * 86400")
            try await run()
            var document = try #require(try await bed.document("a")).root
            #expect(document["polished"]?.bool == true && document["swept"] == nil)
            try bed.changeState("UPDATE paused_rule SET paused_at = paused_at - 60")
            #expect(try await bed.command("resume", "sweep").code == 0)
            try await run()
            document = try #require(try await bed.document("a")).root
            #expect(document["swept"]?.bool == true)
        }
    }

    /// Members that share the work take up orders, too.
    @Test func membersTakeUpOrders() async throws {
        let server = try TestPostgres.shared
        try await CommandTestBed.with(rules: Self.rules) { bed in
            let engine = ["--engine", server.url(), "--fleet", server.uniqueName("pause")]
            let options = ["--gateway", bed.url, "--rules", bed.folder + "/r.yaml"] + engine
            let bots = try (1...2).map { number in
                try ChildProcess(
                    [Program.path, "run"] + options + [
                        "--state", bed.state + "\(number)", "--role", "auto", "--partitions", "8", "--lease", "2s",
                        "--log-level", "error",
                    ])
            }
            func documents(_ prefix: String) -> [String] {
                (0..<20).map { #"{"_id":"\#(prefix)\#($0)","type":"task"}"# }
            }
            func ids(_ prefix: String) -> [DocumentID] { (0..<20).map { DocumentID("\(prefix)\($0)") } }
            try await bed.put(documents("a"))
            _ = try await bed.wait(for: ids("a"), isMarked)
            let paused = try await Program.run(["pause", "mark"] + engine)
            #expect(paused.code == 0 && paused.errors.contains("within seconds"), "\(paused.errors)")
            for number in 1...2 {
                try await Self.waitForStatus(bed.state + "\(number)", "paused        mark", engine)
            }
            try await bed.put(documents("b"))
            let during = try await bed.wait(for: ids("b"), isStamped)
            #expect(during.allSatisfy { $0.root["marked"] == nil })
            #expect(try await Program.run(["resume", "mark"] + engine).code == 0)
            _ = try await bed.wait(for: ids("b"), isMarked)
            try await Program.run(["checkpoint", "show", "--json"] + engine) {
                $0.output.contains(#""paused_rules":[]"#)
            }
            try await bed.put(documents("c"))
            _ = try await bed.wait(for: ids("c"), isMarked)
            try await bed.wait(for: "totals") { $0["n"]?.integer == 60 }
            for bot in bots { #expect(await bot.stop() == 0) }
        }
    }

    private static func waitForStatus(_ state: String, _ text: String, _ engine: [String]) async throws {
        try await Program.run(["status", "--state", state] + engine) { $0.output.contains(text) }
    }
}

extension CommandTestBed {
    /// Changes the tables of the state of a bot that is not running.
    func changeState(_ sql: String) throws {
        let database = try DatabaseQueue(path: state + "/changebot.sqlite")
        try database.write { try $0.execute(sql: sql) }
        try database.close()
    }
}
