import Bots
import Foundation
import GatewayClient
import LosslessJSON
import Revisions
import TestKit
import Testing
import Transfer

/// The folder of attachments that an export's manifest names.
@Suite(.limitedParallelism) struct ImportFolderTests {
    private static let lines = (0..<20).map { number in
        let data = Data("picture \(number)".utf8).base64EncodedString()
        return #"{"_id":"d\#(number)","_attachments":{"a":{"content_type":"image/png","data":"\#(data)"}}}"#
    }

    /// An export in its own folder `there`, with its attachments in `there/files`.
    private func withExport(lines: [String] = lines, _ body: (BotTestBed) async throws -> Void) async throws {
        try await BotTestBed.withEmbedded { origin in
            try await origin.load(lines: lines)
            try FileManager.default.createDirectory(atPath: origin.path("there"), withIntermediateDirectories: true)
            try await origin.export("there/o.ndjson") { $0.attachments = .folder(origin.path("there/files")) }
            try await BotTestBed.withEmbedded { target in
                try FileManager.default.moveItem(atPath: origin.path("there"), toPath: target.path("there"))
                try await body(target)
            }
        }
    }

    @Test func attachmentFolderIsFoundNextToTheExport() async throws {
        try await withExport { target in
            let (importer, report) = try target.importer("there/o.ndjson")
            try await importer.run()
            #expect(report.state.counts == ImportCounts(inserted: 20), target.rejectionReasons)
            #expect(try await target.phone.openAttachment("a", of: "d7", revision: nil) != nil)
        }
    }

    @Test(arguments: [ImportMode.insert, .upsert, .merge, .restore])
    func nothingIsWrittenWithoutTheAttachmentFolder(mode: ImportMode) async throws {
        try await withExport { target in
            try FileManager.default.removeItem(atPath: target.path("there/files"))
            let (importer, report) = try target.importer("there/o.ndjson") { $0.mode = mode }
            let error = await #expect(throws: TransferError.self) { try await importer.run() }
            #expect(error?.code == .missing)
            #expect(error?.description.contains("--attachments DIR") == true, "\(String(describing: error))")
            #expect(report.state.counts == ImportCounts())
            #expect(try await target.stored("d0") == nil)
        }
    }

    @Test func attachmentFolderIsOptionalForDeletesAndWithoutManifest() async throws {
        try await withExport { target in
            try FileManager.default.removeItem(atPath: target.path("there/files"))
            let deleted = try await target.load(file: "there/o.ndjson") { $0.mode = .delete }
            #expect(deleted.counts == ImportCounts(unchanged: 20))
            let ignored = try await target.load(file: "there/o.ndjson") { $0.checksManifest = false }
            #expect(ignored.counts == ImportCounts(rejected: 20))
        }
    }

    @Test func exportWithoutAttachmentsNeedsNoFolder() async throws {
        try await withExport(lines: [#"{"_id":"d"}"#]) { target in
            try? FileManager.default.removeItem(atPath: target.path("there/files"))
            let state = try await target.load(file: "there/o.ndjson")
            #expect(state.counts == ImportCounts(inserted: 1), target.rejectionReasons)
        }
    }
}
