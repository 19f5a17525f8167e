import Glibc
import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism(isLong: true)) struct DeadlineTests {
    private static func silent(_ begin: String = "") throws -> TestServer {
        try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write(begin)
            connection.waitForClose()
        }
    }

    private static let beginOfBody = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"

    @Test func deadlinePassesBeforeHead() async throws {
        let server = try Self.silent()
        let start = ContinuousClock.now
        await #expect(throws: HTTPTransportError(.timedOut(.exchange), "")) {
            try await HTTPClient().send(HTTPRequest(url: server.url(), deadline: .milliseconds(100)))
        }
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        await server.closed.wait(for: 1)
    }

    @Test func deadlineCoversBody() async throws {
        let server = try Self.silent(Self.beginOfBody)
        let request = HTTPRequest(url: server.url(), deadline: .seconds(4), idleTimeout: .seconds(60))
        let response = try await HTTPClient().send(request)
        let error = await #expect(throws: HTTPTransportError.self) { try await response.body.collect(upTo: 1000) }
        #expect(error?.code == .timedOut(.exchange))
        #expect(error?.isRetryable == true)
        await server.closed.wait(for: 1)
    }

    @Test(arguments: ["", beginOfBody])
    func silenceEndsTransfer(begin: String) async throws {
        let server = try Self.silent(begin)
        let request = HTTPRequest(url: server.url(), deadline: .seconds(60), idleTimeout: .milliseconds(100))
        await #expect(throws: HTTPTransportError(.timedOut(.idle), "")) {
            try await HTTPClient().send(request).body.collect(upTo: 1000)
        }
        await server.closed.wait(for: 1)
    }

    @Test func eachByteRestartsIdleTimeout() async throws {
        let start = ContinuousClock.now
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\n\r\n")
            // The total far exceeds the idle timeout, but no single pause comes near it.
            while ContinuousClock.now - start < .seconds(6) {
                try connection.write("x")
                usleep(20_000)
            }
        }
        let request = HTTPRequest(url: server.url(), idleTimeout: .seconds(4))
        let body = try await HTTPClient().send(request).body
        #expect(try await body.collect(upTo: 1000).isEmpty == false)
    }

    @Test func slowReaderIsNotSilence() async throws {
        // Created beforehand: on a busy machine, that alone can take longer than the idle timeout.
        let bytes = [UInt8](repeating: 7, count: 20_000_000)
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n")
            try connection.write(bytes)
            connection.waitForClose()
        }
        let client = HTTPClient()
        let response = try await client.send(HTTPRequest(url: server.url(), idleTimeout: .seconds(4)))
        #expect(try await response.body.next() != nil)
        // The reader pauses for longer than the idle timeout, and the body is still available afterwards.
        let silent = try Self.silent()
        await #expect(throws: HTTPTransportError(.timedOut(.exchange), "")) {
            try await client.send(HTTPRequest(url: silent.url(), deadline: .seconds(6)))
        }
        var count = 0
        while let part = try await response.body.next() { count += part.count }
        #expect(count < 20_000_000)
        #expect(response.body.received == 20_000_000)
    }

    /// The whole body is in the kernel's buffers immediately, and then leaves slowly.
    @Test func slowlyReadUploadIsNotSilence() async throws {
        let start = ContinuousClock.now
        let server = try TestServer { connection in
            _ = try connection.readHead()
            while ContinuousClock.now - start < .seconds(10) {
                _ = try connection.read(64 << 10)
                usleep(200_000)
            }
        }
        let body = HTTPRequestBody.bytes([UInt8](repeating: 7, count: 32 << 20))
        let request = HTTPRequest(method: "POST", url: server.url(), body: body, idleTimeout: .seconds(4))
        await #expect(throws: HTTPTransportError(.connectionClosed, "")) { try await HTTPClient().send(request) }
    }

    @Test func unreadUploadTimesOut() async throws {
        let over = EventCounter()
        let server = try TestServer { connection in
            _ = try connection.readHead()
            over.block(until: 1)
        }
        let body = HTTPRequestBody.bytes([UInt8](repeating: 7, count: 32 << 20))
        let request = HTTPRequest(method: "POST", url: server.url(), body: body, idleTimeout: .seconds(2))
        await #expect(throws: HTTPTransportError(.timedOut(.idle), "")) { try await HTTPClient().send(request) }
        over.increment()
        await server.closed.wait(for: 1)
    }

    @Test(arguments: [Duration.milliseconds(50), .seconds(3600)])
    func deadlineCanBeExtendedDuringBody(later: Duration) async throws {
        let server = try Self.silent(Self.beginOfBody)
        let client = HTTPClient()
        let before: Duration = later < .seconds(1) ? .seconds(3600) : .seconds(4)
        let response = try await client.send(HTTPRequest(url: server.url(), deadline: before))
        response.body.extendDeadline(by: later)
        guard later > before else {
            await #expect(throws: HTTPTransportError(.timedOut(.exchange), "")) {
                try await response.body.collect(upTo: 1000)
            }
            return
        }
        // Its first deadline passes meanwhile.
        let other = try Self.silent()
        await #expect(throws: HTTPTransportError(.timedOut(.exchange), "")) {
            try await client.send(HTTPRequest(url: other.url(), deadline: .seconds(6)))
        }
        #expect(try await response.body.next() == Array("hello".utf8))
        response.body.cancel()
    }

    @Test func connectTimeoutIsReported() async throws {
        // A listener with a full queue does not accept connections.
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(listener, address, size)
                _ = getsockname(listener, address, &size)
            }
        }
        listen(listener, 0)
        let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(filler) }
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(filler, $0, size) }
        }
        var configuration = HTTPClientConfiguration()
        configuration.connections.connectTimeout = .milliseconds(200)
        let client = HTTPClient(configuration: configuration)
        let port = UInt16(bigEndian: address.sin_port)
        await #expect(throws: HTTPTransportError(.timedOut(.connect), "")) {
            try await client.send(HTTPRequest(url: "http://127.0.0.1:\(port)/"))
        }
    }

    @Test func waitingLongpollLetsThreadSleep() async throws {
        let server = try Self.silent()
        let client = HTTPClient()
        let tasks = (0..<50).map { _ in
            Task { try await client.send(HTTPRequest(url: server.url(), deadline: .seconds(6))) }
        }
        await server.accepted.wait(for: 50)
        let before = await client.engine.rounds
        for task in tasks {
            await #expect(throws: HTTPTransportError(.timedOut(.exchange), "")) { try await task.value }
        }
        // Fifty transfers end in this time; a busy loop would have made several hundred thousand rounds.
        #expect(await client.engine.rounds - before < 1000)
    }
}
