import Bots
import Foundation
import GRDB
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Timers and scheduled passes, as a user configures them.
@Suite(.limitedParallelism) struct TimeCommandTests {
    private static let rules = """
        - name: remind
          when: { type: task }
          at: .dueAt
          then: [{ merge: { late: true } }]

        """

    private func writeScheduled(
        _ bed: CommandTestBed, every line: String = "0 3 * * *", then: String = "merge: { swept: true }"
    ) throws {
        let text = """
            version: 1
            every: "\(line)"
            time_zone: Europe/Berlin
            rules:
              - { name: sweep, when: { swept: { $exists: false } }, then: [\(then)] }
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: bed.folder + "/s.yaml"))
    }

    private func run(_ bed: CommandTestBed, crashingAt place: String? = nil) async throws -> Program.Result {
        try await Program.run(
            [
                "run", "--once", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", bed.folder + "/s.yaml",
                "--state", bed.state,
            ], environment: place.map { ["CHANGEBOT_CRASH_AT": $0] } ?? [:])
    }

    /// Makes the bot miss passes, as if it had been down for some days.
    private func missPasses(_ bed: CommandTestBed, days: Int = 3) throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: bed.state)
        let file = try #require(files.first { $0.hasPrefix("changebot") && $0.hasSuffix(".sqlite") }, "\(files)")
        let database = try DatabaseQueue(path: bed.state + "/" + file)
        try database.write { try $0.execute(sql: "UPDATE schedule SET done = done - \(days) * 86400") }
        try database.close()
    }

    @Test func missedPassesRunOnceAndNotForChanges() async throws {
        try await CommandTestBed.with([#"{"_id":"a"}"#], rules: Self.rules) { bed in
            try writeScheduled(bed)
            let first = try await run(bed)
            #expect(first.code == 0, "\(first.errors)")
            #expect(try await bed.document("a")?.root["swept"] == nil)
            try missPasses(bed)
            let second = try await run(bed)
            #expect(second.code == 0, "\(second.errors)")
            #expect(second.errors.contains("finished a scheduled pass over all documents"), "\(second.errors)")
            #expect(try await bed.document("a")?.root["swept"]?.bool == true)
            let third = try await run(bed)
            #expect(!third.errors.contains("applying rules"), "\(third.errors)")
        }
    }

    /// `fix` would store no timers for these rules.
    @Test func newScheduledRulesCatchUpLater() async throws {
        let documents = [#"{"_id":"past","type":"task","dueAt":1}"#, #"{"_id":"later","type":"task","dueAt":4e9}"#]
        try await CommandTestBed.with(documents, rules: "- { name: other, when: { a: 1 }, then: [] }\n") { bed in
            #expect(try await bed.runOnce().code == 0)
            try bed.write(rules: Self.rules)
            let told = try await bed.runOnce()
            #expect(
                told.errors.contains(
                    "to apply them to older documents: start the bot with --catch-up-changed-rules, once"),
                "\(told.errors)")
            #expect(!told.errors.contains("changebot fix"), "\(told.errors)")
            // A change under the new rules: what has fired for it does not fire again.
            try await bed.put([#"{"_id":"new","type":"task","dueAt":2}"#])
            #expect(try await bed.runOnce().code == 0)
            let fired = try await bed.document("new")?.root["_rev"]?.string
            #expect(try await bed.document("past")?.root["late"] == nil)
            let run = try await bed.runOnce("--catch-up-changed-rules")
            #expect(run.errors.contains("applied new and changed rules to all documents"), "\(run.errors)")
            #expect(try await bed.document("past")?.root["late"]?.bool == true)
            #expect(try await bed.document("new")?.root["_rev"]?.string == fired)
            #expect(try await bed.command("checkpoint", "show").output.contains("later"))
            let again = try await bed.runOnce("--catch-up-changed-rules")
            #expect(!again.errors.contains("applying new and changed rules"), "\(again.errors)")
        }
    }

    @Test(arguments: ["passBegun", "written", "passDone"])
    func killedPassBeginsAgain(place: String) async throws {
        try await CommandTestBed.with([#"{"_id":"a"}"#], rules: Self.rules) { bed in
            try writeScheduled(bed)
            #expect(try await run(bed).code == 0)
            try missPasses(bed)
            #expect(try await run(bed, crashingAt: place).code == -SIGKILL)
            let second = try await run(bed)
            #expect(second.errors.contains("finished a scheduled pass over all documents"), "\(second.errors)")
            #expect(try await bed.document("a")?.root["_rev"]?.string?.hasPrefix("2-") == true)
            #expect(try await !run(bed).errors.contains("applying rules"))
        }
    }

    @Test func passesHaveTheirOwnEventsAndAKilledOneRepeatsThem() async throws {
        try await CommandTestBed.with([#"{"_id":"a"}"#], rules: Self.rules) { bed in
            try writeScheduled(bed, then: "emit: { file: out.ndjson }")
            #expect(try await run(bed).code == 0)
            func ids() throws -> [String] {
                try String(contentsOfFile: bed.folder + "/out.ndjson", encoding: .utf8).split(separator: "\n")
                    .compactMap {
                        try JSONText(String($0)).root["id"]?.string
                    }
            }
            try missPasses(bed)
            #expect(try await run(bed, crashingAt: "outsideEffectsDone").code == -SIGKILL)
            #expect(try await run(bed).code == 0)
            try missPasses(bed, days: 1)
            #expect(try await run(bed).code == 0)
            let found = try ids()
            #expect(found.count == 3)
            #expect(found.first == found.dropFirst().first)
            #expect(Set(found).count == 2)
        }
    }

    @Test func reloadAppliesANewSchedule() async throws {
        try await CommandTestBed.with([#"{"_id":"a"}"#], rules: Self.rules) { bed in
            try writeScheduled(bed)
            let bot = try ChildProcess([
                Program.path, "run", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", bed.folder + "/s.yaml",
                "--state", bed.state, "--log-level", "error",
            ])
            try await bed.put([#"{"_id":"t","type":"task","dueAt":1}"#])
            try await bed.wait(for: "t") { $0["late"] != nil }
            try writeScheduled(bed, every: "*/5 * * * *")
            bot.signal(SIGHUP)
            var lines: [String] = []
            for _ in 0..<500 where !lines.contains(where: { $0.contains("*/5") }) {
                lines = [try await bed.command("checkpoint", "show").output]
            }
            #expect(lines.contains { $0.contains("*/5") }, "\(lines)")
            await bot.stop()
        }
    }

    @Test func dueTimesAreShown() async throws {
        let task = #"{"_id":"t","type":"task","dueAt":"2999-01-01"}"#
        try await CommandTestBed.with([task], rules: Self.rules) { bed in
            try writeScheduled(bed)
            #expect(try await run(bed).code == 0)
            let text = try await bed.command("checkpoint", "show").output
            #expect(text.contains("1 timer:\n  2999-01-01T00:00:00Z  remind  t\n"), "\(text)")
            #expect(text.contains(":00:00Z  sweep  (0 3 * * *, Europe/Berlin)"), "\(text)")
            let json = try JSONText(try await bed.command("checkpoint", "show", "--json").output)
            #expect(json.root["timers"]?["waiting"]?.bytes.elementsEqual("1".utf8) == true)
            #expect(json.root["timers"]?["next"]?.element(0)?["at"]?.string == "2999-01-01T00:00:00Z")
            #expect(json.root["passes"]?.element(0)?["every"]?.string == "0 3 * * *")
            #expect(json.root["passes"]?.element(0)?["next"]?.string?.hasSuffix(":00:00Z") == true)
        }
    }

    @Test func dryRunShowsWhenPassesWouldRun() async throws {
        try await CommandTestBed.with([#"{"_id":"a"}"#], rules: Self.rules) { bed in
            try writeScheduled(bed)
            let result = try await Program.run([
                "run", "--once", "--dry-run", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml",
                bed.folder + "/s.yaml", "--state", bed.state,
            ])
            #expect(result.code == 0, "\(result.errors)")
            let line = result.errors.split(separator: "\n").first { $0.contains("would apply rules to all documents") }
            #expect(line?.contains("rules=sweep") == true && line?.contains("next=") == true, "\(result.errors)")
            #expect(try await bed.document("a")?.root["swept"] == nil)
        }
    }
}
