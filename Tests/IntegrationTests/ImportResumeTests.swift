import BotState
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import Logging
import LosslessJSON
import Revisions
import Rules
import ServiceLifecycle
import TestKit
import Testing
import Transfer

/// The files that an interrupted import leaves, and how the next import continues.
@Suite(.limitedParallelism) struct ImportResumeTests {
    /// Some of them can't be written.
    private static func lines(_ count: Int) -> [String] {
        (0..<count).map { number in
            number % 50 == 7
                ? #"{"n":\#(number)}"#
                : #"{"_id":"t\#(number)","type":"task","n":\#(number).0,"t":"\#(String(repeating: "x", count: 60))"}"#
        }
    }

    private static func configure(_ settings: inout ImportSettings) {
        settings.isResuming = true
        settings.saveInterval = .zero
        settings.batchDocuments = 20
    }

    private func expectWhole(_ bed: BotTestBed, _ count: Int, rejects: String = "rejects.ndjson") async throws {
        let lines = Self.lines(count)
        #expect(try bed.lines(rejects) == lines.filter { !$0.contains("_id") })
        #expect(try bed.rejections(rejects).map(\.line) == (0..<count).filter { $0 % 50 == 7 }.map { $0 + 1 })
        let good = lines.filter { $0.contains("_id") }
        for (line, lookup) in zip(good, try await bed.phone.allDocs(keys: good.map { Self.id($0) })) {
            guard case .found(let revision, let document) = lookup else {
                Issue.record("not there: \(line)")
                continue
            }
            #expect(revision.generation == 1)
            #expect(content(of: document.root) == content(of: try JSONText(line).root))
        }
    }

    private static func id(_ line: String) -> DocumentID {
        DocumentID((try? JSONText(line))?.root["_id"]?.string ?? "")
    }

    @Test func repeatedlyStoppedJobCompletes() async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ndjson", Self.lines(1_500))
            let progress = bed.path("in.ndjson.import-progress")
            var stops = 0
            var isDone = false
            while !isDone, stops < 300 {
                let (importer, report) = try bed.importer("in.ndjson", configure: Self.configure)
                let group = ServiceGroup(
                    configuration: .init(
                        services: [.init(service: importer, successTerminationBehavior: .gracefullyShutdownGroup)],
                        logger: BotTestBed.logger))
                let isOver = Locked(false)
                let running = Task {
                    defer { isOver.withLock { $0 = true } }
                    try await group.run()
                }
                // When the import is stopped, requests under way are completed.
                let start = stops == 0 ? 0 : try doneBefore(progress)
                while report.state.counts.settled < start + 60, !isOver.withLock({ $0 }) {
                    try await Task.sleep(for: .milliseconds(1))
                }
                await group.triggerGracefulShutdown()
                try await running.value
                stops += 1
                isDone = !report.state.isStopped
                #expect(FileManager.default.fileExists(atPath: progress) == !isDone)
                if isDone { #expect(report.state.counts == ImportCounts(inserted: 1_470, rejected: 30)) }
            }
            #expect(stops > 3)
            try await expectWhole(bed, 1_500)
        }
    }

    private func doneBefore(_ progress: String) throws -> Int {
        let root = try JSONText(Array(try Data(contentsOf: URL(fileURLWithPath: progress)))).root
        return root["items"]?.integer ?? 0
    }

    /// Each state of the disk during an import may be what a killed import leaves. The gateway may be further.
    @Test(arguments: [nil, ImportSettings.Schema.todo])
    func resumeAfterAnyKillGivesTheSameResult(schema: ImportSettings.Schema?) async throws {
        try await BotTestBed.withEmbedded { bed in
            let list = #","taskList":{"id":"a.l","owner":"a"},"task":"x"}"#
            let lines = Self.lines(200).map { schema == nil ? $0 : $0.replacingOccurrences(of: "}", with: list) }
            try bed.write("in.ndjson", lines)
            @Sendable func configure(_ settings: inout ImportSettings) {
                Self.configure(&settings)
                settings.schema = schema
            }
            let running = Task { try await bed.load(file: "in.ndjson", configure: configure) }
            let files = ["in.ndjson.import-progress", "rejects.ndjson", "rejects.ndjson.reasons"]
            var copies: [String] = []
            while copies.count < 8 {
                let copy = bed.path("copy\(copies.count)")
                // The progress file is read first: everything that it counts was written before it.
                let contents = files.map { FileManager.default.contents(atPath: bed.path($0)) }
                guard contents[0] != nil else {
                    if copies.isEmpty { await Task.yield() } else { break }
                    continue
                }
                try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
                for (file, content) in zip(files, contents) {
                    try content?.write(to: URL(fileURLWithPath: copy + "/" + file))
                }
                copies.append(copy)
                await Task.yield()
            }
            #expect(try await running.value.counts == ImportCounts(inserted: 196, rejected: 4))
            let (rejects, reasons) = (try bed.bytes(files[1]), try bed.bytes(files[2]))
            for copy in copies {
                let state = try await bed.load(file: "in.ndjson") { settings in
                    configure(&settings)
                    settings.progressPath = copy + "/" + files[0]
                    settings.rejectPath = copy + "/" + files[1]
                }
                #expect(state.counts.rejected == 4 && state.counts.settled == 200)
                #expect(FileManager.default.contents(atPath: copy + "/" + files[1]) == Data(rejects))
                #expect(FileManager.default.contents(atPath: copy + "/" + files[2]) == Data(reasons))
            }
            if schema == nil { try await expectWhole(bed, 200) }
        }
    }

    // MARK: - Another import

    /// Leaves the progress file of an import that exceeded its error limit.
    private func interrupt(
        _ bed: BotTestBed, configure: (inout ImportSettings) -> Void = { _ in }
    ) async throws {
        try bed.write("in.ndjson", Self.lines(60))
        await #expect(throws: RunError.self) {
            try await bed.load(file: "in.ndjson") { settings in
                configure(&settings)
                settings.errorLimit = .count(0)
                settings.batchDocuments = 5
                settings.requests = 1
            }
        }
        #expect(FileManager.default.fileExists(atPath: bed.path("in.ndjson.import-progress")))
    }

    private func unreadyReason(
        _ bed: BotTestBed, configure: (inout ImportSettings) throws -> Void = { _ in }
    ) async throws -> String? {
        let error = await #expect(throws: TransferError.self) {
            try await bed.load(file: "in.ndjson") { settings in
                settings.isResuming = true
                try configure(&settings)
            }
        }
        #expect(error?.code == .foreign)
        return error?.description
    }

    @Test func importWithOtherSettingsIsNotResumed() async throws {
        try await BotTestBed.withEmbedded { bed in
            let rules = "version: 1\nkind: mapping\nrules: [{ name: a, when: {}, then: [{ merge: { a: 1 } }] }]\n"
            try bed.write("map.yaml", bytes: Array(rules.utf8))
            let mapping = try await Mapping.load(paths: [bed.path("map.yaml")])
            try await interrupt(bed)
            let mode = try await unreadyReason(bed) { $0.mode = .upsert }
            #expect(mode?.contains("--mode was insert") == true, "\(mode ?? "")")
            let map = try await unreadyReason(bed) { $0.mapping = mapping }
            #expect(map?.contains("--map") == true, "\(map ?? "")")
            let schema = try await unreadyReason(bed) { $0.schema = .todo }
            #expect(schema?.contains("--schema") == true, "\(schema ?? "")")
            let state = try await bed.load(file: "in.ndjson") { $0.isResuming = true }
            #expect(state.counts.rejected == 2 && state.counts.settled == 60)
            try await expectWhole(bed, 60)
        }
    }

    @Test func importOfAnotherFileOrKeyspaceIsNotResumed() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await interrupt(bed)
            try await BotTestBed.withEmbedded { other in
                let elsewhere = BotTestBed(url: other.url, settings: other.settings, directory: bed.directory)
                let unreadyReason = try await unreadyReason(elsewhere)
                #expect(unreadyReason?.contains(bed.url.description) == true, "\(unreadyReason ?? "")")
                await elsewhere.phone.shutdown()
                let contents = try await other.contents()
                #expect(contents.isEmpty)
            }
            let lines = Self.lines(60)
            for changed in [lines + [#"{"_id":"more"}"#], lines.map { $0.replacingOccurrences(of: "x", with: "y") }] {
                try bed.write("in.ndjson", changed)
                #expect(try await unreadyReason(bed)?.contains("the input has changed") == true)
            }
        }
    }

    @Test(arguments: ["", #"{"changebot":"import-progress","version":2}"#])
    func fileWithoutProgressIsNotResumed(text: String) async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ndjson", Self.lines(3))
            try bed.write("in.ndjson.import-progress", bytes: Array(text.utf8))
            #expect(try await unreadyReason(bed)?.contains("without --resume") == true)
            #expect(try await bed.load(file: "in.ndjson").counts == ImportCounts(inserted: 3))
        }
    }

    /// Regression: it was overwritten, and removed at the end.
    @Test(arguments: ["{}", "nonsense", #"{"changebot":"export"}"#, "2 MB"], [false, true])
    func foreignFileIsNotOverwritten(text: String, isResuming: Bool) async throws {
        try await BotTestBed.withEmbedded { bed in
            let text = text == "2 MB" ? String(repeating: "my notes\n", count: 250_000) : text
            try bed.write("in.ndjson", Self.lines(3))
            for name in ["notes", "notes.lock"] { try bed.write(name, bytes: Array(text.utf8)) }
            let error = await #expect(throws: TransferError.self) {
                try await bed.load(file: "in.ndjson") { settings in
                    settings.progressPath = bed.path("notes")
                    settings.isResuming = isResuming
                }
            }
            #expect(error?.code == .occupied && error?.description.contains("--progress-file") == true)
            #expect(try bed.text("notes") == text && bed.text("notes.lock") == text)
            #expect(try await bed.contents().isEmpty)
        }
    }

    @Test func fileWithTheNameOfTheLockStays() async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ndjson", Self.lines(3))
            try bed.write("p.lock", bytes: Array("my notes".utf8))
            try await bed.load(file: "in.ndjson") { $0.progressPath = bed.path("p") }
            #expect(try bed.text("p.lock") == "my notes")
            try await bed.load(file: "in.ndjson") { settings in
                settings.mode = .upsert
                settings.progressPath = bed.path("q")
            }
            #expect(!FileManager.default.fileExists(atPath: bed.path("q.lock")))
        }
    }

    @Test func inputReadWithOtherOptionsIsNotResumed() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await interrupt(bed)
            let format = try await unreadyReason(bed) { $0.format = .csv }
            #expect(format?.contains("it had no --format") == true, "\(format ?? "")")
            let delimiter = try await unreadyReason(bed) { $0.delimiter = try #require(CSVDelimiter(";")) }
            #expect(delimiter?.contains("--delimiter") == true, "\(delimiter ?? "")")
            // As written by earlier versions.
            let progress = try JSONText(bed.bytes("in.ndjson.import-progress"))
            var old = progress
            for name in ["format", "delimiter", "deleted"] { old = try old.removing(JSONPointer(tokens: [name])) }
            try bed.write("in.ndjson.import-progress", bytes: old.bytes)
            let state = try await bed.load(file: "in.ndjson") { settings in
                settings.isResuming = true
                settings.format = .ndjson
            }
            #expect(state.counts.rejected == 2 && state.counts.settled == 60)
        }
    }

    @Test func importWithoutItsRejectFilesIsNotResumed() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await interrupt(bed)
            try FileManager.default.removeItem(atPath: bed.path("rejects.ndjson"))
            #expect(try await unreadyReason(bed)?.contains("rejects.ndjson") == true)
        }
    }

    @Test func importWithoutResumeStartsAgain() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await interrupt(bed)
            let there = try await bed.contents().count
            #expect(there > 0)
            let state = try await bed.load(file: "in.ndjson")
            #expect(state.counts == ImportCounts(inserted: 58 - there, rejected: there + 2))
        }
    }
}
