import Compression
import Encodings
import LosslessJSON
import NIOCore
import NIOPosix
import TestKit
import Testing

@testable import EmbeddedGateway
@testable import HTTPServing

/// Clients that request and do not read: the memory for their answers is limited.
@Suite(.limitedParallelism) struct WaitingOutputTests {
    @Test func longestStalledReaderIsDropped() {
        var ledger = WaitingOutputLedger(limit: 10)
        let first = ledger.add(4).key
        let second = ledger.add(4).key
        ledger.advance(first)
        let third = ledger.add(4)
        #expect(third.dropped == [second])
        // Part of the first was sent, but all of it is still in memory.
        #expect(ledger.total == 8)
        ledger.remove(first)
        #expect(ledger.total == 4)
        #expect(ledger.add(6).dropped == [])
    }

    @Test func singleAnswerMayExceedTheLimit() {
        var ledger = WaitingOutputLedger(limit: 10)
        let small = ledger.add(4).key
        let large = ledger.add(100)
        #expect(large.dropped == [small])
        #expect(ledger.total == 100)
        ledger.advance(small)
        ledger.remove(small)
        #expect(ledger.total == 100)
    }

    @Test func idleReaderIsDroppedLast() {
        var ledger = WaitingOutputLedger(limit: 10)
        let reader = ledger.add(4).key
        ledger.advance(reader)
        let silent = ledger.add(4).key
        #expect(ledger.add(6).dropped == [silent])
        ledger.wait(reader)
        #expect(ledger.add(6).dropped.first != reader)
    }

    @Test func nextPieceWaitsUntilDroppedReadersAreGone() {
        var ledger = WaitingOutputLedger(limit: 10)
        let first = ledger.add(6).key
        #expect(ledger.hasRoom)
        #expect(ledger.add(6).dropped == [first])
        #expect(!ledger.hasRoom)
        ledger.remove(first)
        #expect(ledger.hasRoom)
        let large = ledger.add(100).key
        #expect(!ledger.hasRoom)
        ledger.remove(large)
        #expect(ledger.hasRoom)
    }

    @Test func waitForRoomEndsWhenDroppedReadersAreGone() async {
        let waiting = WaitingOutput(limit: 10)
        let keys = [waiting.add(6) {}, waiting.add(6) {}]
        await withTaskGroup { group in
            for _ in 0..<20 { group.addTask { await waiting.room() } }
            waiting.remove(keys[0])
            await group.waitForAll()
        }
    }

    /// Each of many clients requests an endless answer and reads nothing. The data waiting for them never exceeds the
    /// limit: the server disconnects all clients whose pieces do not fit.
    ///
    /// A piece waits as a whole or not at all. If parts of larger pieces waited, more clients would fit.
    @Test func stalledReadersAreDisconnected() async throws {
        let piece = 64 << 10
        let left = 4
        let waiting = WaitingOutput(limit: left * piece)
        let (ends, end) = AsyncStream<Void>.makeStream()
        let server = try await HTTPServer.startForTest(waiting: waiting) { _ in
            Answer(
                status: 200,
                body: .streamed { send in
                    defer { end.yield() }
                    while true {
                        try await send([UInt8](repeating: 0, count: piece))
                    }
                })
        }
        var clients: [any Channel] = []
        for _ in 0..<20 {
            let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.autoRead, value: false).channelOption(.socketOption(.so_rcvbuf), value: piece)
                .connect(host: "127.0.0.1", port: server.port).get()
            try await client.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
            clients.append(client)
        }
        var ended = 0
        for await _ in ends {
            ended += 1
            if ended == clients.count - left { break }
        }
        await server.stop()
        for client in clients { try? await client.close() }
        #expect(waiting.peak <= left * piece)
    }

    // MARK: - Contents that are longer than one piece

    private static let content = (0..<3_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }

    private func withAttachment(_ body: (TestGateway) async throws -> Void) async throws {
        let gateway = try TestGateway()
        let data = Base64.text(Self.content)
        try await gateway.put("a", #"{"_attachments":{"x":{"content_type":"text/plain","data":"\#(data)"}}}"#)
        try await body(gateway)
    }

    @Test func longAttachmentIsSentInPieces() async throws {
        try await withAttachment { gateway in
            let answer = await gateway.router.answer(Request("GET", "/open/a/x", fields: []))
            guard case .streamed(let make) = answer.body else {
                Issue.record("\(answer.body)")
                return
            }
            let longest = try await Pieces(make).lengths.max()
            #expect(longest == 1 << 20)
            let whole = try await gateway.answer("GET", "/open/a/x", fields: [])
            #expect(whole.bytes == Self.content)
            #expect(whole.field("Content-Length") == "3000003")
        }
    }

    @Test(arguments: ["bytes=1-", "bytes=1048575-2097153", "bytes=-2100000"]) func longRangeIsSentInPieces(
        range: String
    ) async throws {
        try await withAttachment { gateway in
            let answer = try await gateway.answer("GET", "/open/a/x", fields: [HTTPField("Range", range)])
            #expect(answer.status == 206)
            let place = try #require(answer.field("Content-Range")?.wholeMatch(of: /bytes (\d+)-(\d+)\/3000003/))
            let (first, last) = (try #require(Int(place.1)), try #require(Int(place.2)))
            #expect(answer.bytes == Array(Self.content[first...last]))
        }
    }

    @Test func emptyAttachmentIsReturned() async throws {
        let gateway = try TestGateway()
        try await gateway.put("a", #"{"_attachments":{"x":{"data":""}}}"#)
        let answer = try await gateway.answer("GET", "/open/a/x", fields: [])
        #expect(answer.status == 200)
        #expect(answer.bytes == [])
    }

    /// A compressed answer has a different length.
    @Test func longCompressedAttachmentHasNoLength() async throws {
        try await withAttachment { gateway in
            let fields = [HTTPField("Accept-Encoding", "gzip")]
            let answer = try await gateway.answer("GET", "/open/a/x", fields: fields)
            #expect(answer.field("Content-Length") == nil)
            #expect(try Gzip.decompress(answer.bytes, limit: 1 << 22) == Self.content)
        }
    }

    @Test func listsOfLargeDocumentsAreSentInPages() async throws {
        let gateway = try TestGateway()
        let text = String(repeating: "x", count: 100_000)
        for number in 0..<20 { try await gateway.put("d\(number)", "{\"v\":\"\(text)\"}") }
        let keys = (0..<20).map { "\"d\($0)\"" } + ["\"none\"", "\"d0\""]
        let body = "{\"keys\":[\(keys.joined(separator: ","))]}"
        let targets = ["/open/_all_docs?include_docs=true", "/open/_changes?include_docs=true"]
        for (method, target) in [("POST", targets[0]), ("GET", targets[0]), ("GET", targets[1])] {
            let request = Request(method, target, fields: [.json], body: Array((method == "POST" ? body : "").utf8))
            guard case .streamed(let make) = await gateway.router.answer(request).body else {
                Issue.record("\(method) \(target) is not streamed")
                continue
            }
            let pieces = try await Pieces(make)
            #expect(pieces.lengths.allSatisfy { $0 < 300_000 })
            let answer = try JSONText(pieces.bytes).root
            let rows = (answer["rows"] ?? answer["results"])?.elements.filter { $0["doc"] != nil }.count
            #expect(rows == (method == "POST" ? 21 : 20))
        }
    }
}
