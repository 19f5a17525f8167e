import Compression
import Encodings
import Foundation
import GatewayClient
import LosslessJSON
import Revisions
import TestKit
import Testing
import Transfer

/// A full export and its increments, merged, are the full export of the last night.
@Suite(.limitedParallelism) struct ExportMergeTests {
    /// How the exports are made.
    enum Kind: CaseIterable {
        case plain
        case array
        case compressed
        case inline
        case folder
        case revisions

        var ending: String {
            switch self {
            case .array: "json"
            case .compressed: "ndjson.gz"
            default: "ndjson"
            }
        }

        func configure(_ settings: inout ExportSettings, _ bed: BotTestBed) {
            switch self {
            case .array: settings.format = .json
            case .inline: settings.attachments = .inline
            case .folder: settings.attachments = .folder(bed.path("files"))
            case .revisions: settings.includesRevisions = true
            case .plain, .compressed: break
            }
        }
    }

    @Test(arguments: Kind.allCases) func mergedIncrementsEqualAFullExport(kind: Kind) async throws {
        try await BotTestBed.with { bed in
            var users = Users(seed: 7)
            try await users.edit(bed, count: 60)
            try await bed.export("full.\(kind.ending)") { kind.configure(&$0, bed) }
            var files = ["full.\(kind.ending)"]
            for night in 0..<6 {
                try await users.edit(bed, count: night == 3 ? 0 : 25)
                let last = bed.path(files[files.count - 1] + ".manifest.json")
                try await bed.export("inc\(night).\(kind.ending)") { settings in
                    kind.configure(&settings, bed)
                    settings.since = .manifest(last)
                }
                files.append("inc\(night).\(kind.ending)")
                try await bed.export("expected\(night).\(kind.ending)") { kind.configure(&$0, bed) }
                let merged = "merged\(night).\(kind.ending)"
                let manifest = try await bed.merge(files.shuffled(), to: merged)
                try await bed.expectEqual(merged, "expected\(night).\(kind.ending)", manifest)
            }
            // A merged export is a full export: an increment continues it.
            let manifest = try await bed.merge(["merged2.\(kind.ending)", "inc3.\(kind.ending)"], to: "again")
            #expect(manifest.to == (try bed.manifest("inc3.\(kind.ending)").to))
        }
    }

    /// Increments from the full export each time, instead of from the last increment.
    @Test func cumulativeIncrementsAreMerged() async throws {
        try await BotTestBed.with { bed in
            var users = Users(seed: 8)
            try await users.edit(bed, count: 30)
            try await bed.export("full.ndjson")
            for night in 0..<2 {
                try await users.edit(bed, count: 20)
                try await bed.export("inc\(night).ndjson") {
                    $0.since = .manifest(bed.path("full.ndjson.manifest.json"))
                }
            }
            try await bed.export("expected.ndjson")
            let manifest = try await bed.merge(["full.ndjson", "inc0.ndjson", "inc1.ndjson"], to: "merged.ndjson")
            try await bed.expectEqual("merged.ndjson", "expected.ndjson", manifest)
            _ = try await bed.merge(["full.ndjson", "inc1.ndjson"], to: "without.ndjson")
            #expect(try bed.sortedLines("without.ndjson") == bed.sortedLines("expected.ndjson"))
        }
    }

    @Test func attachmentsOfSeveralFoldersAreBroughtTogether() async throws {
        try await BotTestBed.with { bed in
            var users = Users(seed: 9)
            try await users.edit(bed, count: 30)
            try await bed.export("full.ndjson") { $0.attachments = .folder(bed.path("one")) }
            try await users.edit(bed, count: 20)
            try await bed.export("inc.ndjson") { settings in
                settings.attachments = .folder(bed.path("two"))
                settings.since = .manifest(bed.path("full.ndjson.manifest.json"))
            }
            let error = await #expect(throws: TransferError.self) {
                try await bed.merge(["full.ndjson", "inc.ndjson"], to: "merged.ndjson")
            }
            #expect(error?.code == .usage)
            #expect(error?.description.contains("--attachments DIR") == true)
            try await bed.export("expected.ndjson") { $0.attachments = .folder(bed.path("three")) }
            let manifest = try await bed.merge(["full.ndjson", "inc.ndjson"], to: "merged.ndjson") {
                $0.attachments = bed.path("all")
            }
            try await bed.expectEqual("merged.ndjson", "expected.ndjson", manifest)
            for folder in ["one", "two", "three"] { try FileManager.default.removeItem(atPath: bed.path(folder)) }
            #expect(try await bed.verify("merged.ndjson", comparesWithGateway: true).isEmpty)
        }
    }

    /// Exports that do not belong together, or are damaged, give nothing.
    @Test func exportsThatDoNotBelongTogetherAreRefused() async throws {
        try await BotTestBed.with { bed in
            var users = Users(seed: 10)
            try await users.edit(bed, count: 10)
            try await bed.export("full.ndjson")
            var last = "full.ndjson"
            for night in 0..<3 {
                try await users.edit(bed, count: 5)
                try await bed.export("inc\(night).ndjson") { $0.since = .manifest(bed.path(last + ".manifest.json")) }
                last = "inc\(night).ndjson"
            }
            try await bed.export("full2.ndjson")
            try await bed.export("table.csv") { $0.format = .csv }
            try await bed.export("inline.ndjson") { settings in
                settings.attachments = .inline
                settings.since = .manifest(bed.path("full.ndjson.manifest.json"))
            }
            try await bed.expectRefusal(
                ["full.ndjson", "inc0.ndjson", "inc2.ndjson"], .foreign, "inc0.ndjson, the export")
            try await bed.expectRefusal(["inc0.ndjson", "inc1.ndjson"], .usage, "none of the exports is a full one")
            try await bed.expectRefusal(["full.ndjson", "full2.ndjson"], .usage, "are both full exports")
            try await bed.expectRefusal(["table.csv"], .usage, "a table can't be merged")
            try await bed.expectRefusal(["full.ndjson", "inline.ndjson"], .usage, "with the same --attachments")
            try await bed.expectRefusal(["none.ndjson"], .missing, "none.ndjson")
            var bytes = try bed.bytes("inc0.ndjson")
            bytes.removeLast(3)
            try Data(bytes).write(to: URL(fileURLWithPath: bed.path("inc0.ndjson")))
            try await bed.expectRefusal(["full.ndjson", "inc0.ndjson"], .invalid, "inc0.ndjson is damaged")
            try bed.changeManifest("inc1.ndjson", #""keyspace":""#, #""keyspace":"x"#)
            try await bed.expectRefusal(["full.ndjson", "inc1.ndjson"], .foreign, "does not continue")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: bed.directory).allSatisfy { !$0.hasPrefix("m.") })
        }
    }

    /// Sequences order the exports: clocks may be wrong, and several exports may be made within a second.
    @Test func clocksDoNotMatter() async throws {
        try await BotTestBed.with { bed in
            var users = Users(seed: 12)
            let files = (0..<4).map { "n\($0).ndjson" }
            for night in 0..<4 {
                try await users.edit(bed, count: 12)
                try await bed.export(files[night]) { settings in
                    if night > 0 { settings.since = .manifest(bed.path(files[night - 1] + ".manifest.json")) }
                }
                for member in ["started", "ended"] {
                    try bed.setTime(member, "2026-11-2\(9 - night)T03:00:00Z", in: files[night])
                }
                try await bed.export("expected\(night).ndjson")
            }
            for night in 0..<4 {
                let manifest = try bed.manifest(files[night])
                try await bed.merge(files.reversed(), to: "m\(night).ndjson") { $0.limit = .export(manifest) }
                #expect(try bed.sortedLines("m\(night).ndjson") == bed.sortedLines("expected\(night).ndjson"))
            }
            try await bed.merge(files, to: "all.ndjson")
            #expect(try bed.sortedLines("all.ndjson") == bed.sortedLines("expected3.ndjson"))
        }
    }

    /// A full export replaces the increments before it, also if the chain of increments goes on across it.
    @Test func incrementsBeforeTheFullExportAreLeftOut() async throws {
        try await BotTestBed.with { bed in
            var users = Users(seed: 13)
            try await users.edit(bed, count: 20)
            try await bed.export("old.ndjson")
            try await users.edit(bed, count: 20)
            try await bed.export("inc0.ndjson") { $0.since = .manifest(bed.path("old.ndjson.manifest.json")) }
            try await users.edit(bed, count: 20)
            try await bed.export("full.ndjson")
            try await users.edit(bed, count: 20)
            try await bed.export("inc1.ndjson") { $0.since = .manifest(bed.path("inc0.ndjson.manifest.json")) }
            try await bed.export("expected.ndjson")
            let manifest = try await bed.merge(["inc0.ndjson", "inc1.ndjson", "full.ndjson"], to: "merged.ndjson")
            try await bed.expectEqual("merged.ndjson", "expected.ndjson", manifest)
        }
    }

    @Test func interruptedExportIsKept() async throws {
        try await BotTestBed.with { bed in
            try await bed.load([(id: "a", body: #"{"_id":"a"}"#)])
            try await bed.export("full.ndjson")
            let manifest = try bed.text("full.ndjson.manifest.json")
            let journal = #"{"position":{"id":"t000003"},"bytes":0,"sha256":"","manifest":\#(manifest)}"#
            try Data(journal.utf8).write(to: URL(fileURLWithPath: bed.path("m.ndjson.partial")))
            try Data("x".utf8).write(to: URL(fileURLWithPath: bed.path("m.ndjson.part")))
            try await bed.expectRefusal(["full.ndjson"], .occupied, "m.ndjson.part is an interrupted export")
            #expect(try bed.text("m.ndjson.part") == "x" && bed.text("m.ndjson.partial") == journal)
            try await bed.merge(["full.ndjson"], to: "m.ndjson") { $0.overwrites = true }
            #expect(try bed.lines("m.ndjson") == bed.lines("full.ndjson"))
        }
    }

    @Test func aTimeOrAManifestEndsTheChain() async throws {
        try await BotTestBed.with { bed in
            var users = Users(seed: 11)
            var files: [String] = []
            for night in 0..<4 {
                try await users.edit(bed, count: 12)
                let name = "n\(night).ndjson"
                try await bed.export(name) { settings in
                    if night > 0 { settings.since = .manifest(bed.path("n\(night - 1).ndjson.manifest.json")) }
                }
                for member in ["started", "ended"] {
                    try bed.setTime(member, "2026-11-2\(night)T03:00:00Z", in: name)
                }
                files.append(name)
                try await bed.export("expected\(night).ndjson")
            }
            for night in 0..<4 {
                let manifest = try await bed.merge(files, to: "m\(night).ndjson") {
                    $0.limit = .time("2026-11-2\(night)T12:00:00Z")
                }
                #expect(manifest.to == (try bed.manifest(files[night]).to))
                #expect(try bed.sortedLines("m\(night).ndjson") == bed.sortedLines("expected\(night).ndjson"))
            }
            let error = await #expect(throws: TransferError.self) {
                try await bed.merge(files, to: "m.ndjson") { $0.limit = .time("2026-11-19T12:00:00Z") }
            }
            #expect(error?.description.contains("no full export was complete at") == true)
        }
    }
}

/// Users who create, change and delete documents with attachments.
private struct Users {
    private var random: SplitMix64
    private var revisions: [DocumentID: String] = [:]
    private var number = 0

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func edit(_ bed: BotTestBed, count: Int) async throws {
        for _ in 0..<count {
            number += 1
            let id = DocumentID("d\(random.below(40))")
            let revision = revisions[id]
            let start = revision.map { #""_rev":"\#($0)","# } ?? ""
            if revision != nil, random.chance(4) {
                _ = try await bed.phone.put(id, body: Array("{\(start)\"_deleted\":true}".utf8))
                revisions[id] = nil
                continue
            }
            let body = "{\(start)\(attachments())\"n\":\(number),\"at\":1.10,\"name\":\"\u{e9}\(number)\"}"
            // A deleted document is created again.
            revisions[id] = try await bed.phone.put(id, body: Array(body.utf8)).text
        }
    }

    /// None, or a picture of which there are ten.
    private mutating func attachments() -> String {
        guard random.chance(2) else { return "" }
        let data = Base64.text([UInt8](repeating: UInt8(random.below(10)), count: 2_000))
        return #""_attachments":{"p.png":{"content_type":"image/png","data":"\#(data)"}},"#
    }
}

extension BotTestBed {
    @discardableResult
    fileprivate func merge(
        _ names: [String], to output: String, _ configure: (inout ExportMerger.Settings) -> Void = { _ in }
    ) async throws -> ExportManifest {
        var settings = ExportMerger.Settings(inputs: names.map(path), tool: "test")
        configure(&settings)
        return try await ExportMerger(settings, to: ExportPlace(path(output)), logger: Self.logger).run()
    }

    /// Compares a merged export with a full one, line by line in any order, and verifies it.
    fileprivate func expectEqual(_ merged: String, _ expected: String, _ manifest: ExportManifest) async throws {
        let other = try self.manifest(expected)
        #expect(try sortedLines(merged) == sortedLines(expected))
        #expect(manifest.counts == other.counts)
        #expect(manifest.from == nil && manifest.source == other.source)
        #expect(try await verify(merged, comparesWithGateway: true).isEmpty)
        #expect(try self.manifest(merged) == manifest)
    }

    fileprivate func sortedLines(_ name: String) throws -> [String] {
        let bytes = try bytes(name)
        let plain = name.hasSuffix(".gz") ? try Gzip.decompress(bytes, limit: 1 << 24) : bytes
        return String(decoding: plain, as: UTF8.self).split(separator: "\n")
            .map { ($0.hasSuffix(",") ? String($0.dropLast()) : String($0)) }.sorted()
    }

    fileprivate func expectRefusal(_ names: [String], _ code: TransferError.Code, _ words: String) async throws {
        let error = await #expect(throws: TransferError.self) { try await merge(names, to: "m.ndjson") }
        #expect(error?.code == code && error?.description.contains(words) == true, "\(String(describing: error))")
    }

    fileprivate func changeManifest(_ name: String, _ old: String, _ new: String) throws {
        let file = path(name + ".manifest.json")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains(old))
        try Data(text.replacing(old, with: new).utf8).write(to: URL(fileURLWithPath: file))
    }

    fileprivate func setTime(_ member: String, _ time: String, in name: String) throws {
        let manifest = try manifest(name)
        try changeManifest(
            name, #""\#(member)":"\#(member == "started" ? manifest.started : manifest.ended)""#,
            #""\#(member)":"\#(time)""#)
    }
}
