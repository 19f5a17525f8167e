import Bots
import Compression
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Revisions
import TestKit
import Testing
import Transfer

/// Documents that can't be read or written are reported, counted and saved; the rest is imported.
@Suite(.limitedParallelism) struct ImportBadInputTests {
    private static let good = [#"{"_id":"a","n":1}"#, #"{"_id":"z","n":2}"#]

    private static let oneBadLine: [(line: String, reason: String)] = [
        (#"{"_id":"b","n":01}"#, "2:17"), (#"{"_id":"b""#, "2:"), ("nonsense", "2:2"),
        (#""text""#, "object"), (#"{"n":1}"#, "no _id"), (#"{"_id":7}"#, "_id"),
        (#"{"_id":""}"#, "empty"), (#"{"_id":"_b"}"#, "begins with '_'"),
        (#"{"_id":"_local/b"}"#, "begins with '_'"), (#"{"_id":"b\u0000"}"#, "U+0000"),
        (#"{"_id":"\ud83e"}"#, "surrogate"),
        (#"{"_id":"\#(String(repeating: "x", count: 251))"}"#, "251 bytes"),
        (#"{"_id":"b","_attachments":[]}"#, "attachment"),
        (#"{"_id":"b","_attachments":{"x":{"data":7}}}"#, "'x'"),
        (#"{"_id":"b","_attachments":{"x":{"follows":true}}}"#, "'x'"),
        (#"{"_id":"b","_attachments":{"x":{"file":"../../etc/passwd"}}}"#, "'x'"),
        (#"{"_id":"b","_attachments":{"x":null}}"#, "'x'"),
        (#"{"_id":"b","_attachments":{"x":{"data":"not base64"}}}"#, "not base64"),
        (#"{"_id":"b","_attachments":{"x":{"content_type":5,"data":"eA=="}}}"#, "content_type"),
        (#"{"_id":"b","_sync":1}"#, "gateway refused it (400)"),
    ]

    @Test(arguments: oneBadLine)
    func badLineIsKeptAndTheRestIsImported(line: String, reason: String) async throws {
        try await BotTestBed.withEmbedded { bed in
            let state = try await bed.load(lines: [Self.good[0], line, Self.good[1]])
            #expect(state.counts == ImportCounts(inserted: 2, rejected: 1))
            #expect(state.counters.rejected == 1 && state.counters.changes == 3)
            #expect(try await bed.contents().keys.map(\.text).sorted() == ["a", "z"])
            #expect(try bed.lines("rejects.ndjson") == [line])
            let rejection = try #require(try bed.rejections().first)
            #expect(rejection.line == 2)
            #expect(rejection.id == (try? JSONText(line))?.root["_id"]?.string)
            #expect(rejection.reason.contains(reason), "\(rejection.reason)")
        }
    }

    @Test func correctedDocumentsCanBeImported() async throws {
        try await BotTestBed.withEmbedded { bed in
            try await bed.load(lines: [Self.good[0], #"{"_id":"b","n":01}"#, "{\"_id\":\"c\u{2028}\",\"_sync\":1}"])
            let rejected = try bed.text("rejects.ndjson")
            #expect(rejected.split(separator: "\n").count == 2)
            let corrected = rejected.replacingOccurrences(of: "01", with: "1").replacingOccurrences(
                of: "_sync", with: "x")
            try bed.write("corrected.ndjson", bytes: Array(corrected.utf8))
            let state = try await bed.load(file: "corrected.ndjson")
            #expect(state.counts == ImportCounts(inserted: 2))
            #expect(
                try await bed.contents()
                    == [
                        "a": Self.good[0], "b": #"{"_id":"b","n":1}"#,
                        "c\u{2028}": #"{"_id":"c\u{2028}","x":1}"#,
                    ])
        }
    }

    /// An array's documents may span several lines; in the reject file, each has one line.
    @Test func documentOnSeveralLinesIsRejectedOnOne() async throws {
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.json", bytes: Array("[\n{\"_id\":\"a\"},\n{\n  \"n\": 1\n},\n{\"_id\":\"c\"}]".utf8))
            let state = try await bed.load(file: "in.json")
            #expect(state.counts == ImportCounts(inserted: 2, rejected: 1))
            #expect(try bed.rejections().map(\.line) == [3])
            let lines = try bed.lines("rejects.ndjson")
            #expect(lines.count == 1)
            #expect(try lines.map { content(of: try JSONText($0).root) } == [#"{"n":1}"#])
        }
    }

    @Test(arguments: [(1, 1), (40_000, 100)])
    func readablePartOfATruncatedArchiveIsImported(cut: Int, least: Int) async throws {
        try await BotTestBed.withEmbedded { bed in
            var random = SystemRandomNumberGenerator()
            let lines = (0..<2_000).map { #"{"_id":"\#($0)","x":"\#(random.next())\#(random.next())"}"# + "\n" }
            let compressed = Gzip.compress(Array(lines.joined().utf8))
            try bed.write("in.ndjson.gz", bytes: Array(compressed.dropLast(cut)))
            let (importer, report) = try bed.importer("in.ndjson.gz")
            let error = await #expect(throws: TransferError.self) { try await importer.run() }
            #expect(error?.code == .invalid)
            #expect(error?.description.contains("in.ndjson.gz") == true)
            #expect(report.state.counts.inserted >= least)
            #expect(try await bed.contents().count == report.state.counts.inserted)
            // Later, the complete file is imported with an upsert.
            try bed.write("in.ndjson.gz", bytes: compressed)
            #expect(try await bed.load(file: "in.ndjson.gz") { $0.mode = .upsert }.counts.settled == 2_000)
            #expect(try await bed.contents().count == 2_000)
        }
    }

    @Test func missingInputIsReported() async throws {
        try await BotTestBed.withEmbedded { bed in
            let error = await #expect(throws: TransferError.self) { try await bed.load(file: "nowhere.ndjson") }
            #expect(error?.code == .missing)
            #expect(error?.description.contains("nowhere.ndjson") == true)
        }
    }

    @Test func emptyInputIsNoError() async throws {
        try await BotTestBed.withEmbedded { bed in
            for name in ["in.ndjson", "in.csv", "in.json"] {
                try bed.write(name, bytes: [])
                #expect(try await bed.load(file: name).counts == ImportCounts(), "\(name)")
            }
        }
    }

    // MARK: - Too much of it

    @Test(arguments: [("0", false), ("2", false), ("3", true), ("29%", false), ("30%", true), ("100%", true)])
    func tooManyErrorsEndTheImport(limit: String, isTolerated: Bool) async throws {
        try await BotTestBed.withEmbedded { bed in
            let lines = (0..<10).map { $0 % 4 == 1 ? #"{"n":\#($0)}"# : #"{"_id":"d\#($0)"}"# }
            try bed.write("in.ndjson", lines)
            let (importer, report) = try bed.importer("in.ndjson") { $0.errorLimit = ErrorLimit(limit) }
            if isTolerated {
                try await importer.run()
            } else {
                // A percentage is checked once there are enough documents: here, when the exit code is determined.
                try await expectFailure(of: importer, limit)
                #expect(ErrorLimit(limit)?.isExceeded(by: report.failures, isFinal: true) == true)
            }
            #expect(report.state.counts.rejected == 3 || limit == "0")
        }
    }

    private func expectFailure(of importer: Importer, _ limit: String) async throws {
        guard !limit.hasSuffix("%") else { return try await importer.run() }
        let failure = await #expect(throws: RunError.self) { try await importer.run() }
        #expect(failure?.code == .tooManyErrors)
    }

    @Test func errorRateEndsALongImportEarly() async throws {
        try await BotTestBed.withEmbedded { bed in
            let lines = (0..<5_000).map { $0 < 1_000 && $0 % 2 == 0 ? #"{"n":1}"# : #"{"_id":"d\#($0)"}"# }
            let failure = await #expect(throws: RunError.self) {
                try await bed.load(lines: lines) { settings in
                    settings.errorLimit = .percent(20)
                    settings.batchDocuments = 50
                    settings.requests = 1
                }
            }
            #expect(failure?.code == .tooManyErrors)
            let imported = try await bed.contents()
            #expect(imported.count < 1_000)
            let (rejected, reasons) = (try bed.lines("rejects.ndjson"), try bed.rejections())
            #expect(rejected.count == reasons.count)
        }
    }
}
