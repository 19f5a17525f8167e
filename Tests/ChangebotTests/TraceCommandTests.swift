import Foundation
import LosslessJSON
import TestKit
import Testing

/// `changebot trace`.
@Suite(.limitedParallelism) struct TraceCommandTests {
    private static let rules = """
          - name: stamp
            when: { type: task, stamped: { $exists: false } }
            then: [{ merge: { stamped: true } }]
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]

        """
    private static let documents = [#"{"_id":"t 1","type":"task"}"#, #"{"_id":"b","type":"broken"}"#]

    private func traced(_ body: (CommandTestBed) async throws -> Void) async throws {
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            #expect(try await bed.runOnce("--trace-days", "7").code == 1)
            try await body(bed)
        }
    }

    @Test func traceShowsWhatTheBotDid() async throws {
        try await traced { bed in
            let text = try await bed.command("trace", "t 1")
            #expect(text.code == 0 && text.errors == "")
            let line = /[-0-9T:]+Z  decided 1-[0-9a-f]+ by stamp: wrote 2-[0-9a-f]+\n/
            #expect(text.output.wholeMatch(of: line) != nil, "\(text.output)")
            let broken = try await bed.command("trace", "b")
            #expect(broken.output.contains("dead letter 1, 1-"), "\(broken.output)")
            #expect(broken.output.contains(" of broken: ") && broken.output.contains("/none"), "\(broken.output)")
            #expect(try await bed.command("dead-letters", "drop", "--all").code == 0)
            #expect(try await bed.command("trace", "b").output.hasSuffix(" of broken: removed since\n"))
            let json = try JSONText(try await bed.command("trace", "t 1", "--json").output)
            #expect(
                json.root.members.map { $0.name.string } == [
                    "at", "id", "state", "kind", "result", "revision", "new_revision", "rules",
                ])
            #expect(json.root["id"]?.string == "t 1" && json.root["state"]?.string == "changebot")
        }
    }

    /// Retries and `fix` continue the trace.
    @Test func traceIncludesRetriesAndPasses() async throws {
        try await traced { bed in
            try bed.write(
                rules: Self.rules.replacing("patch: [{ op: remove, path: /none }]", with: "merge: { type: mended }"))
            #expect(try await bed.retry().code == 0)
            try bed.write(rules: Self.rules)
            try await bed.put([#"{"_id":"b","type":"broken"}"#])
            let fix = try await Program.run(
                [
                    "fix", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
                    "--trace-days", "7",
                ])
            #expect(fix.code == 1, "\(fix.errors)")
            let lines = try await bed.command("trace", "b", "--json").output.split(separator: "\n")
                .map { try JSONText(String($0)).root }
            #expect(
                lines.map { $0["kind"]?.string } == [
                    "dead-letter", "decision", "dead-letters-removed", "dead-letter",
                ], "\(lines)")
            #expect(lines.map { $0["state"]?.string } == ["changebot", "changebot", "changebot", "fix-changebot"])
            #expect(lines.dropFirst().first?["cause"]?.string == "retry")
        }
    }

    @Test func absenceIsExplained() async throws {
        try await traced { bed in
            let unknown = try await bed.command("trace", "nobody")
            #expect(unknown.code == 0 && unknown.output == "")
            #expect(
                unknown.errors.contains("the bot did nothing to 'nobody' in the last 7 days"), "\(unknown.errors)")
            #expect(try await bed.runOnce().code == 0)
            let off = try await bed.command("trace", "t 1")
            #expect(off.code == 0 && off.output == "")
            #expect(off.errors.contains("run it with --trace-days 7"), "\(off.errors)")
            #expect(try await bed.command("trace", "t 1", name: "other").code == 66)
        }
    }

    @Test func invalidNumbersOfDaysAreRefused() async throws {
        try await CommandTestBed.with([], rules: Self.rules) { bed in
            for days in ["-1", "x", "36501"] {
                let result = try await bed.runOnce("--trace-days", days)
                #expect(result.code == 64 && result.errors.contains("trace-days"), "\(result.errors)")
            }
            let path = bed.folder + "/bot.yaml"
            func write(_ days: String) throws {
                let text =
                    "version: 1\nstate: state\nbots:\n  - { name: a, gateway: '\(bed.url)', rules: r.yaml, trace_days: \(days) }\n"
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            }
            try write("many")
            let refused = try await Program.run(["run", "--once", "--config", path])
            #expect(refused.code == 78 && refused.errors.contains("bot.yaml:4:"), "\(refused.errors)")
            try write("3")
            #expect(try await Program.run(["run", "--once", "--config", path]).code == 0)
            let absent = try await Program.run(["trace", "a", "--config", path])
            #expect(absent.code == 0 && absent.errors.contains("in the last 3 days"), "\(absent.errors)")
        }
    }
}
