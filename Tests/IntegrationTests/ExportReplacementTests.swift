import Bots
import Foundation
import GatewayClient
import Revisions
import TestKit
import Testing
import Transfer

/// An export replaces an earlier export of the same kind, and no other file.
@Suite(.limitedParallelism) struct ExportReplacementTests {
    private func withExport(
        _ name: String = "o.ndjson", _ body: (BotTestBed) async throws -> Void
    ) async throws {
        try await BotTestBed.withEmbedded { bed in
            for number in 0..<5 { try await bed.phone.put(DocumentID("d\(number)"), body: Array(#"{"n":1}"#.utf8)) }
            try await bed.export(name)
            try await body(bed)
        }
    }

    private func expectRefusal(
        _ bed: BotTestBed, _ part: String, configure: (inout ExportSettings) throws -> Void = { _ in }
    ) async throws {
        let before = try snapshot(bed)
        let error = await #expect(throws: TransferError.self) {
            try await bed.export("o.ndjson", configure: configure)
        }
        #expect(error?.code == .occupied)
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("--overwrite") == true)
        #expect(try snapshot(bed) == before)
        try await bed.export("o.ndjson") { settings in
            try configure(&settings)
            settings.overwrites = true
        }
        #expect(try await bed.verify("o.ndjson").isEmpty)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: bed.directory).allSatisfy { !$0.contains("part") })
    }

    /// Every file with its content.
    private func snapshot(_ bed: BotTestBed) throws -> [String: Data?] {
        let names = try FileManager.default.contentsOfDirectory(atPath: bed.directory)
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0, FileManager.default.contents(atPath: bed.path($0))) })
    }

    @Test func repeatedExportReplacesTheFirst() async throws {
        try await withExport { bed in
            try await bed.phone.put("e", body: Array("{}".utf8))
            try await bed.export("o.ndjson")
            #expect(try bed.ids("o.ndjson").count == 6)
            #expect(try await bed.verify("o.ndjson").isEmpty)
        }
    }

    /// Regression: it left a file of 0 bytes.
    @Test func incrementalExportDoesNotReplaceAFullOne() async throws {
        try await withExport { bed in
            try await expectRefusal(bed, "full export") {
                $0.since = .manifest(bed.path("o.ndjson.manifest.json"))
            }
        }
    }

    @Test func incrementalExportDoesNotReplaceItsBase() async throws {
        try await withExport { bed in
            try await bed.export("i.ndjson") { $0.since = .manifest(bed.path("o.ndjson.manifest.json")) }
            try await bed.phone.put("e", body: Array("{}".utf8))
            // Another export of the same range, which has grown.
            try await bed.export("i.ndjson") { $0.since = .manifest(bed.path("o.ndjson.manifest.json")) }
            #expect(try bed.ids("i.ndjson") == ["e"])
            let error = await #expect(throws: TransferError.self) {
                try await bed.export("i.ndjson") { $0.since = .manifest(bed.path("i.ndjson.manifest.json")) }
            }
            #expect(error?.code == .occupied)
            #expect(try bed.ids("i.ndjson") == ["e"])
        }
    }

    enum Other: String, CaseIterable {
        case format, attachments, folder, selector, revisions
    }

    @Test(arguments: Other.allCases) func exportOfAnotherKindIsNotReplaced(other: Other) async throws {
        try await withExport { bed in
            try await expectRefusal(bed, "options") { settings in
                switch other {
                case .format: settings.format = .json
                case .attachments: settings.attachments = .inline
                case .folder: settings.attachments = .folder(bed.path("files"))
                case .selector: settings.selector = #"{"n":1}"#
                case .revisions: settings.includesRevisions = true
                }
            }
        }
    }

    @Test func exportOfAnotherDatabaseIsNotReplaced() async throws {
        try await withExport { bed in
            let files = try ["o.ndjson", "o.ndjson.manifest.json"].map { ($0, try bed.bytes($0)) }
            try await BotTestBed.withEmbedded { other in
                try await other.phone.put("x", body: Array("{}".utf8))
                for (name, bytes) in files { try other.write(name, bytes: bytes) }
                try await expectRefusal(other, "it comes from")
            }
        }
    }

    enum Change: String, CaseIterable { case edited, longer, replaced, manifestGone, manifestBroken }

    @Test(arguments: Change.allCases) func modifiedExportIsNotReplaced(change: Change) async throws {
        try await withExport { bed in
            let bytes = try bed.bytes("o.ndjson")
            switch change {
            case .edited: try bed.write("o.ndjson", bytes: bytes.dropLast(3) + [0x39] + bytes.suffix(2))
            case .longer: try bed.write("o.ndjson", bytes: bytes + [0x0A])
            case .replaced: try bed.write("o.ndjson", bytes: Array("my notes".utf8))
            case .manifestGone: try FileManager.default.removeItem(atPath: bed.path("o.ndjson.manifest.json"))
            case .manifestBroken: try bed.write("o.ndjson.manifest.json", bytes: Array(#"{"version":1}"#.utf8))
            }
            try await expectRefusal(bed, "o.ndjson")
        }
    }

    @Test func emptyFileIsReplaced() async throws {
        try await withExport { bed in
            try bed.write("new.ndjson", bytes: [])
            try await bed.export("new.ndjson")
            #expect(try bed.ids("new.ndjson").count == 5)
        }
    }

    @Test(arguments: ["o.ndjson.part", "o.ndjson.spool", "o.ndjson.partial"])
    func foreignFilesNextToAnExportAreNotTouched(name: String) async throws {
        try await withExport { bed in
            try bed.write(name, bytes: Array("my notes".utf8))
            try await expectRefusal(bed, name)
        }
    }

    @Test func interruptedExportOfAnotherKindIsKept() async throws {
        try await withExport("full.ndjson") { bed in
            let manifest = try bed.text("full.ndjson.manifest.json")
            let journal = #"{"position":{"id":"d1"},"bytes":8,"sha256":"","manifest":\#(manifest)}"#
            try bed.write("o.ndjson.partial", bytes: Array(journal.utf8))
            try bed.write("o.ndjson.part", bytes: Array(#"{"n":1}"#.utf8))
            try await expectRefusal(bed, "interrupted") { $0.selector = #"{"n":1}"# }
        }
    }

    @Test func interruptedExportOfTheSameKindStartsAgain() async throws {
        try await withExport("full.ndjson") { bed in
            let manifest = try bed.text("full.ndjson.manifest.json")
            let journal = #"{"position":{"id":"d1"},"bytes":8,"sha256":"","manifest":\#(manifest)}"#
            try bed.write("o.ndjson.partial", bytes: Array(journal.utf8))
            try bed.write("o.ndjson.part", bytes: Array(#"{"n":1}"#.utf8))
            try await bed.export("o.ndjson")
            #expect(try bed.bytes("o.ndjson") == bed.bytes("full.ndjson"))
        }
    }

    /// A run that was killed after renaming the file, but before writing the manifest, is repeated without `--resume`.
    @Test func exportWithoutItsManifestIsIdentifiedByItsJournal() async throws {
        try await withExport { bed in
            let manifest = try bed.manifest("o.ndjson")
            let text = try bed.text("o.ndjson.manifest.json")
            let journal =
                #"{"position":{"state":"whole"},"bytes":\#(manifest.byteCount),"sha256":"\#(manifest.sha256)","manifest":\#(text)}"#
            try bed.write("o.ndjson.partial", bytes: Array(journal.utf8))
            try FileManager.default.removeItem(atPath: bed.path("o.ndjson.manifest.json"))
            try await bed.export("o.ndjson")
            #expect(try await bed.verify("o.ndjson").isEmpty)
        }
    }

    @Test func linkToAMissingFileIsFollowed() async throws {
        try await withExport { bed in
            try FileManager.default.createDirectory(atPath: bed.path("d"), withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                atPath: bed.path("l.ndjson"), withDestinationPath: "d/real.ndjson")
            try await bed.export("l.ndjson")
            #expect(try bed.bytes("d/real.ndjson") == bed.bytes("o.ndjson"))
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: bed.path("l.ndjson"))
            #expect(target == "d/real.ndjson")
            try await bed.export("l.ndjson")
        }
    }

    /// Regression: if a run was killed after removing the old manifest, but before renaming the file, later runs were
    /// always refused.
    @Test(arguments: [false, true])
    func exportKilledWhileReplacingIsNoObstacle(isResuming: Bool) async throws {
        try await withExport { bed in
            let (old, manifest) = (try bed.bytes("o.ndjson"), try bed.text("o.ndjson.manifest.json"))
            try await bed.phone.put("e", body: Array("{}".utf8))
            try await bed.export("o.ndjson")
            let new = try bed.manifest("o.ndjson")
            try bed.write("o.ndjson.part", bytes: try bed.bytes("o.ndjson"))
            try bed.write("o.ndjson", bytes: old)
            let journal =
                #"{"position":{"state":"whole"},"bytes":\#(new.byteCount),"sha256":"\#(new.sha256)","#
                + #""manifest":\#(try bed.text("o.ndjson.manifest.json")),"replaced":\#(manifest)}"#
            try bed.write("o.ndjson.partial", bytes: Array(journal.utf8))
            try FileManager.default.removeItem(atPath: bed.path("o.ndjson.manifest.json"))
            try await bed.export("o.ndjson") { $0.isResuming = isResuming }
            #expect(try bed.ids("o.ndjson").count == 6)
            #expect(try await bed.verify("o.ndjson").isEmpty)
            let left = try FileManager.default.contentsOfDirectory(atPath: bed.directory)
            #expect(left.sorted() == ["o.ndjson", "o.ndjson.manifest.json"])
        }
    }
}
