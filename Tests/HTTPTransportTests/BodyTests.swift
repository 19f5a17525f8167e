import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism) struct BodyTests {
    private static let size = 12 << 20

    private static func largeBody(chunked: Bool, size: Int = BodyTests.size) throws -> TestServer {
        try TestServer { connection in
            let pattern = BytePattern().bytes(size)
            try connection.serve { _ in
                let promise = chunked ? "Transfer-Encoding: chunked" : "Content-Length: \(size)"
                try connection.write("HTTP/1.1 200 OK\r\n\(promise)\r\n\r\n")
                guard chunked else { return try connection.write(pattern) }
                for start in stride(from: 0, to: size, by: 300_000) {
                    let part = pattern[start..<min(start + 300_000, size)]
                    try connection.write("\(String(part.count, radix: 16))\r\n")
                    try connection.write(Array(part) + [13, 10])
                }
                try connection.write("0\r\nTrailer: x\r\n\r\n")
            }
        }
    }

    private static func request(_ server: TestServer, _ path: String = "/", gathers: Bool) -> HTTPRequest {
        var request = HTTPRequest(url: server.url(path))
        if gathers { request.gatheringTime = .milliseconds(10) ... .milliseconds(10) }
        return request
    }

    private static func client(highWaterMark: Int) -> HTTPClient {
        var configuration = HTTPClientConfiguration()
        configuration.bodies.highWaterMark = highWaterMark
        return HTTPClient(configuration: configuration)
    }

    /// Reads `body` to its end, checks each byte and returns the number of bytes.
    ///
    /// - Parameter pace: Called after each part with the number of bytes read.
    private func readAll(_ body: HTTPBody, pace: (Int) async throws -> Void = { _ in }) async throws -> Int {
        let pattern = BytePattern()
        var place = 0
        for try await part in body {
            #expect(pattern.matches(part, at: place))
            place += part.count
            try await pace(place)
        }
        return place
    }

    @Test(arguments: [1, 16 << 10, 64 << 10, 1 << 20, 100 << 20], [false, true])
    func fastReaderGetsAllBytes(highWaterMark: Int, chunked: Bool) async throws {
        let server = try Self.largeBody(chunked: chunked)
        let client = Self.client(highWaterMark: highWaterMark)
        for gathers in [false, true] {
            let response = try await client.send(Self.request(server, gathers: gathers))
            #expect(try await readAll(response.body) == Self.size)
            #expect(response.body.received == Self.size)
        }
        #expect(server.accepted.count == 1)
    }

    @Test(arguments: [16 << 10, 1 << 20], [false, true])
    func slowReaderGetsAllBytes(highWaterMark: Int, chunked: Bool) async throws {
        let size = 3 << 20
        let server = try Self.largeBody(chunked: chunked, size: size)
        let client = Self.client(highWaterMark: highWaterMark)
        let response = try await client.send(Self.request(server, gathers: chunked))
        // Reads again only when the buffer is full, so that the transfer is paused repeatedly.
        let all = try await readAll(response.body) { read in
            let most = min(read + highWaterMark, size)
            while response.body.received < most { try await Task.sleep(for: .milliseconds(1)) }
        }
        #expect(all == size)
    }

    @Test func atMostHighWaterMarkIsBufferedForAbsentReader() async throws {
        let server = try Self.largeBody(chunked: false)
        let client = Self.client(highWaterMark: 100_000)
        let response = try await client.send(HTTPRequest(url: server.url()))
        // Another body through the same loop: the paused first one must not block it.
        let second = try await client.send(HTTPRequest(url: server.url()))
        #expect(try await readAll(second.body) == Self.size)
        #expect(response.body.received < 100_000 + 16 << 10)
        let first = try #require(try await response.body.next())
        #expect(first.count < 100_000 + 16 << 10)
    }

    @Test func answerInSingleBytesIsAssembled() async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                if request.target == "/chunked" {
                    try connection.writeByteByByte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    try connection.writeByteByByte("5\r\nhello\r\n1;x=y\r\n \r\n5\r\nworld\r\n0\r\n\r\n")
                } else {
                    try connection.writeByteByByte("HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world")
                }
            }
        }
        let client = HTTPClient()
        for (path, gathers) in [("/length", false), ("/chunked", false), ("/chunked", true), ("/length", true)] {
            let response = try await client.send(Self.request(server, path, gathers: gathers))
            #expect(try await response.text() == "hello world")
        }
        #expect(server.accepted.count == 1)
    }

    /// Gateways send each row of a feed as a separate piece.
    @Test func manySmallPiecesRarelyWakeReader() async throws {
        let pieces = 5000
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<pieces { try connection.write("3\r\nrow\r\n") }
            try connection.write("0\r\n\r\n")
        }
        let response = try await HTTPClient().send(Self.request(server, gathers: true))
        var parts = 0
        var bytes = 0
        for try await part in response.body {
            parts += 1
            bytes += part.count
        }
        #expect(bytes == 3 * pieces)
        #expect(parts <= pieces / 5)
    }

    @Test(
        arguments: [
            "Content-Length: 100\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "Transfer-Encoding: chunked\r\n\r\n64\r\nhello",
        ], [false, true])
    func truncatedBodyGivesReceivedBytesThenError(rest: String, gathers: Bool) async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\n\(rest)")
        }
        let response = try await HTTPClient().send(Self.request(server, gathers: gathers))
        var read: [UInt8] = []
        let error = await #expect(throws: HTTPTransportError.self) {
            while let part = try await response.body.next() { read += part }
        }
        #expect(error?.code == .connectionClosed)
        #expect(error?.isRetryable == true)
        #expect(error?.port == server.port)
        #expect(String(decoding: read, as: UTF8.self) == "hello")
        await #expect(throws: HTTPTransportError(.connectionClosed, "")) { try await response.body.next() }
    }

    @Test func resetInBodyIsClosedConnection() async throws {
        let isRead = EventCounter()
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
            isRead.block(until: 1)
            connection.reset()
        }
        let response = try await HTTPClient().send(HTTPRequest(url: server.url()))
        #expect(try await response.body.next() == Array("hello".utf8))
        isRead.increment()
        await #expect(throws: HTTPTransportError(.connectionClosed, "")) { try await response.body.next() }
    }

    @Test func bodyWithoutLengthEndsWithConnection() async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.0 200 OK\r\n\r\nall of it")
        }
        #expect(try await HTTPClient().send(HTTPRequest(url: server.url())).text() == "all of it")
    }

    @Test(arguments: [false, true]) func partsArriveBeforeServerSendsTheRest(gathers: Bool) async throws {
        let isRead = EventCounter()
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for number in 1...20 {
                try connection.write("2\r\n\(String(decoding: [96 + UInt8(number)], as: UTF8.self))\n\r\n")
                isRead.block(until: number)
            }
            try connection.write("0\r\n\r\n")
        }
        let response = try await HTTPClient().send(Self.request(server, gathers: gathers))
        for number in 1...20 {
            #expect(try await response.body.next() == [96 + UInt8(number), 10])
            isRead.increment()
        }
        #expect(try await response.body.next() == nil)
        #expect(try await response.body.next() == nil)
    }

    @Test func collectStopsAtLimitAndClosesConnection() async throws {
        let server = try Self.largeBody(chunked: true)
        let response = try await HTTPClient().send(HTTPRequest(url: server.url()))
        await #expect(throws: HTTPTransportError(.tooLarge, "")) { try await response.body.collect(upTo: 1000) }
        await server.closed.wait(for: 1)
    }

    @Test func bodyKeepsItsClientAlive() async throws {
        let server = try Self.largeBody(chunked: false)
        let response = try await HTTPClient().send(HTTPRequest(url: server.url()))
        #expect(try await readAll(response.body) == Self.size)
    }
}
