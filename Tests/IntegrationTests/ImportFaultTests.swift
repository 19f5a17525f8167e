import Bots
import DocumentFlow
import EmbeddedGateway
import Encodings
import Foundation
import GatewayClient
import LosslessJSON
import Revisions
import Rules
import TestKit
import Testing
import Transfer

/// Temporary faults only cost time: no document is lost, written twice or treated as a conflict.
@Suite(.limitedParallelism) struct ImportFaultTests {
    private static let lines = (0..<400).map { #"{"_id":"d\#($0)","n":\#($0).0}"# }

    private static let troubles = [
        #"{"status":{"code":503,"retry_after":0},"on":"_bulk_docs","times":2}"#,
        #"{"status":{"code":429,"retry_after":0},"on":["_bulk_docs","_all_docs"],"every":3,"times":3}"#,
        #"{"status":502,"on":"any","times":2}"#,
        #"{"cut":[0,300],"on":["_bulk_docs","_all_docs"],"every":2,"times":3}"#,
        #"{"refuse_documents":{"share":0.2,"status":[503,500,429]},"times":2}"#,
    ]

    @Test(arguments: troubles, [ImportMode.insert, .upsert])
    func newDocumentsAreWrittenOnce(trouble: String, mode: ImportMode) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try embedded.injectFaults(trouble)
            let state = try await bed.load(lines: Self.lines) { settings in
                settings.mode = mode
                settings.batchDocuments = 25
            }
            embedded.stopFaults()
            #expect(state.counts.rejected == 0 && state.counts.settled == 400, bed.rejectionReasons)
            #expect(state.counts.changed == 0)
            #expect(state.counters.traffic.retries > 0 || trouble.contains("refuse_documents"))
            try await bed.expectEachOnce(400)
        }
    }

    /// Regression: the import reported documents as written that a reset had removed.
    @Test func resetDuringTheImportIsDetected() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try embedded.injectFaults(#"{"reset":true,"on":"_bulk_docs","after":8,"times":1}"#)
            try bed.write("in.ndjson", Self.lines)
            let (importer, _) = try bed.importer("in.ndjson") { settings in
                settings.batchDocuments = 25
                // Otherwise a slow machine may write the first documents after the reset.
                settings.requests = 1
            }
            let failure = await #expect(throws: TransferError.self) { try await importer.run() }
            #expect(failure?.code == .foreign && failure?.description.contains("the database was reset") == true)
        }
    }

    /// Regression: the manifest combined the documents of one database with the sequence of another, so the next export
    /// missed documents.
    @Test func resetDuringTheExportIsDetected() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try await bed.load((0..<40).map { (DocumentID("d\($0)"), #"{"_id":"d\#($0)"}"#) })
            try embedded.injectFaults(#"{"reset":true,"on":"_all_docs","after":2,"times":1}"#)
            var settings = ExportSettings()
            settings.pageSize = 10
            let path = bed.directory + "/out.ndjson"
            let exporter = Exporter(
                gateway: Gateway(bed.url, settings: bed.settings), settings: settings,
                place: ExportPlace(path), report: ExportReport(), logger: BotTestBed.logger)
            let failure = await #expect(throws: TransferError.self) { try await exporter.run() }
            #expect(failure?.code == .foreign && failure?.description.contains("the database was reset") == true)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    /// As with a full disk: the import gives up and can be resumed.
    @Test(arguments: [429, 502, 503, 504, 507], [ImportMode.upsert, .restore])
    func temporarilyRefusedDocumentsAreRetried(status: Int, mode: ImportMode) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try embedded.injectFaults(#"{"refuse_documents":{"share":1,"status":\#(status)}}"#)
            try bed.write("in.ndjson", (0..<40).map { #"{"_id":"d\#($0)","_rev":"1-abc"}"# })
            let (importer, report) = try bed.importer("in.ndjson") { settings in
                settings.mode = mode
                settings.retries.retryFor = .milliseconds(20)
            }
            let failure = await #expect(throws: RunError.self) { try await importer.run() }
            #expect(failure?.code == .gaveUp)
            #expect(report.state.counts.rejected == 0)
            embedded.stopFaults()
            let state = try await bed.load(file: "in.ndjson") { settings in
                settings.mode = mode
                settings.isResuming = true
            }
            #expect(state.counts == ImportCounts(inserted: 40), bed.rejectionReasons)
        }
    }

    @Test(arguments: troubles.prefix(4)) func mergesAreDoneOnce(trouble: String) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try await bed.load(lines: Self.lines)
            try embedded.injectFaults(trouble)
            let patches = (0..<400).map { #"{"_id":"d\#($0)","n":null,"m":\#($0)}"# }
            let state = try await bed.load(lines: patches) { settings in
                settings.mode = .merge
                settings.batchDocuments = 25
            }
            embedded.stopFaults()
            #expect(state.counts.rejected == 0 && state.counts.settled == 400, bed.rejectionReasons)
            try await bed.expectEachOnce(400, generation: 2)
            #expect(try await bed.contents()["d7"] == #"{"_id":"d7","m":7}"#)
        }
    }

    @Test(arguments: troubles.prefix(4).map { $0.replacingOccurrences(of: "_all_docs", with: "_revs_diff") })
    func restoresAreDoneOnce(trouble: String) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try embedded.injectFaults(trouble)
            let lines = (0..<400).map {
                #"{"_id":"d\#($0)","_rev":"3-c","_revisions":{"start":3,"ids":["c","b","a"]}}"#
            }
            let state = try await bed.load(lines: lines) { settings in
                settings.mode = .restore
                settings.batchDocuments = 25
            }
            embedded.stopFaults()
            #expect(state.counts == ImportCounts(inserted: 400), bed.rejectionReasons)
            try await bed.expectEachOnce(400, generation: 3)
        }
    }

    /// Attachments are streamed from their files, so a repeated request reads them again.
    @Test(arguments: [
        #"{"drop":"after","on":"document","every":3,"times":3}"#,
        #"{"drop":"before","on":"document","every":3,"times":3}"#,
        #"{"status":{"code":503,"retry_after":0},"on":"document","every":3,"times":3}"#,
    ])
    func streamedAttachmentsAreComplete(trouble: String) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let data = (0..<90_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
            let text = Base64.text(data)
            let lines = (0..<12).map {
                #"{"_id":"d\#($0)","_attachments":{"x":{"content_type":"image/png","data":"\#(text)"}}}"#
            }
            try await bed.load(lines: lines)
            try await bed.export("o.ndjson") { $0.attachments = .folder(bed.path("files")) }
            try await bed.load(file: "o.ndjson") { $0.mode = .delete }
            try embedded.injectFaults(trouble)
            let state = try await bed.load(file: "o.ndjson") { settings in
                settings.attachments = bed.path("files")
                settings.streamingThreshold = 1_000
            }
            embedded.stopFaults()
            #expect(state.counts.rejected == 0 && state.counts.settled == 12, bed.rejectionReasons)
            for number in 0..<12 {
                #expect(try await bed.phone.attachment("x", of: DocumentID("d\(number)")) == data)
                #expect(try await bed.revision(of: DocumentID("d\(number)"))?.hasPrefix("3-") == true)
            }
        }
    }

    @Test func longOutageEndsTheImportAndTheNextContinues() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try embedded.injectFaults(#"{"status":503,"on":"_bulk_docs","after":5}"#)
            let failure = await #expect(throws: RunError.self) {
                try await bed.load(lines: Self.lines) { settings in
                    settings.batchDocuments = 25
                    settings.retries.retryFor = .milliseconds(200)
                }
            }
            #expect(failure?.code == .gaveUp)
            #expect(FileManager.default.fileExists(atPath: bed.path("in.ndjson.import-progress")))
            embedded.stopFaults()
            let state = try await bed.load(file: "in.ndjson") { $0.isResuming = true }
            #expect(state.counts.rejected == 0 && state.counts.settled == 400, bed.rejectionReasons)
            #expect(!FileManager.default.fileExists(atPath: bed.path("in.ndjson.import-progress")))
            try await bed.expectEachOnce(400)
        }
    }
}
