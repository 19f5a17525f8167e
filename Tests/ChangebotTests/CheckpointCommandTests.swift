import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@Suite(.limitedParallelism) struct CheckpointCommandTests {
    private static let rules = """
          - name: complete-missing
            when: { type: task, complete: { $exists: false } }
            then: [{ merge: { complete: false } }]
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]

        """

    private func shown(_ bed: CommandTestBed) async throws -> JSONText {
        let result = try await bed.command("checkpoint", "show", "--json")
        #expect(result.code == 0, "\(result.errors)")
        return try JSONText(result.output)
    }

    @Test func showPrintsEverythingInTheState() async throws {
        let documents = [#"{"_id":"a","type":"task"}"#, #"{"_id":"b","type":"broken"}"#]
        try await CommandTestBed.with(documents, rules: Self.rules) { bed in
            try await bed.runOnce()
            let state = try await shown(bed).root
            #expect(state["name"]?.string == "changebot")
            #expect(state["gateway"]?.string == bed.url)
            #expect(state["sequence"]?.kind == .string || state["sequence"]?.kind == .number)
            #expect(state["rule_set"]?.string?.count == 64)
            #expect(state["saved_at"]?.string?.hasSuffix("Z") == true)
            #expect(state["dead_letters"]?.integer == 1)
            #expect(state["held_by"]?.kind == .null)
            #expect(state["history"]?.elements.contains { $0["sequence"] != nil } == true)

            let text = try await bed.command("checkpoint", "show")
            #expect(text.code == 0)
            #expect(text.errors == "")
            for fact in ["changebot", bed.url, try #require(state["rule_set"]?.string)] {
                #expect(text.output.contains(fact))
            }
        }
    }

    @Test func checkpointsOfARunningBotCanBeShownButNotSet() async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"task"}"#], rules: Self.rules) { bed in
            let bot = try bed.startDaemon()
            try await bed.wait(for: "a") { $0["complete"] != nil }
            let holder = try #require(try await shown(bed).root["held_by"]?.string)
            #expect(holder.hasPrefix("pid "))
            for arguments in [["set", "1"], ["reset"]] {
                let result = try await Program.run(["checkpoint"] + arguments + ["--state", bed.state])
                #expect(result.code == 75)
                #expect(result.errors.contains(holder), "\(result.errors)")
            }
            let code = await bot.stop()
            #expect(code == 0)
        }
    }

    @Test(arguments: [("12", "12"), ("\"12\"", "\"12\""), ("7-g1AAAA", "\"7-g1AAAA\""), ("2:5", "\"2:5\"")])
    func setMovesTheCheckpointAndTheNextRunContinuesThere(argument: String, json: String) async throws {
        try await CommandTestBed.with(rules: Self.rules) { bed in
            try await bed.runOnce()
            let rules = try await shown(bed).root["rule_set"]?.string
            let set = try await bed.command("checkpoint", "set", argument)
            #expect(set.code == 0, "\(set.errors)")
            #expect(set.output == "")
            let state = try await shown(bed).root
            #expect(state["sequence"].map { Array($0.bytes) } == Array(json.utf8))
            #expect(state["reason"]?.string == "set by hand")
            // Without quotes, as people write it and as the log shows it.
            let plain = json.split(separator: "\"").joined()
            #expect(set.errors.contains("continues after \(plain);"), "\(set.errors)")
            let text = try await bed.command("checkpoint", "show").output
            #expect(text.contains("checkpoint     \(plain)\n"), "\(text)")
            #expect(state["rule_set"]?.string == rules)
        }
    }

    @Test func rewoundBotReadsAgain() async throws {
        try await CommandTestBed.with([#"{"_id":"b","type":"broken"}"#], rules: Self.rules) { bed in
            try await bed.runOnce()
            #expect(try await bed.command("dead-letters", "drop", "--all").code == 0)
            try await bed.runOnce()
            #expect(try bed.deadLetters().isEmpty)
            #expect(try await bed.command("checkpoint", "set", "0").code == 0)
            try await bed.runOnce()
            #expect(try bed.deadLetterIDs() == ["b"])
        }
    }

    @Test func runAfterAResetStartsAtTheBeginningOrAtSince() async throws {
        try await CommandTestBed.with([#"{"_id":"b","type":"broken"}"#], rules: Self.rules) { bed in
            try await bed.runOnce()
            for (more, expected) in [(["--since", "now"], 0), ([], 1)] {
                #expect(try await bed.command("dead-letters", "drop", "--all").code == 0)
                let reset = try await bed.command("checkpoint", "reset")
                #expect(reset.code == 0)
                #expect(reset.errors.contains("starts at the beginning, or at --since"))
                let state = try await shown(bed).root
                #expect(state["sequence"]?.kind == .null)
                #expect(state["reason"]?.string == "reset by hand")
                let run = try await Program.run(
                    ["run", "--once", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state"]
                        + [bed.state] + more)
                #expect([0, 1].contains(run.code), "\(run.errors)")
                #expect(try bed.deadLetters().count == expected)
            }
        }
    }

    @Test(arguments: [
        (["show"], 66, "--state and --name"), (["set", "1"], 66, "there is no state 'none'"), (["reset"], 66, "none"),
        (["set", "now"], 64, "--since now"), (["set", ""], 64, "not a sequence"),
        (["set", "yesterday"], 64, "'yesterday' is not a sequence"), (["set"], 64, "seq"),
    ])
    func wrongUseIsExplained(arguments: [String], code: Int32, message: String) async throws {
        try await Program.withDirectory { folder in
            let result = try await Program.run(["checkpoint"] + arguments + ["--state", folder, "--name", "none"])
            #expect(result.code == code, "\(result.errors)")
            #expect(result.errors.contains(message), "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test func fullDiskKeepsTheCheckpoint() async throws {
        try await CommandTestBed.with(rules: Self.rules) { bed in
            try await bed.runOnce()
            let before = try await shown(bed).root["sequence"].map { Array($0.bytes) }
            // A limit of 64 blocks for files simulates a full disk.
            let process = try ChildProcess([
                "/bin/sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh", Program.path, "checkpoint", "set",
                "7-" + String(repeating: "x", count: 100_000), "--state", bed.state,
            ])
            #expect(await process.wait() == 74)
            #expect(try await shown(bed).root["sequence"].map { Array($0.bytes) } == before)
            #expect(try await bed.command("checkpoint", "set", "1").code == 0)
        }
    }

    @Test func failedOutputIsAnError() async throws {
        try await CommandTestBed.with([#"{"_id":"b","type":"broken"}"#], rules: Self.rules) { bed in
            try await bed.runOnce()
            for command in ["checkpoint show", "checkpoint show --json", "dead-letters list", "dead-letters export"] {
                let process = try ChildProcess([
                    "/bin/sh", "-c", "exec \"$0\" \(command) --state \"$1\" > /dev/full", Program.path, bed.state,
                ])
                #expect(await process.wait() == 74, "\(command)")
            }
        }
    }
}
