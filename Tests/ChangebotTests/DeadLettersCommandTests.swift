import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@Suite(.limitedParallelism) struct DeadLettersCommandTests {
    private static let rules = """
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]

        """

    private static let documents = ["a", "b", "12", "line\\nbreak"].map { #"{"_id":"\#($0)","type":"broken"}"# }

    private func deadLettered(_ body: (CommandTestBed) async throws -> Void) async throws {
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            #expect(try await bed.runOnce().code == 1)
            try await body(bed)
        }
    }

    @Test func exportWritesEachDeadLetterWithAllDetails() async throws {
        try await deadLettered { bed in
            let exported = try await bed.command("dead-letters", "export").output
            let deadLetters = try exported.split(separator: "\n").map { try JSONText(String($0)) }
            #expect(deadLetters.map { $0.root["id"]?.string } == ["a", "b", "12", "line\nbreak"])
            #expect(deadLetters.map { $0.root["number"]?.integer } == [1, 2, 3, 4])
            let deadLetter = try #require(deadLetters.first).root
            #expect(
                deadLetter.members.map { $0.name.string } == [
                    "sequence", "id", "revision", "rule", "reason", "attempts", "set_aside_at", "number", "rule_set",
                ])
            #expect(deadLetter["revision"]?.string?.hasPrefix("1-") == true)
            #expect(deadLetter["rule"]?.string == "broken")
            #expect(deadLetter["reason"]?.string?.contains("/none") == true)
            #expect(deadLetter["attempts"]?.integer == 0)
            #expect([.number, .string].contains(deadLetter["sequence"]?.kind))
            #expect(try await bed.command("dead-letters", "list", "--json").output == exported)
        }
    }

    @Test func listHasALineForEachDeadLetter() async throws {
        try await deadLettered { bed in
            let list = try await bed.command("dead-letters", "list")
            #expect(list.code == 0)
            let lines = list.output.split(separator: "\n")
            #expect(lines.count == 5)
            #expect(lines[0].hasPrefix("NUMBER"))
            #expect(lines[4].contains("line\\u000abreak"))
            #expect(try await bed.command("dead-letters", "drop", "--all").code == 0)
            let empty = try await bed.command("dead-letters", "list")
            #expect(empty.code == 0)
            #expect(empty.output == "")
            #expect(empty.errors.contains("no dead letters"))
            let count = try await bed.command("dead-letters", "list", "--count")
            #expect(count.output == "COUNT  RULE\n0      -\n")
            let json = try await bed.command("dead-letters", "list", "--count", "--json")
            #expect(json.output == #"{"dead_letters":0,"rules":{},"no_rule":0}"# + "\n")
        }
    }

    @Test func deadLetterIsFoundByNumberAndByDocument() async throws {
        try await deadLettered { bed in
            for id in ["2", "b"] {
                let shown = try await bed.command("dead-letters", "show", id)
                #expect(shown.code == 0, "\(shown.errors)")
                #expect(shown.output.contains("document          b\n"))
                #expect(shown.output.contains("/none"))
            }
            let both = try await bed.command("dead-letters", "show", "1", "line\nbreak", "a", "--json").output
            #expect(both.split(separator: "\n").count == 2)
        }
    }

    @Test func ambiguousArgumentIsRefused() async throws {
        try await deadLettered { bed in
            // As long as there are fewer than twelve dead letters, 12 is the document.
            #expect(try await bed.command("dead-letters", "show", "12", "--json").output.contains(#""number":3"#))
            let more = (5...13).map { #"{"_id":"m\#($0)","type":"broken"}"# }
            try await bed.put(more)
            #expect(try await bed.runOnce().code == 1)
            let unclear = try await bed.command("dead-letters", "drop", "12")
            #expect(unclear.code == 64)
            #expect(unclear.errors.contains("--document 12"))
            #expect(try await bed.command("dead-letters", "drop", "--document", "12").errors.contains("dropped 1 "))
            #expect(try await bed.command("dead-letters", "drop", "12").errors.contains("dropped 1 "))
            #expect(try bed.deadLetterIDs().contains("12") == false)
            #expect(try bed.deadLetters().contains { $0.root["number"]?.integer == 12 } == false)
        }
    }

    /// Regression: the printed command named neither the state nor the database, so it failed.
    @Test func printedCommandsWorkAsPrinted() async throws {
        try await deadLettered { bed in
            func expectPrinted(_ command: [String]) async throws {
                let result = try await Program.run(command + ["--state", bed.state, "--name", "changebot"])
                let words = try #require(
                    result.errors.split(separator: "\n").last?.components(separatedBy: ": changebot "))
                #expect(words.count == 2, "\(result.errors)")
                let process = try ChildProcess(["/bin/sh", "-c", "\(Program.path) \(words.last ?? "") 2>&1"])
                let output = String(decoding: await process.readToEnd(), as: UTF8.self)
                #expect(await process.wait() == 0, "\(result.errors)\(output)")
            }
            let commands = [
                ["dead-letters", "show", "s.2"], ["dead-letters", "drop", "s.2"], ["checkpoint", "reset"],
                ["checkpoint", "set", "nowhere"],
            ]
            for command in commands { try await expectPrinted(command) }
            #expect(try await bed.command("checkpoint", "set", "1").code == 0)
            let second = "embedded:" + bed.folder + "/the second.sqlite"
            let rules = ["--rules", bed.folder + "/r.yaml"]
            #expect(
                try await Program.run(["run", "--once", "--gateway", second, "--state", bed.state] + rules).code == 0)
            for command in commands { try await expectPrinted(command + ["--gateway", bed.url]) }
            try await expectPrinted(["dead-letters", "retry", "--gateway", bed.url] + rules)
            try await expectPrinted(["dead-letters", "retry", "s.2", "--gateway", bed.url] + rules)
        }
    }

    @Test func onlyNamedDeadLettersAreDropped() async throws {
        try await deadLettered { bed in
            let unknown = try await bed.command("dead-letters", "drop", "1", "nobody")
            #expect(unknown.code == 66)
            #expect(try bed.deadLetters().count == 4)
            #expect(try await bed.command("dead-letters", "drop").code == 64)
            #expect(try await bed.command("dead-letters", "drop", "--all", "1").code == 64)
            #expect(try await bed.command("dead-letters", "drop", "1", "b", "2").code == 0)
            #expect(try bed.deadLetterIDs() == ["12", "line\nbreak"])
        }
    }

    @Test(arguments: [["list"], ["export"], ["show", "1"], ["drop", "--all"]])
    func missingStateIsAnError(arguments: [String]) async throws {
        try await Program.withDirectory { folder in
            let result = try await Program.run(["dead-letters"] + arguments + ["--state", folder])
            #expect(result.code == 66)
            #expect(result.errors.contains("there is no state 'changebot'"))
        }
    }
}
