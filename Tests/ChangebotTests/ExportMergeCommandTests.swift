import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// `export merge` on the command line.
@Suite(.limitedParallelism) struct ExportMergeCommandTests {
    private static let rules = "  - name: none\n    when: { type: none }\n    then: [delete: {}]\n"

    /// Calls `body` with a folder that has a full export and two increments.
    private func withExports(
        _ body: (CommandTestBed, _ merge: ([String]) async throws -> Program.Result) async throws -> Void
    )
        async throws
    {
        try await CommandTestBed.with([#"{"_id":"a","n":1}"#, #"{"_id":"b","n":1}"#], rules: Self.rules) { bed in
            var last: String?
            for (name, document) in [
                ("full", #"{"_id":"c","n":1}"#), ("one", #"{"_id":"a","n":2}"#), ("two", #"{"_id":"d"}"#),
            ] {
                try await bed.put([document])
                let since = last.map { ["--since-manifest", bed.folder + "/\($0).ndjson.manifest.json"] } ?? []
                let result = try await Program.run(
                    ["export", "--gateway", bed.url, "--output", bed.folder + "/\(name).ndjson", "--quiet"] + since)
                #expect(result.code == 0, "\(result.errors)")
                last = name
            }
            try await body(bed) { arguments in
                try await Program.run(["export", "merge"] + arguments.map { $0.replacing("DIR", with: bed.folder) })
            }
        }
    }

    private static let all = ["DIR/full.ndjson", "DIR/one.ndjson", "DIR/two.ndjson"]

    @Test func resultIsVerifiedAndContinued() async throws {
        try await withExports { bed, merge in
            let result = try await merge(Self.all + ["--output", "DIR/merged.ndjson.gz"])
            #expect(result.code == 0 && result.errors.contains("merged"), "\(result.errors)")
            let merged = bed.folder + "/merged.ndjson.gz"
            #expect(try await Program.run(["verify", merged, "--against", bed.url]).code == 0)
            let next = try await Program.run(
                [
                    "export", "--gateway", bed.url, "--output", bed.folder + "/three.ndjson", "--since-manifest",
                    merged + ".manifest.json",
                ])
            #expect(next.code == 0, "\(next.errors)")
            #expect(try String(contentsOfFile: bed.folder + "/three.ndjson", encoding: .utf8) == "")
        }
    }

    @Test func manifestEndsTheChain() async throws {
        try await withExports { bed, merge in
            let result = try await merge(
                Self.all.reversed() + ["--at", "DIR/full.ndjson.manifest.json", "-o", "DIR/m.ndjson", "--quiet"])
            #expect(result.code == 0 && result.errors == "", "\(result.errors)")
            let lines = try String(contentsOfFile: bed.folder + "/m.ndjson", encoding: .utf8).split(separator: "\n")
            #expect(lines.count >= 3 && lines.contains { $0.contains(#""_id":"b""#) })
        }
    }

    @Test(
        arguments: [
            (["DIR/full.ndjson"], 64, "See 'changebot export merge --help'"),
            (["DIR/full.ndjson", "--output", "DIR/m.ndjson", "--at", "2020-01-01"], 64, "at 2020-01-01T23:59:59Z"),
            (["--output", "DIR/m.ndjson"], 64, "<file>"),
            (["DIR/full.ndjson", "DIR/two.ndjson", "--output", "DIR/m.ndjson"], 78, "an increment is missing: "),
            (["DIR/full.ndjson", "--output", "DIR/full.ndjson"], 64, "are the same file"),
            (
                ["DIR/full.ndjson", "--output", "DIR/full.ndjson.manifest.json", "--overwrite"], 64,
                "the manifest of an export"
            ),
            (["DIR/full.ndjson", "--output", "DIR/m.csv"], 64, "exports are merged into ndjson or json"),
            (
                ["DIR/full.ndjson", "--output", "DIR/m.ndjson", "--at", "DIR/two.ndjson.manifest.json"], 64,
                "name its export, too"
            ),
            (["DIR/full.ndjson", "--output", "DIR/one.ndjson"], 73, "exists and is not replaced"),
            (["DIR/none.ndjson", "--output", "DIR/m.ndjson"], 66, "none.ndjson"),
            (
                ["DIR/full.ndjson", "--output", "DIR/m.ndjson", "--at", "tuesday"], 64,
                "--at 'tuesday': expected a time"
            ),
            (["DIR/full.ndjson", "--output", "DIR/m.ndjson", "--attachments", "x"], 64, "no folder of attachments"),
            (["DIR/full.ndjson", "--output", "DIR/m.ndjson", "--gateway", "http://h/d"], 64, "changebot export merge"),
        ] as [([String], Int32, String)])
    func badInputIsRefused(arguments: [String], code: Int32, words: String) async throws {
        try await withExports { bed, merge in
            let result = try await merge(arguments)
            #expect(result.code == code && result.errors.contains(words), "\(result.code) \(result.errors)")
            #expect(!FileManager.default.fileExists(atPath: bed.folder + "/m.ndjson"))
            #expect(!FileManager.default.fileExists(atPath: bed.folder + "/m.ndjson.part"))
        }
    }

    /// CouchDB counts purges, which no feed reports.
    @Test func purgeBetweenTheExportsIsWarnedOf() async throws {
        try await withExports { bed, merge in
            for (name, purges) in [("full", "1-a"), ("one", "2-b"), ("two", "2-b")] {
                let path = "\(bed.folder)/\(name).ndjson.manifest.json"
                let text = try String(contentsOfFile: path, encoding: .utf8)
                    .replacing(#""name":"sync-gateway""#, with: #""name":"couchdb""#)
                    .replacing(/"purge_sequence":[^,}]*/, with: #""purge_sequence":"\#(purges)""#)
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            }
            let result = try await merge(Self.all + ["--output", "DIR/m.ndjson"])
            #expect(result.code == 0 && result.errors.contains("documents were purged since then"), "\(result.errors)")
            let later = try await merge(["DIR/full.ndjson", "--output", "DIR/n.ndjson"])
            #expect(!later.errors.contains("purged"))
        }
    }

    @Test func helpOfBothCommandsIsComplete() async throws {
        let export = try await Program.run(["export", "--help"])
        #expect(export.output.contains("--since-manifest") && export.output.contains("merge"))
        let merge = try await Program.run(["export", "merge", "--help"])
        #expect(merge.code == 0 && merge.output.contains("changebot export merge") && merge.output.contains("--at"))
    }
}
