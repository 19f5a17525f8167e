import Compression
import HTTPServing
import Testing

@testable import EmbeddedGateway

@Suite struct CompressionOnTheWireTests {
    private static let limit = 1 << 20

    @Test(arguments: [
        ("GET", "/open/_all_docs", "gzip, br", true), ("GET", "/open/a", "gzip", true), ("GET", "/open/a", "br", false),
        ("HEAD", "/open/a", "gzip", false), ("GET", "/open/none", "gzip", false),
        ("GET", "/open/_changes?feed=continuous&limit=1", "gzip", false),
        ("GET", "/open/_changes?feed=longpoll", "gzip", true),
        ("POST", "/open/_bulk_get", "gzip", false),
    ])
    func answersAreCompressedIfTheClientAcceptsIt(method: String, target: String, accepted: String, isCompressed: Bool)
        async throws
    {
        let gateway = try TestGateway()
        try await gateway.put("a", #"{"v":1}"#)
        let fields = [HTTPField.json, HTTPField("accept-encoding", accepted)]
        let compressed = try await gateway.answer(method, target, #"{"docs":[]}"#, fields: fields)
        #expect(compressed.field("Content-Encoding") == (isCompressed ? "gzip" : nil))
        let plain = try await gateway.answer(method, target, #"{"docs":[]}"#)
        let bytes = isCompressed ? try Gzip.decompress(compressed.bytes, limit: Self.limit) : compressed.bytes
        // The boundary of a multipart answer is random.
        if target.hasSuffix("_bulk_get") {
            #expect(bytes.count == plain.bytes.count)
        } else {
            #expect(bytes == plain.bytes)
        }
    }

    @Test func clientThatAcceptsGzipGetsCompressedDocuments() async throws {
        let fields = [
            HTTPField.json, HTTPField("Accept-Encoding", "gzip"), HTTPField("User-Agent", "CouchbaseLite/1.3"),
        ]
        let answer = try await TestGateway().answer("POST", "/open/_bulk_get", #"{"docs":[]}"#, fields: fields)
        #expect(answer.field("Content-Encoding") == "gzip")
    }

    private static let compressed = Gzip.compress(Array(#"{"a":1}"#.utf8))

    @Test(
        arguments: [
            ("gzip", compressed, 201, nil), ("br", compressed, 415, "Unsupported Content-Encoding; use gzip"),
            ("gzip", [], 500, "Internal error: unexpected EOF"),
            ("gzip", Array(compressed.prefix(6)), 500, "Internal error: unexpected EOF"),
            ("gzip", Array(#"{"a":1}"#.utf8), 500, "Internal error: unexpected EOF"),
            ("gzip", Array(#"{"a":1, "b":2}"#.utf8), 500, "Internal error: gzip: invalid header"),
            ("gzip", compressed.dropLast(3), 400, "Bad JSON: unexpected EOF"),
            ("gzip", Array(compressed.prefix(10)) + [0xFF, 0xFF, 0xFF], 400, "Bad JSON: flate: corrupt input"),
            (
                "gzip", Gzip.compress([UInt8](repeating: 0x20, count: Router.bodyLimit + 1)), 413,
                "Document too large!"
            ),
        ] as [(String, [UInt8], Int, String?)])
    func compressedBodiesAreDecompressedOrRefused(
        encoding: String, body: [UInt8], status: Int, reason: String?
    ) async throws {
        let request = Request(
            "PUT", "/open/a", fields: [.json, HTTPField("Content-Encoding", encoding)], body: Array(body))
        let answer = try await Collected(TestGateway().router.answer(request))
        #expect(answer.status == status)
        #expect(reason == nil || answer.text.contains(#""reason":"\#(reason ?? "")""#), "\(answer.text)")
    }
}
