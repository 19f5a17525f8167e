import HTTPTransport
import Locking
import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

@Suite(.limitedParallelism) struct RequestCompressionTests {
    private func settings(_ compression: GatewaySettings.RequestCompression) -> GatewaySettings {
        var settings = GatewaySettings()
        settings.compressesRequests = compression
        return settings
    }

    private static let text = #"{"_id":"a","text":""# + String(repeating: "ab", count: 20_000) + #""}"#
    private static let document = BulkDocument(id: "a", segments: [Array(text.utf8)])
    private static let written = #"[{"id":"a","rev":"1-a"}]"#

    private static func isCompressed(_ request: TestRequest) -> Bool {
        let isNamed = request.values(of: "content-encoding") == ["gzip"]
        #expect(isNamed == request.body.starts(with: [0x1F, 0x8B]))
        return isNamed
    }

    @Test(arguments: [syncGateway, couchDB])
    func largeBulkWritesAreCompressed(headers: [String]) async throws {
        let scripted = try ScriptedGateway(settings: settings(.always)) { connection, request in
            #expect(Self.isCompressed(request) && request.body.count < 1000)
            #expect(request.values(of: "content-type") == ["application/json"])
            // RFC 1952, section 2.3.1: the last four bytes are the uncompressed length.
            let length = request.body.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            #expect(length == Self.text.utf8.count + 11 || length == Self.text.utf8.count + 29)
            try connection.answer(201, headers: headers, body: Self.written)
        }
        #expect(try await scripted.gateway.bulkDocs([Self.document]) == [.written(RevisionID("1-a"))])
        let revision = RevisionToStore(Self.document, revision: RevisionID("1-a"))
        #expect(try await scripted.gateway.storeRevisions([revision]) == [.written(RevisionID("1-a"))])
    }

    @Test(arguments: [
        (GatewaySettings.RequestCompression.auto, text), (.never, text), (.always, #"{"_id":"a"}"#),
    ])
    func otherRequestsAreSentUncompressed(compression: GatewaySettings.RequestCompression, text: String) async throws {
        let scripted = try ScriptedGateway(settings: settings(compression)) { connection, request in
            #expect(!Self.isCompressed(request))
            #expect(request.text == #"{"docs":["# + text + "]}")
            try connection.answer(201, headers: syncGateway, body: Self.written)
        }
        let document = BulkDocument(id: "a", segments: [Array(text.utf8)])
        _ = try await scripted.gateway.bulkDocs([document])
    }

    /// Not realistic JSON, but already compressed data may be sent.
    @Test func incompressibleBodiesAreSentUncompressed() async throws {
        var state: UInt64 = 1
        let noise = (0..<20_000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: state >> 40)
        }
        let scripted = try ScriptedGateway(settings: settings(.always)) { connection, request in
            #expect(!Self.isCompressed(request) && request.body.count == noise.count + 11)
            try connection.answer(201, headers: syncGateway, body: Self.written)
        }
        _ = try await scripted.gateway.bulkDocs([BulkDocument(id: "a", segments: [noise])])
    }

    @Test func onlyBulkWritesAreCompressed() async throws {
        let scripted = try ScriptedGateway(settings: settings(.always)) { connection, request in
            #expect(!Self.isCompressed(request))
            let answer = request.method == "PUT" ? #"{"rev":"1-a"}"# : "{}"
            try connection.answer(headers: syncGateway, body: answer)
        }
        try await scripted.gateway.put("a", body: Array(Self.text.utf8))
        let ids = (0..<2000).map { DocumentID("document \($0)") }
        _ = try await scripted.gateway.revisionDifferences(ids.map { ($0, [RevisionID("1-a")]) })
    }

    @Test(arguments: [
        (415, #"{"error":"Unsupported Media Type","reason":"Unsupported Content-Encoding; use gzip"}"#),
        (400, #"{"error":"bad_request","reason":"invalid UTF-8 JSON"}"#), (400, "<html>Bad Request</html>"),
        (500, #"{"error":"Internal Server Error","reason":"Internal error: unexpected EOF"}"#),
    ])
    func gatewayRefusingCompressionGetsUncompressedRequests(status: Int, body: String) async throws {
        let compressed = EventCounter()
        let scripted = try ScriptedGateway(settings: settings(.always)) { connection, request in
            guard Self.isCompressed(request) else {
                return try connection.answer(201, headers: syncGateway, body: Self.written)
            }
            compressed.increment()
            try connection.answer(status, headers: syncGateway, body: body)
        }
        for _ in 0..<3 { #expect(try await scripted.gateway.bulkDocs([Self.document]).count == 1) }
        let sibling = scripted.gateway.sibling(try KeyspaceName("todo.tasks"))
        #expect(try await sibling.bulkDocs([Self.document]).count == 1)
        #expect(compressed.count == 1)
    }

    /// CouchDB refuses a whole request for one bad document, which does not concern gzip.
    @Test func documentsRefusedEitherWayDoNotDisableCompression() async throws {
        let (compressed, plain) = (EventCounter(), EventCounter())
        let scripted = try ScriptedGateway(settings: settings(.always)) { connection, request in
            (Self.isCompressed(request) ? compressed : plain).increment()
            try connection.answer(400, headers: couchDB, body: #"{"error":"doc_validation","reason":"Bad"}"#)
        }
        for _ in 0..<2 {
            let error = await #expect(throws: GatewayError.self) {
                try await scripted.gateway.bulkDocs([Self.document])
            }
            #expect(error?.code == .badRequest)
        }
        #expect(compressed.count == 2 && plain.count == 2)
    }

    @Test(arguments: [401, 403, 409, 413, 500, 503])
    func otherRefusalsAreNotRetriedUncompressed(status: Int) async throws {
        let requests = EventCounter()
        let scripted = try ScriptedGateway(settings: settings(.always)) { connection, _ in
            requests.increment()
            try connection.answer(status, headers: couchDB, body: #"{"error":"x","reason":"y"}"#)
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.bulkDocs([Self.document]) }
        #expect(error?.status == status)
        #expect(requests.count == 1)
    }

    /// `0.0.0.0` reaches this machine without being recognized as a loopback address.
    @Test(arguments: [
        (false, [1e5, 1e5, 1e5], true), (false, [1e5, 1e5, 1e9], false), (true, [1e5, 1e5, 1e5], false),
    ])
    func onlySlowLinkGetsCompressedRequests(isLoopback: Bool, rates: [Double], isCompressed: Bool) async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(Self.isCompressed(request) == isCompressed)
            try connection.answer(201, headers: syncGateway, body: Self.written)
        }
        var settings = self.settings(.auto)
        let now = ContinuousClock.now
        settings.process.now = { now }
        let host = isLoopback ? "127.0.0.1" : "0.0.0.0"
        let gateway = Gateway(try GatewayURL("http://\(host):\(scripted.server.port)/todo"), settings: settings)
        for rate in rates {
            let upload = HTTPUpload(
                byteCount: 1_000_000, measured: 100_000, sending: .seconds(1e5 / rate), answered: .seconds(1e6 / rate))
            gateway.compressionGauge.withLock { $0.note(upload, at: now) }
        }
        _ = try await gateway.bulkDocs([Self.document])
        await gateway.shutdown()
    }

    /// Requests themselves measure the link, and the first ones are never compressed.
    @Test func requestsAreMeasured() async throws {
        let requests = EventCounter()
        let scripted = try ScriptedGateway { connection, request in
            #expect(!Self.isCompressed(request))
            requests.increment()
            try connection.answer(201, headers: syncGateway, body: Self.written)
        }
        let gateway = Gateway(try GatewayURL("http://0.0.0.0:\(scripted.server.port)/todo"))
        for _ in 0..<3 { _ = try await gateway.bulkDocs([Self.document]) }
        #expect(requests.count == 3)
        await gateway.shutdown()
    }

    @Test(arguments: [
        ("http://localhost:4984/todo", true), ("http://127.0.0.1/todo", true), ("https://127.3.4.5:1/p/todo", true),
        ("http://[::1]:4984/todo", true), ("http://db.localhost/todo", true), ("http://127.example.org/todo", false),
        ("http://127.0.0.1.example.org/todo", false), ("http://128.0.0.1/todo", false), ("http://[::2]/todo", false),
        ("http://localhost.example/todo", false), ("http://notlocalhost/todo", false),
        ("http://127.0.0.256/todo", false),
    ])
    func loopbackIsRecognized(url: String, isLoopback: Bool) throws {
        #expect(try GatewayURL(url).isLoopback == isLoopback)
    }
}
