import Bots
import Compression
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing
import Transfer

/// CouchDB stores an upload with `Content-Encoding: gzip` as it is. Its digest and length are those of the compressed
/// bytes, and CouchDB decompresses it for clients that do not accept gzip.
@Suite(.limitedParallelism) struct ExportCompressedAttachmentTests {
    private static let plain = [UInt8](repeating: UInt8(ascii: "a"), count: 4_000)
    private static let compressed = Gzip.compress(plain)
    private static let folder = "files"

    /// The stub of an attachment, and the bytes that the server sends.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var type = "application/x-thing"
        /// Nil: the same type.
        var answeredType: String?
        var stored = ExportCompressedAttachmentTests.compressed
        var digest: String?
        var length: Int?
        /// The bytes for clients that do not accept gzip. Nil: the connection breaks.
        var decompressed: [UInt8]? = ExportCompressedAttachmentTests.plain
        var takesAcceptEncoding = true
    }

    @Test(
        arguments: [
            Case(testDescription: "packed"), Case(testDescription: "packed text", type: "text/plain"),
            Case(testDescription: "CouchDB breaks off unpacking", decompressed: nil),
            Case(
                testDescription: "CouchDB unpacks one of two",
                stored: Gzip.compress(Array(plain.prefix(1_000))) + Gzip.compress(Array(plain.dropFirst(1_000))),
                decompressed: Array(plain.prefix(1_000))),
            Case(testDescription: "another type in the answer", type: "text/plain", answeredType: "image/png"),
        ], [false, true])
    func attachmentUploadedAsGzipIsExportedDecompressed(_ sent: Case, isInline: Bool) async throws {
        try await export(sent, isInline: isInline) { attachment, bytes, manifest in
            #expect(bytes == Self.plain)
            #expect(attachment["length"]?.integer == Self.plain.count)
            #expect(manifest.counts.bodies == 1)
            #expect(manifest.counts.missingBodies == 0)
            #expect(manifest.counts.bodyBytes == Self.plain.count)
            #expect(attachment["digest"]?.string == Self.digest(of: sent.stored))
        }
    }

    /// Regression: text that CouchDB has compressed itself was not verified. The length is that of the text.
    @Test(
        arguments: [
            Case(testDescription: "as stored", type: "text/plain", length: plain.count),
            Case(
                testDescription: "a proxy unpacks", type: "text/plain", stored: compressed(plain, level: 8),
                length: plain.count, takesAcceptEncoding: false),
            Case(
                testDescription: "a proxy unpacks a picture", type: "image/png", stored: compressed(plain, level: 1),
                length: plain.count, takesAcceptEncoding: false),
            Case(
                testDescription: "a proxy packs", digest: digest(of: plain), length: plain.count),
        ], [false, true])
    func textAttachmentIsExportedUnchanged(_ sent: Case, isInline: Bool) async throws {
        try await export(sent, isInline: isInline) { attachment, bytes, manifest in
            #expect(bytes == Self.plain)
            #expect(attachment["length"]?.integer == Self.plain.count)
            #expect(attachment["unpacked"] == nil)
            #expect(manifest.counts.missingBodies == 0)
        }
    }

    @Test(
        arguments: [
            Case(testDescription: "other digest", digest: digest(of: plain + [0])),
            Case(testDescription: "text of another digest", type: "text/plain", digest: digest(of: plain + [0])),
            Case(
                testDescription: "flipped byte in a text", type: "text/plain", digest: digest(of: compressed),
                length: plain.count, decompressed: [0x62] + plain.dropFirst(), takesAcceptEncoding: false),
            Case(
                testDescription: "flipped byte in a packed text", type: "text/plain",
                stored: Gzip.compress([0x62] + plain.dropFirst()), digest: digest(of: compressed), length: plain.count),
            Case(
                testDescription: "flipped byte, said to be a text", answeredType: "text/plain", stored: plain,
                digest: digest(of: plain + [0])),
            Case(testDescription: "other length", length: compressed.count + 1),
            Case(testDescription: "cut", stored: Array(compressed.dropLast())),
            Case(testDescription: "no gzip", stored: Array("no gzip at all".utf8), decompressed: nil),
            Case(testDescription: "never packed", takesAcceptEncoding: false),
        ], [false, true])
    func unverifiableAttachmentKeepsItsStub(_ sent: Case, isInline: Bool) async throws {
        try await export(sent, isInline: isInline) { attachment, bytes, manifest in
            #expect(bytes == nil)
            #expect(attachment["stub"]?.bool == true)
            #expect(attachment["length"]?.integer == sent.length ?? sent.stored.count)
            #expect(manifest.counts.bodies == 0)
            #expect(manifest.counts.missingBodies == 1)
        }
    }

    /// Each compressed piece expands to more than may be held in memory.
    @Test func highlyCompressedAttachmentsAreExportedWhole() async throws {
        let plain = [UInt8](repeating: 0, count: 8 << 20)
        let sent = Case(testDescription: "zeros", stored: Gzip.compress(plain), decompressed: plain)
        try await export(sent, isInline: false) { _, bytes, _ in #expect(bytes == plain) }
    }

    /// CouchDB's compression level and types are configurable, so its digest decides nothing. Only the bytes do.
    @Test(arguments: ["text/plain", "image/png"], [(false, true), (true, true), (true, false), (false, false)])
    func attachmentReplacedByOneOfTheSameLengthIsFound(type: String, _ variant: (isReplaced: Bool, isInline: Bool))
        async throws
    {
        let (isReplaced, isInline) = variant
        try await expectReplacement(isReplaced, type, attachments: { isInline ? .inline : .folder($0) })
    }

    @Test(arguments: ["text/plain", "image/png"], [false, true])
    func digestsOfCompressedBytesDecideWithoutContent(type: String, isReplaced: Bool) async throws {
        try await expectReplacement(isReplaced, type, attachments: { _ in .none })
    }

    private func expectReplacement(
        _ isReplaced: Bool, _ type: String, attachments: (String) -> ExportOptions.Attachments
    ) async throws {
        func sent(_ text: [UInt8], level: Int32) -> Case {
            Case(
                testDescription: "text", type: type, stored: Self.compressed(text, level: level),
                length: text.count, decompressed: text)
        }
        let now = Monitor(sent(Self.plain, level: 8))
        let server = try TestServer { connection in
            try connection.serve { request in try Self.answer(request, with: now.with { $0 }, on: connection) }
        }
        try await withDirectory { directory in
            var settings = ExportSettings()
            settings.attachments = attachments(directory + "/" + Self.folder)
            let gateway = Gateway(try GatewayURL(server.url("/todo")))
            try await Exporter(
                gateway: gateway, settings: settings, place: ExportPlace(directory + "/o"), report: ExportReport(),
                logger: BotTestBed.logger
            ).run()
            let other = [UInt8](repeating: UInt8(ascii: "b"), count: Self.plain.count)
            now.with { $0 = isReplaced ? sent(other, level: 8) : sent(Self.plain, level: 1) }
            var findings: [VerificationFinding] = []
            try await GatewayComparison(
                ExportFile(directory + "/o"), gateway: gateway, comparesRevisions: false, retries: .init(),
                logger: BotTestBed.logger
            ).compare { findings.append($0) }
            let expected = VerificationFinding(.different, id: "a", path: "/_attachments/p")
            #expect(findings == (isReplaced ? [expected] : []))
            await gateway.shutdown()
        }
    }

    // MARK: - A server with one document

    /// - Parameter check: Gets the attachment as it is exported, and its bytes if they were exported.
    private func export(
        _ sent: Case, isInline: Bool, check: (JSONValue, [UInt8]?, ExportManifest) throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let server = try TestServer { connection in
                try connection.serve { try Self.answer($0, with: sent, on: connection) }
            }
            var settings = ExportSettings()
            settings.attachments = isInline ? .inline : .folder(directory + "/" + Self.folder)
            let exporter = Exporter(
                gateway: Gateway(try GatewayURL(server.url("/todo"))), settings: settings,
                place: ExportPlace(directory + "/o"), report: ExportReport(), logger: BotTestBed.logger)
            try await exporter.run()
            let text = try JSONText(try String(contentsOfFile: directory + "/o", encoding: .utf8))
            let attachment = try #require(text.root["_attachments"]?["p"])
            try check(
                attachment, try Self.bytes(of: attachment, in: directory),
                try ExportManifest.read(directory + "/o.manifest.json"))
        }
    }

    private static func bytes(of attachment: JSONValue, in directory: String) throws -> [UInt8]? {
        if let data = attachment["data"]?.string { return Array(try #require(Data(base64Encoded: data))) }
        guard let file = attachment["file"]?.string else { return nil }
        return Array(try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(folder)/\(file)")))
    }

    private static func compressed(_ bytes: [UInt8], level: Int32) -> [UInt8] {
        var writer = GzipWriter(level: level)
        var compressed: [UInt8] = []
        writer.write(bytes, to: &compressed)
        writer.finish(to: &compressed)
        return compressed
    }

    private static func digest(of bytes: [UInt8]) -> String {
        var digest = AttachmentDigest.Calculation(for: .couchDB)
        digest.update(bytes)
        return digest.digest().description
    }

    private static func answer(_ request: TestRequest, with sent: Case, on connection: TestConnection) throws {
        let server = "Server: CouchDB/3.5.0 (Erlang OTP/25)"
        let json = [server, "Content-Type: application/json"]
        switch request.path {
        case "/todo/": try connection.answer(headers: json, body: #"{"db_name":"todo","update_seq":"9-x"}"#)
        case "/todo/_all_docs":
            let isBehind = request.target.contains("startkey=%22a%22") && request.target.contains("skip=1")
            try connection.answer(headers: json, body: #"{"rows":[\#(isBehind ? "" : row(sent))]}"#)
        case "/todo/a/p":
            try answer(
                attachment: request, with: sent, [server, "Content-Type: \(sent.answeredType ?? sent.type)"], connection
            )
        default: try connection.answer(404, headers: json, body: #"{"error":"not_found","reason":"missing"}"#)
        }
    }

    private static func row(_ sent: Case) -> String {
        let digest = sent.digest ?? digest(of: sent.stored)
        let stub =
            #"{"content_type":"\#(sent.type)","digest":"\#(digest)","length":\#(sent.length ?? sent.stored.count),"stub":true}"#
        return
            #"{"id":"a","key":"a","value":{"rev":"1-a"},"doc":{"_id":"a","_rev":"1-a","_attachments":{"p":\#(stub)}}}"#
    }

    private static func answer(
        attachment request: TestRequest, with sent: Case, _ headers: [String], _ connection: TestConnection
    ) throws {
        let isCompressed = sent.takesAcceptEncoding && request.values(of: "Accept-Encoding") == ["gzip"]
        // CouchDB sends no length with decompressed content.
        let own =
            isCompressed
            ? ["Content-Encoding: gzip", "Content-Length: \(sent.stored.count)"] : ["Transfer-Encoding: chunked"]
        try connection.write((["HTTP/1.1 200 OK"] + headers + own).joined(separator: "\r\n") + "\r\n\r\n")
        if isCompressed { return try connection.write(sent.stored) }
        guard let decompressed = sent.decompressed else { throw Aborted() }
        try connection.write(String(decompressed.count, radix: 16) + "\r\n")
        try connection.write(decompressed)
        try connection.write("\r\n0\r\n\r\n")
    }

    private struct Aborted: Error {}
}
