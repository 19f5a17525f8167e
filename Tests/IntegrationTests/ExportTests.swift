import Bots
import Compression
import DocumentFlow
import Encodings
import Foundation
import GatewayClient
import LosslessJSON
import Revisions
import Rules
import ServiceLifecycle
import TestKit
import Testing
import Transfer

@Suite(.limitedParallelism) struct ExportTests {
    private static func id(_ number: Int) -> DocumentID {
        DocumentID("t" + String(repeating: "0", count: 6 - "\(number)".count) + "\(number)")
    }

    private func documents(_ count: Int) -> [(id: DocumentID, body: String)] {
        (0..<count).map { number in
            let type = number.isMultiple(of: 3) ? "task-list" : "task"
            return (
                Self.id(number),
                #"{"_id":"\#(Self.id(number))","type":"\#(type)","n":12345678901234567890123,"at":1.10,"t":"\#u{2028}é"}"#
            )
        }
    }

    // MARK: - Full exports

    @Test func documentsAreLinesAsTheGatewaySendsThem() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(1_150))
            let report = try await bed.export("o.ndjson") { $0.pageSize = 500 }
            let lines = try bed.lines("o.ndjson")
            #expect(lines.count == 1_150)
            let stored = try await bed.phone.allDocs(keys: (0..<1_150).map(Self.id))
            for (lookup, line) in zip(stored, lines) {
                guard case .found(_, let text) = lookup else {
                    Issue.record("a document is not there any more")
                    return
                }
                #expect(String(decoding: text.bytes, as: UTF8.self) == line)
            }
            #expect(report.state.counters.changes == 1_150)
            let manifest = try bed.manifest("o.ndjson")
            #expect(manifest.counts.lines == 1_150)
            #expect(manifest.from == nil)
            #expect(manifest.to != nil)
            #expect(try await bed.verify("o.ndjson").isEmpty)
            #expect(try await bed.verify("o.ndjson", comparesWithGateway: true).isEmpty)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: bed.directory).sorted()
                    == ["o.ndjson", "o.ndjson.manifest.json"])
        }
    }

    @Test func selectorLimitsTheExport() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(30))
            try await bed.export("o.json.gz") { settings in
                settings.format = .json
                settings.selector = #"{"type":"task-list"}"#
                settings.filter = try DocumentFilter(#"{"type":"task-list"}"#, name: "--selector")
            }
            let compressed = try bed.bytes("o.json.gz")
            let array = try JSONText(Gzip.decompress(compressed, limit: 1 << 20)).root
            #expect(array.elements.compactMap { $0["_id"]?.string } == (0..<10).map { Self.id($0 * 3).text })
            #expect(try await bed.verify("o.json.gz", comparesWithGateway: true).isEmpty)
        }
    }

    @Test func tableHasAColumnForEachMember() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(700))
            try await bed.export("o.csv") { $0.format = .csv }
            let records = try bed.text("o.csv").split(separator: "\r\n")
            #expect(records.count == 701)
            #expect(records[0].contains("n:number") && records[0].contains("at:number"))
            #expect(records[7].contains("12345678901234567890123,"))
            #expect(try bed.manifest("o.csv").counts.lines == 700)
            #expect(try await bed.verify("o.csv").isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: bed.directory).count == 2)
        }
    }

    // MARK: - Interruptions

    /// Each state of the disk during an export may be what a killed run leaves.
    @Test(arguments: ["o.ndjson", "o.json", "o.ndjson.gz"])
    func resumeAfterAnyKillGivesTheSameResult(name: String) async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(250))
            @Sendable func configure(_ settings: inout ExportSettings) {
                settings.format = name.hasSuffix(".json") ? .json : .ndjson
                settings.pageSize = 15
                settings.saveInterval = .zero
                settings.isResuming = true
            }
            let running = Task { try await bed.export(name, configure: configure) }
            var copies: [String] = []
            while copies.count < 8, !FileManager.default.fileExists(atPath: bed.path(name)) {
                let copy = "copy\(copies.count)"
                try FileManager.default.createDirectory(atPath: bed.path(copy), withIntermediateDirectories: true)
                // The journal is read first: everything that it counts was written before it, and nothing is written
                // without a journal.
                for file in [name + ".partial", name + ".part"] {
                    guard let data = FileManager.default.contents(atPath: bed.path(file)) else { break }
                    try data.write(to: URL(fileURLWithPath: bed.path(copy + "/" + file)))
                }
                copies.append(copy)
                await Task.yield()
            }
            _ = try await running.value
            let whole = try bed.text(name)
            #expect(whole.split(separator: "\n").count >= 250)
            for copy in copies {
                try await bed.export(copy + "/" + name, configure: configure)
                #expect(try bed.text(copy + "/" + name) == whole)
                #expect(try await bed.verify(copy + "/" + name).isEmpty)
            }
        }
    }

    @Test func repeatedlyStoppedJobCompletes() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(1_200))
            @Sendable func configure(_ settings: inout ExportSettings) {
                settings.pageSize = 25
                settings.isResuming = true
                settings.attachments = .none
            }
            var stops = 0
            while !FileManager.default.fileExists(atPath: bed.path("o.ndjson")), stops < 200 {
                let exporter = try bed.exporter("o.ndjson", configure: configure)
                let group = ServiceGroup(
                    configuration: .init(
                        services: [
                            .init(service: exporter.exporter, successTerminationBehavior: .gracefullyShutdownGroup)
                        ], logger: BotTestBed.logger))
                let running = Task { try await group.run() }
                while exporter.report.state.counters.changes < 100, !exporter.report.state.isStopped,
                    !FileManager.default.fileExists(atPath: bed.path("o.ndjson"))
                {
                    try await Task.sleep(for: .milliseconds(1))
                }
                await group.triggerGracefulShutdown()
                try await running.value
                stops += 1
            }
            #expect(stops > 1)
            #expect(try bed.ids("o.ndjson") == (0..<1_200).map { Self.id($0).text })
            #expect(try bed.manifest("o.ndjson").resumed == stops - 1)
            #expect(try await bed.verify("o.ndjson", comparesWithGateway: true).isEmpty)
        }
    }

    @Test func interruptedExportIsNotResumedWithOtherOptions() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(10))
            try await bed.export("o.ndjson")
            let manifest = try bed.text("o.ndjson.manifest.json")
            let journal = #"{"position":{"id":"t000003"},"bytes":0,"sha256":"","manifest":\#(manifest)}"#
            try Data(journal.utf8).write(to: URL(fileURLWithPath: bed.path("o.ndjson.partial")))
            let error = await #expect(throws: TransferError.self) {
                try await bed.export("o.ndjson") { settings in
                    settings.isResuming = true
                    settings.attachments = .inline
                }
            }
            #expect(error?.code == .foreign)
            let elsewhere = journal.replacingOccurrences(of: bed.url.base, with: "http://elsewhere")
                .replacingOccurrences(of: #""instance":""#, with: #""instance":"0"#)
            try Data(elsewhere.utf8).write(to: URL(fileURLWithPath: bed.path("o.ndjson.partial")))
            let other = await #expect(throws: TransferError.self) {
                try await bed.export("o.ndjson") { $0.isResuming = true }
            }
            #expect(other?.code == .foreign)
            try await bed.export("o.ndjson") { settings in
                settings.attachments = .inline
                settings.overwrites = true
            }
            #expect(try bed.lines("o.ndjson").count == 10)
        }
    }

    // MARK: - Attachments

    private func loadPictures(_ bed: BotTestBed) async throws -> [[UInt8]] {
        let pictures = (0..<3).map { number in [UInt8](repeating: UInt8(number), count: 100_001 + number) }
        for number in 0..<9 {
            let data = Base64.text(pictures[number % 3])
            let body =
                #"{"n":12345678901234567890123,"_attachments":{"a/\u00e9":{"content_type":"image/png","data":"\#(data)"}}}"#
            try await bed.phone.put(Self.id(number), body: Array(body.utf8))
        }
        return pictures
    }

    @Test func attachmentsAreExportedAsFilesOnceEach() async throws {
        try await BotTestBed.with { bed in
            let pictures = try await loadPictures(bed)
            try await bed.export("o.ndjson") { $0.attachments = .folder(bed.path("files")) }
            let files = try FileManager.default.subpathsOfDirectory(atPath: bed.path("files/sha256"))
            #expect(files.count { $0.contains("/") } == 3)
            for (number, line) in try bed.lines("o.ndjson").enumerated() {
                let stub = try #require(JSONText(line).root["_attachments"]?["a/é"])
                #expect(stub["stub"]?.bool == true)
                #expect(stub["content_type"]?.string == "image/png")
                let file = try #require(stub["file"]?.string)
                #expect(try bed.bytes("files/" + file) == pictures[number % 3])
                #expect(file.hasSuffix(Digest.sha256.hex(pictures[number % 3])))
            }
            #expect(try bed.manifest("o.ndjson").counts.bodies == 9)
            #expect(try await bed.verify("o.ndjson", comparesWithGateway: true).isEmpty)

            let damaged = bed.path("files/sha256/" + (try #require(files.first { $0.contains("/") })))
            var bytes = Array(try #require(FileManager.default.contents(atPath: damaged)))
            bytes[5] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: damaged))
            #expect(try await bed.verify("o.ndjson").map(\.kind) == [.attachment])
            try await bed.export("again.ndjson") { $0.attachments = .folder(bed.path("files")) }
            #expect(try await bed.verify("again.ndjson").isEmpty)
            try FileManager.default.removeItem(atPath: damaged)
            #expect(try await bed.verify("o.ndjson").map(\.kind) == [.attachment, .attachment, .attachment])
        }
    }

    @Test(arguments: ["o.ndjson", "o.ndjson.gz"]) func attachmentsAreExportedInline(name: String) async throws {
        try await BotTestBed.with { bed in
            let pictures = try await loadPictures(bed)
            try await bed.export(name) { $0.attachments = .inline }
            for (number, line) in try bed.text(name).split(separator: "\n").enumerated() {
                let document = try JSONText(String(line)).root
                let body = try #require(document["_attachments"]?["a/é"])
                #expect(body["stub"] == nil)
                #expect(body["data"].map { Array($0.rawContent) } == Base64.encode(pictures[number % 3]))
                #expect(document["n"].map { String(decoding: $0.bytes, as: UTF8.self) } == "12345678901234567890123")
            }
            #expect(try await bed.verify(name, comparesWithGateway: true).isEmpty)
        }
    }

    /// More attachments than are fetched at once, with documents between them that need not wait.
    @Test(arguments: [ExportOptions.Attachments.inline, .folder("files")])
    func waitingForAttachmentsKeepsTheOrder(kind: ExportOptions.Attachments) async throws {
        try await BotTestBed.with { bed in
            for number in 0..<70 {
                let data = String(
                    decoding: Base64.encode([UInt8](repeating: UInt8(number), count: number)), as: UTF8.self)
                let attachment = #""a":{"content_type":"image/png","data":"\#(data)"}"#
                let attachments = number % 3 == 0 ? #""_attachments":{\#(attachment)},"# : ""
                try await bed.phone.put(Self.id(number), body: Array("{\(attachments)\"n\":\(number)}".utf8))
            }
            let isFolder = kind != .inline
            try await bed.export("o.ndjson") {
                $0.attachments = isFolder ? .folder(bed.path("files")) : kind
                $0.pageSize = 50
            }
            #expect(try bed.ids("o.ndjson") == (0..<70).map { Self.id($0).text })
            let counts = try bed.manifest("o.ndjson").counts
            #expect(counts.lines == 70)
            #expect(counts.bodies == 24)
            #expect(try await bed.verify("o.ndjson", comparesWithGateway: true).isEmpty)
            let names = try? FileManager.default.contentsOfDirectory(atPath: bed.path("files"))
            #expect(names == (isFolder ? ["sha256"] : nil))
        }
    }

    // MARK: - Files

    @Test func linkToAnExportIsTheSameExport() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(5))
            try FileManager.default.createDirectory(atPath: bed.path("d"), withIntermediateDirectories: false)
            try Data().write(to: URL(fileURLWithPath: bed.path("d/real")))
            try FileManager.default.createSymbolicLink(
                atPath: bed.path("link"), withDestinationPath: bed.path("d/real"))
            try await bed.export("link")
            #expect(try await bed.verify("link", comparesWithGateway: true).isEmpty)
            try await bed.export("next") { $0.since = .manifest(bed.path("link.manifest.json")) }
            #expect(try bed.lines("next").isEmpty)
            #expect(try bed.manifest("next").from == bed.manifest("d/real").to)
        }
    }

    @Test(arguments: ["o.json", "o.json.gz", "o.ndjson.gz", "o.csv.gz"])
    func truncatedExportIsReported(name: String) async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(40))
            try await bed.export(name) { settings in
                settings.format = name.contains("csv") ? .csv : name.contains("ndjson") ? .ndjson : .json
            }
            try Data(bed.bytes(name).dropLast(9)).write(to: URL(fileURLWithPath: bed.path(name)))
            let findings = try await bed.verify(name)
            let frame = try #require(findings.first { $0.kind == .framing })
            #expect(frame.message?.contains(name.hasSuffix("gz") ? "cut" : "]") == true)
            #expect(findings.contains { $0.kind == .length })
            // A part of a line does not count as a line of the export.
            #expect(!name.hasSuffix("gz") || !findings.contains { $0.kind == .line })
        }
    }

    // MARK: - Since

    @Test func unknownSequenceIsRefused() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(5))
            try await bed.export("o.ndjson")
            let newest = try #require(try bed.manifest("o.ndjson").to)
            try await bed.export("none.ndjson") { $0.since = .sequence(newest) }
            #expect(try bed.lines("none.ndjson").isEmpty)
            let failure = await #expect(throws: RunError.self) {
                try await bed.export("p.ndjson") { $0.since = SequenceID("99999999").map { .sequence($0) } }
            }
            // CouchDB detects it itself.
            #expect(failure?.code == .databaseReset || failure?.code == .sequenceRefused)
            #expect(!FileManager.default.fileExists(atPath: bed.path("p.ndjson")))
        }
    }

    @Test func nextExportHasLaterChanges() async throws {
        try await BotTestBed.with { bed in
            try await bed.load(documents(20))
            try await bed.export("full.ndjson")
            var changed = try #require(try await bed.stored(Self.id(4))).bytes
            changed = try JSONText(changed).setting(JSONPointer("/type"), to: Array(#""done""#.utf8)).bytes
            try await bed.phone.put(Self.id(4), body: changed)
            let gone = try #require(try await bed.stored(Self.id(7))?.root["_rev"]?.string)
            try await bed.phone.put(Self.id(7), body: Array(#"{"_rev":"\#(gone)","_deleted":true}"#.utf8))
            try await bed.export("next.ndjson") {
                $0.since = .manifest(bed.path("full.ndjson.manifest.json"))
            }
            let lines = try bed.lines("next.ndjson").map { try JSONText($0).root }
            #expect(Set(lines.compactMap { $0["_id"]?.string }) == [Self.id(4).text, Self.id(7).text])
            #expect(lines.first { $0["_id"]?.string == Self.id(7).text }?["_deleted"]?.bool == true)
            let (full, next) = (try bed.manifest("full.ndjson"), try bed.manifest("next.ndjson"))
            #expect(next.from == full.to)
            #expect(next.counts.tombstones == 1)
            #expect(try await bed.verify("next.ndjson", comparesWithGateway: true).isEmpty)
            try await bed.export("none.ndjson") {
                $0.since = .manifest(bed.path("next.ndjson.manifest.json"))
            }
            #expect(try bed.lines("none.ndjson").isEmpty)
            let findings = try await bed.verify("full.ndjson", comparesWithGateway: true)
            #expect(findings.map(\.kind) == [.different, .missing])
            #expect(findings.first?.path == "/type")
        }
    }

    @Test func historiesAndTombstonesAreExportedOnRequest() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            try await bed.load(documents(450))
            let first = try #require(try await bed.stored(Self.id(3))?.root["_rev"]?.string)
            try await bed.phone.put(Self.id(3), body: Array(#"{"_rev":"\#(first)","_deleted":true}"#.utf8))
            try await bed.export("o.ndjson") { $0.includesRevisions = true }
            let lines = try bed.lines("o.ndjson").map { try JSONText($0).root }
            // A real server has tombstones of other tests.
            #expect(lines.count { $0["_deleted"] == nil } == 449)
            let gone = try #require(lines.first { $0["_id"]?.string == Self.id(3).text })
            #expect(gone["_deleted"]?.bool == true)
            #expect(gone["_revisions"]?["ids"]?.childCount == 2)
            #expect(first.hasSuffix(gone["_revisions"]?["ids"]?.element(1)?.string ?? "-"))
            #expect(try await bed.verify("o.ndjson", comparesWithGateway: true).isEmpty)
        }
    }
}

extension BotTestBed {
    func path(_ name: String) -> String { directory + "/" + name }

    func exporter(
        _ name: String, configure: (inout ExportSettings) throws -> Void = { _ in }
    ) throws -> (exporter: Exporter, report: ExportReport) {
        var export = ExportSettings()
        try configure(&export)
        let report = ExportReport()
        let exporter = Exporter(
            gateway: Gateway(url, settings: settings), settings: export, place: ExportPlace(path(name)), report: report,
            logger: Self.logger)
        return (exporter, report)
    }

    @discardableResult
    func export(
        _ name: String, configure: (inout ExportSettings) throws -> Void = { _ in }
    ) async throws -> ExportReport {
        let (exporter, report) = try exporter(name, configure: configure)
        try await exporter.run()
        return report
    }

    func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path(name)))) }

    func text(_ name: String) throws -> String {
        let bytes = try bytes(name)
        return String(
            decoding: name.hasSuffix(".gz") ? try Gzip.decompress(bytes, limit: 1 << 28) : bytes, as: UTF8.self)
    }

    func lines(_ name: String) throws -> [String] {
        try bytes(name).split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    }

    func ids(_ name: String) throws -> [String] {
        try lines(name).compactMap { try JSONText($0).root["_id"]?.string }
    }

    func manifest(_ name: String) throws -> ExportManifest {
        try ExportManifest.read(ExportPlace.manifest(of: path(name)))
    }

    func verify(_ name: String, comparesWithGateway: Bool = false) async throws -> [VerificationFinding] {
        var findings: [VerificationFinding] = []
        let file = try ExportFile(path(name))
        try await ExportVerifier(file).verify { findings.append($0) }
        guard comparesWithGateway else { return findings }
        try await GatewayComparison(
            file, gateway: phone, comparesRevisions: false, retries: .init(), logger: Self.logger
        ).compare { findings.append($0) }
        return findings
    }
}
