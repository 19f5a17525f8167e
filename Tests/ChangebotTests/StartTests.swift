import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Warnings that only the start of a run gives.
@Suite(.limitedParallelism) struct StartTests {
    private func run(_ rules: String, _ options: String...) async throws -> Program.Result {
        try await Program.withDirectory { folder in
            let path = folder + "/r.yaml"
            try rules.write(toFile: path, atomically: true, encoding: .utf8)
            return try await Program.run(
                ["run", "--once", "--gateway", "embedded:", "--state", folder, "--rules", path] + options)
        }
    }

    @Test func misspelledNamesAreReported() async throws {
        let result = try await run("version: 1\nrules:\n  - { name: a, when: { type:task }, then: [] }\n")
        #expect(result.code == 0)
        #expect(result.errors.contains("r.yaml:3:24"), "\(result.errors)")
        #expect(result.errors.contains("write a space after the colon: type: task"), "\(result.errors)")
    }

    @Test func futureSequenceIsReported() async throws {
        let rules = "version: 1\nrules:\n  - { name: a, when: { type: task }, then: [] }\n"
        let ahead = try await run(rules, "--since", "99999")
        #expect(ahead.errors.contains("the run starts ahead of the database"), "\(ahead.errors)")
        let start = try await run(rules, "--since", "0")
        #expect(!start.errors.contains("ahead of the database"), "\(start.errors)")
    }

    /// Regression: a run without changes saved no checkpoint, so each later run reported the change again.
    @Test func changeOfRulesIsReportedOnce() async throws {
        func rule(_ name: String, _ value: Int) -> String {
            "  - { name: \(name), when: { x: \(value) }, then: [{ merge: { y: 1 } }] }\n"
        }
        let rules = [
            rule("a", 1) + rule("b", 1), rule("a", 2) + rule("b", 1), rule("b", 1) + rule("a", 2), rule("a", 2),
        ]
        try await CommandTestBed.with([#"{"_id":"d"}"#], rules: rules[0]) { bed in
            try await bed.runOnce()
            for changed in rules.dropFirst() {
                try bed.write(rules: changed)
                let message = "the rules have changed since the checkpoint"
                #expect(try await bed.runOnce("--dry-run").errors.contains(message))
                #expect(try await bed.runOnce().errors.contains(message))
                let third = try await bed.runOnce()
                #expect(!third.errors.contains(message), "\(third.errors)")
            }
        }
    }

    /// Regression: a mistyped name became an empty database, and the command succeeded.
    @Test func readingCommandsCreateNoDatabase() async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/none.sqlite"
            let result = try await Program.run([
                "export", "--gateway", "embedded:\(file)", "--output", folder + "/x.ndjson",
            ])
            #expect(result.code == 66, "\(result.errors)")
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }

    @Test func importThatCannotSaveProgressIsReported() async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/t.ndjson"
            try #"{"_id":"a"}"#.write(toFile: file, atomically: true, encoding: .utf8)
            let arguments = ["import", "--gateway", "embedded:\(folder)/g.sqlite", file, "--mode", "upsert"]
            let good = try await Program.run(arguments)
            #expect(good.code == 0 && !good.errors.contains("--progress-file"), "\(good.errors)")
            try FileManager.default.createDirectory(
                atPath: file + ".import-progress", withIntermediateDirectories: false)
            let result = try await Program.run(arguments)
            #expect(result.code == 0 && result.errors.contains("name a file with --progress-file"), "\(result.errors)")
        }
    }

    /// Regression: each run began at the newest sequence, and nothing was ever decided.
    @Test(.limitedParallelism) func runSinceNowMissesNothingAfterItsStart() async throws {
        let rules = "- {name: a, when: {type: task, a: {$exists: false}}, then: [{merge: {a: 1}}]}\n"
        try await CommandTestBed.with([#"{"_id":"old","type":"task"}"#], rules: rules) { bed in
            try await bed.runOnce("--since", "now")
            try await bed.put([#"{"_id":"new","type":"task"}"#])
            try await bed.runOnce("--since", "now")
            #expect(try await bed.document("new")?.root["a"] != nil)
            #expect(try await bed.document("old")?.root["a"] == nil)
        }
    }
}
