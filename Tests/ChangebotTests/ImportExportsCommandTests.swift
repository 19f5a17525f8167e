import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// `import` of a full export and its increments.
@Suite(.limitedParallelism) struct ImportExportsCommandTests {
    private static let nights = ["full", "mon", "tue", "wed"]
    private static let edits = [
        [#"{"_id":"a","n":1}"#, #"{"_id":"b","n":1}"#, #"{"_id":"c","n":1}"#], [#"{"_id":"a","n":2}"#],
        [#"{"_id":"b","_deleted":true}"#, #"{"_id":"d","n":3}"#], [#"{"_id":"b","n":4}"#, #"{"_id":"a","n":4}"#],
    ]

    /// Calls `body` with the exports of four nights, and with a full export of each night, such as `all-mon.ndjson`.
    private func withNights(_ body: (CommandTestBed) async throws -> Void) async throws {
        try await CommandTestBed.with(rules: "  - { name: none, when: { type: none }, then: [delete: {}] }\n") { bed in
            var last: String?
            for (night, edits) in zip(Self.nights, Self.edits) {
                for text in edits {
                    try await bed.put([text])
                    guard !text.contains("_deleted"), let id = try JSONText(text).root["_id"]?.string else { continue }
                    try await bed.attach("\(night) of \(id)", to: id)
                }
                let since = last.map { ["--since-manifest", bed.folder + "/\($0).ndjson.gz.manifest.json"] } ?? []
                for (name, more) in [("\(night).ndjson.gz", since), ("all-\(night).ndjson", [])] {
                    let result = try await Program.run(
                        [
                            "export", "--gateway", bed.url, "--output", bed.folder + "/" + name, "--revisions",
                            "--attachments", bed.folder + "/files-" + name, "--quiet",
                        ] + more)
                    #expect(result.code == 0, "\(result.errors)")
                }
                last = night
            }
            try await body(bed)
        }
    }

    private static func exports(_ bed: CommandTestBed) -> [String] { nights.map { "\(bed.folder)/\($0).ndjson.gz" } }

    private static func files(_ bed: CommandTestBed) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: bed.folder).sorted()
    }

    @Test func eachNightIsRestored() async throws {
        try await withNights { bed in
            let before = try Self.files(bed)
            for night in Self.nights {
                try await Program.withGateway { url in
                    let result = try await Program.run(
                        ["import", "--gateway", url, "--mode", "restore"] + Self.exports(bed).reversed()
                            + ["--at", "\(bed.folder)/\(night).ndjson.gz.manifest.json"])
                    #expect(result.code == 0, "\(result.errors)")
                    let check = try await Program.run(["verify", "\(bed.folder)/all-\(night).ndjson", "--against", url])
                    #expect(check.code == 0, "\(night): \(check.output) \(check.errors)")
                }
            }
            #expect(try Self.files(bed) == before)
        }
    }

    /// The merged export stays until the import that reads it is done.
    @Test func stoppedImportIsResumed() async throws {
        try await withNights { bed in
            let before = try Self.files(bed)
            try await Program.withGateway { url in
                let other = CommandTestBed(url: url, folder: bed.folder)
                try await other.put([#"{"_id":"d","n":0}"#])
                let command = ["import", "--gateway", url] + Self.exports(bed)
                let stopped = try await Program.run(command + ["--max-errors", "0"])
                #expect(stopped.code == 65, "\(stopped.errors)")
                let left = try Self.files(bed).filter { !before.contains($0) }
                #expect(left.contains { $0.hasSuffix(".ndjson.gz.import-progress") }, "\(left)")
                #expect(left.contains { $0.hasSuffix(".ndjson.gz") }, "\(left)")
                let resumed = try await Program.run(command + ["--resume", "--max-errors", "9"])
                #expect([0, 1].contains(resumed.code), "\(resumed.errors)")
                #expect(try await other.document("a")?.root["n"]?.integer == 4)
                #expect(try Self.files(bed).filter { !before.contains($0) && !$0.hasSuffix(".lock") } == [])
            }
        }
    }

    @Test(
        arguments: [
            (["full.ndjson.gz", "tue.ndjson.gz"], 78, "an increment is missing: "),
            (["full.ndjson.gz", "r.yaml"], 64, "import reads other files one by one: call it once for each"),
            (["full.ndjson.gz", "none.ndjson"], 66, "can't read"),
            (["r.yaml", "--at", "2026-11-20"], 64, "remove --at"),
            (["-", "--at", "2026-11-20"], 66, "can't read -"),
            (["full.ndjson.gz", "mon.ndjson.gz", "--at", "2020-01-01"], 64, "no full export was complete at"),
            (["full.ndjson.gz", "mon.ndjson.gz", "--attachments", "x"], 64, "put it next to the export"),
        ] as [([String], Int32, String)])
    func badInputIsRefused(arguments: [String], code: Int32, words: String) async throws {
        try await withNights { bed in
            let before = try Self.files(bed)
            let paths = arguments.map {
                $0.hasSuffix(".gz") || $0.contains(".n") || $0.contains(".y") ? "\(bed.folder)/\($0)" : $0
            }
            let result = try await Program.run(["import", "--gateway", bed.url] + paths)
            #expect(result.code == code && result.errors.contains(words), "\(result.code) \(result.errors)")
            #expect(try Self.files(bed) == before)
        }
    }
}

extension CommandTestBed {
    fileprivate func attach(_ text: String, to id: String) async throws {
        let document = try #require(try await document(.init(id)))
        let data = Data(text.utf8).base64EncodedString()
        let stub = #"{"_attachments":{"note":{"content_type":"text/plain","data":"\#(data)"}},"#
        _ = try await withGateway { gateway in
            try await gateway.put(.init(id), body: Array(stub.utf8) + document.bytes.dropFirst())
        }
    }
}
