import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// `--dry-run` reports what an import would do with each document, and changes nothing.
@Suite(.limitedParallelism) struct ImportPreviewTests {
    private static let stored = [
        #"{"_id":"equal","n":1.10}"#,
        #"{"_id":"other","n":1,"list":[1,2,3],"deep":{"a":{"b":true},"gone":0},"a/b~c":1}"#,
        #"{"_id":"with","_attachments":{"x":{"content_type":"text/plain","data":"aGVsbG8="}}}"#,
    ]

    private static let incoming = [
        #"{"_id":"new","n":1}"#, #"{"n":1.10,"_id":"equal"}"#,
        #"{"_id":"other","n":2.0,"list":[1,3],"deep":{"a":{"b":false}},"a/b~c":[]}"#, #"{"n":1}"#, "{",
    ]

    private func actions(_ said: [JSONText]) -> [String] { said.map { $0.root["action"]?.string ?? "none" } }

    /// Afterwards, only the input exists, and nothing was written.
    private func expectNothingDone(
        _ bed: BotTestBed, _ before: [DocumentID: String], _ more: String...
    ) async throws {
        #expect(try await bed.contents() == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: bed.directory)
        #expect(Set(names).isSubset(of: ["in.ndjson", "contents.ndjson", "contents.ndjson.manifest.json"] + more))
    }

    private func withStored(_ body: (BotTestBed, _ before: [DocumentID: String]) async throws -> Void) async throws {
        try await BotTestBed.withEmbedded { bed in
            try await bed.load(lines: Self.stored)
            try await body(bed, try await bed.contents())
        }
    }

    @Test(arguments: [
        (ImportMode.insert, ["insert", "refuse", "refuse", "refuse", "refuse"]),
        (.upsert, ["insert", "leave", "change", "refuse", "refuse"]),
        (.merge, ["insert", "leave", "change", "refuse", "refuse"]),
        (.delete, ["leave", "delete", "delete", "refuse", "refuse"]),
    ])
    func previewShowsTheResult(mode: ImportMode, expected: [String]) async throws {
        try await withStored { bed, before in
            let said = try await bed.preview(lines: Self.incoming) { $0.mode = mode }
            #expect(actions(said) == expected)
            #expect(said.map { $0.root["line"]?.integer } == [1, 2, 3, 4, 5])
            #expect(said.map { $0.root["id"]?.string } == ["new", "equal", "other", nil, nil])
            for line in said where line.root["action"]?.string == "refuse" {
                #expect(line.root["reason"]?.string?.isEmpty == false)
            }
            try await expectNothingDone(bed, before)
        }
    }

    @Test(arguments: [ImportMode.upsert, .merge])
    func previewPatchTurnsTheOldDocumentIntoTheNew(mode: ImportMode) async throws {
        try await withStored { bed, _ in
            let old = try #require(try await bed.stored("other"))
            let said = try await bed.preview(lines: [Self.incoming[2]]) { $0.mode = mode }
            let patched = try old.applying(try JSONPatch(try #require(said.first?.root["patch"])))
            try await bed.load(lines: [Self.incoming[2]]) { $0.mode = mode }
            let new = try #require(try await bed.stored("other"))
            #expect(content(of: patched.root) == content(of: new.root))
            #expect(new.root["deep"]?["gone"] == nil || mode == .merge)
            #expect(try await bed.revision(of: "other")?.hasPrefix("2-") == true)
        }
    }

    @Test(arguments: [ImportMode.insert, .upsert, .merge])
    func previewWithAMappingShowsTheMappedDocuments(mode: ImportMode) async throws {
        try await withStored { bed, before in
            try bed.write(
                "map.yaml",
                [
                    "version: 1", "kind: mapping", "rules:", "- name: all", "  when: {n: {$exists: true}}", "  then:",
                    "  - put: {id: list, document: {type: list}}", "  - merge: {type: item, extra: null}",
                ])
            let mapping = try await Mapping.load(paths: [bed.path("map.yaml")])
            let line =
                #"{"_id":"new","_rev":"1-abc","extra":0,"n":1.10,"#
                + #""_attachments":{"x":{"content_type":"text/plain","data":"aGVsbG8="}}}"#
            let said = try await bed.preview(lines: [line, "{", #"{"_id":"other","n":1}"#]) { settings in
                settings.mode = mode
                settings.mapping = mapping
            }
            let documents = said.map { $0.root["document"] }
            #expect(said.count == 4 && documents[0]?["type"]?.string == "list")
            let item = try #require(documents[1])
            #expect(item["_id"]?.string == "new" && item["n"]?.bytes.elementsEqual("1.10".utf8) == true)
            #expect(item["type"]?.string == "item" && item["extra"] == nil && item["_rev"] == nil)
            #expect(item["_attachments"]?["x"]?["length"]?.integer == 5)
            #expect(item["_attachments"]?["x"]?["data"] == nil)
            #expect(documents[2] == nil)
            #expect((documents[3] == nil) == (mode == .insert))
            #expect((documents[3]?["deep"] != nil) == (mode == .merge))
            try await expectNothingDone(bed, before, "map.yaml")
        }
    }

    @Test func previewShowsAttachments() async throws {
        try await withStored { bed, before in
            let line = #"{"_id":"with","_attachments":{"x":{"content_type":"text/plain","data":"aGVsbG8="},"#
            let lines = [line + #""y":{"data":"eA=="}}}"#, #"{"_id":"with"}"#, line.dropLast() + "}}"]
            var said: [JSONText] = []
            for line in lines { said += try await bed.preview(lines: [line]) { $0.mode = .upsert } }
            #expect(actions(said) == ["change", "change", "leave"])
            let operations = said.map { $0.root["patch"]?.element(0) }
            #expect(operations[0]?["op"]?.string == "add" && operations[0]?["path"]?.string == "/_attachments/y")
            #expect(operations[1]?["op"]?.string == "remove" && operations[1]?["path"]?.string == "/_attachments/x")
            try await expectNothingDone(bed, before)
        }
    }

    @Test func previewOfARestoreShowsNewRevisions() async throws {
        try await withStored { bed, before in
            let revision = try #require(try await bed.revision(of: "equal"))
            let other = try #require(try await bed.revision(of: "other"))
            let later = #""_revisions":{"start":2,"ids":["b","\#(other.dropFirst(2))"]}"#
            let lines = [
                #"{"_id":"equal","_rev":"\#(revision)","n":1.10}"#, #"{"_id":"other","_rev":"2-b",\#(later)}"#,
                #"{"_id":"new","_rev":"3-c"}"#, #"{"_id":"new"}"#,
            ]
            let said = try await bed.preview(lines: lines) { $0.mode = .restore }
            #expect(actions(said) == ["leave", "change", "insert", "refuse"])
            try await expectNothingDone(bed, before)
        }
    }

    @Test func previewCountsAsTheImportDoes() async throws {
        try await withStored { bed, _ in
            let (importer, report) = try bed.importer("in.ndjson") { settings in
                try bed.write("in.ndjson", Self.incoming)
                settings.mode = .upsert
                settings.preview = { _ in }
            }
            try await importer.run()
            #expect(report.state.counts == ImportCounts(inserted: 1, changed: 1, unchanged: 1, rejected: 2))
            let summary = try JSONText(report.summary(exitCode: 1)).root
            #expect(summary["inserted"]?.integer == 0 && summary["would_insert"]?.integer == 1)
            #expect(summary["changed"]?.integer == 0 && summary["would_change"]?.integer == 1)
            #expect(summary["exit"]?.integer == 1)
            #expect(summary["written"]?.integer == 0 && summary["would_write"]?.integer == 2)
        }
    }

    /// Regression: deletions counted as written documents, in a dry run too.
    @Test(arguments: [false, true]) func previewCountsDeletions(isDryRun: Bool) async throws {
        try await withStored { bed, _ in
            try bed.write("in.ndjson", Self.incoming)
            let (importer, report) = try bed.importer("in.ndjson") { settings in
                settings.mode = .delete
                if isDryRun { settings.preview = { _ in } }
            }
            try await importer.run()
            let summary = try JSONText(report.summary(exitCode: 1)).root
            let names = ["written", "deleted", "would_write", "would_delete"]
            #expect(names.map { summary[$0]?.integer } == (isDryRun ? [0, 0, 2, 2] : [2, 2, nil, nil]))
        }
    }
}
