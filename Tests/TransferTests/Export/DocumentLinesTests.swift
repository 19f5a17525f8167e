import DocumentFlow
import Foundation
import GatewayClient
import Logging
import LosslessJSON
import Testing

@testable import Revisions
@testable import Transfer

/// The content of an export's file.
@Suite struct DocumentLinesTests {
    private static let sha256 = String(repeating: "ab", count: 32)

    @Test(
        arguments: [
            (.ndjson, 0, ["{\"a\":1}"], "{\"a\":1}\n"), (.ndjson, 3, [], ""),
            (.csv, 0, ["{}", "{\n}"], "{}\n{ }\n"),
            (.json, 0, [], "[\n]\n"), (.json, 0, ["{}", "{}"], "[\n{},\n{}\n]\n"), (.json, 1, ["{}"], ",\n{}\n]\n"),
        ] as [(OutputFormat, Int, [String], String)])
    func fileIsContinuedAtItsEnd(
        format: OutputFormat, count: Int, documents: [String], expected: String
    ) async throws {
        let (text, counts) = try await written(format, count) { lines in
            for document in documents { lines.append(Array(document.utf8)[...], isTombstone: false) }
        }
        #expect(text == expected)
        #expect(counts.lines == documents.count)
    }

    @Test func storedBodyIsNamedAndMissingBodyKeepsStub() async throws {
        let document = try JSONText(
            #"{"_id":"a","_attachments":{"i":{"stub":true,"length":3},"j":{"stub":true,"length":4}}}"#)
        let unfetched = UnfetchedAttachments(
            stubs: AttachmentStub.all(of: document.root), id: "a", revision: nil, isTombstone: true, attempt: 1)
        let body = AttachmentBody(byteCount: 3, sha256: Self.sha256)
        let (text, counts) = try await written(.ndjson) { lines in
            try await lines.append(document.root, unfetched, [.stored(body), .missing(reason: "gone")])
        }
        #expect(
            text
                == #"{"_id":"a","_attachments":{"i":{"stub":true,"length":3,"file":"\#(body.file)"},"#
                + #""j":{"stub":true,"length":4}}}"# + "\n")
        #expect(counts.tombstones == 1 && counts.attachments == 2)
        #expect(counts.bodies == 1 && counts.bodyBytes == 3 && counts.missingBodies == 1)
    }

    @Test func spooledBodyIsInlinedInDocument() async throws {
        let document = try JSONText(#"{"_attachments":{"i":{"stub":true,"length":3}}}"#)
        let unfetched = UnfetchedAttachments(
            stubs: AttachmentStub.all(of: document.root), id: "a", revision: nil, isTombstone: false, attempt: 1)
        let spool = try AttachmentSpool(directory: NSTemporaryDirectory())
        try await spool.append(Array("abc".utf8))
        let body = await spool.body
        let (text, _) = try await written(.ndjson) { lines in
            try await lines.append(document.root, unfetched, [.spooled(spool, body)])
        }
        #expect(text == #"{"_attachments":{"i":{"data":"YWJj","length":3}}}"# + "\n")
    }

    private func written(
        _ format: OutputFormat, _ count: Int = 0, _ write: (DocumentLines) async throws -> Void
    ) async throws -> (text: String, counts: ExportCounts) {
        let path = NSTemporaryDirectory() + "changebot-lines-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let output = ExportOutput(try OpenFile(creating: path), isFile: true, isCompressed: false)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let counter = ExportCounter(ExportCounts(), report: ExportReport(), logger: logger)
        let lines = DocumentLines(output, isArray: format.isArray, count: count, counter: counter)
        try await write(lines)
        try lines.close()
        _ = try output.save()
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        return (String(decoding: bytes, as: UTF8.self), counter.counts)
    }
}
