import Locking
import TestKit
import Testing

@testable import HTTPTransport

/// Bodies that are produced while they are sent.
@Suite(.limitedParallelism(isLong: true)) struct UploadTests {
    private struct SourceError: Error {}

    /// Parts of the pattern, one for each call.
    private static func source(_ sizes: [Int], promise: Int? = nil, asked: EventCounter = EventCounter())
        -> HTTPBodySource
    {
        let whole = BytePattern().bytes(sizes.reduce(0, +))
        let place = Monitor((index: 0, byte: 0))
        return HTTPBodySource(count: promise ?? sizes.reduce(0, +)) {
            asked.increment()
            return place.with { place in
                guard place.index < sizes.count else { return nil }
                let bytes = whole[place.byte..<place.byte + sizes[place.index]]
                place = (place.index + 1, place.byte + sizes[place.index])
                return Array(bytes)
            }
        }
    }

    private static func put(_ source: HTTPBodySource, to server: TestServer) -> HTTPRequest {
        HTTPRequest(method: "PUT", url: server.url("/a"), body: .source(source), deadline: .seconds(240))
    }

    private static func checkingServer() throws -> TestServer {
        try TestServer { connection in
            try connection.serve { request in
                let isRight = BytePattern().matches(request.body, at: 0)
                try connection.answer(201, body: "\(isRight) \(request.contentLength ?? -1)")
            }
        }
    }

    @Test(arguments: [
        [5], [1, 1, 1], [0, 3, 0, 0, 4, 0], [70_000, 1, 200_000], [3_000_000], [], [0],
        Array(repeating: 100_000, count: 40),
    ])
    func everyByteArrivesOnceAndInOrder(sizes: [Int]) async throws {
        let server = try Self.checkingServer()
        let client = HTTPClient()
        for _ in 0..<2 {
            let response = try await client.send(Self.put(Self.source(sizes), to: server))
            #expect(response.status == 201)
            #expect(try await response.text() == "true \(sizes.reduce(0, +))")
        }
    }

    @Test func slowSourceIsAwaited() async throws {
        let server = try Self.checkingServer()
        let parts = Monitor(BytePattern().bytes(50))
        let source = HTTPBodySource(count: 50) {
            for _ in 0..<200 { await Task.yield() }
            return parts.with { $0.isEmpty ? nil : [$0.removeFirst()] }
        }
        var request = Self.put(source, to: server)
        request.idleTimeout = .seconds(60)
        #expect(try await HTTPClient().send(request).text() == "true 50")
    }

    @Test func slowSourceIsNotServerSilence() async throws {
        let server = try Self.checkingServer()
        let silent = try TestServer { connection in connection.waitForClose() }
        let client = HTTPClient()
        let calls = EventCounter()
        let source = HTTPBodySource(count: 2) {
            calls.increment()
            guard calls.count < 3 else { return nil }
            if calls.count == 2 {
                // Takes longer than the idle timeout.
                _ = try? await client.send(HTTPRequest(url: silent.url(), deadline: .seconds(6)))
            }
            return Array(BytePattern().bytes(calls.count)[(calls.count - 1)...])
        }
        var request = Self.put(source, to: server)
        request.idleTimeout = .seconds(4)
        #expect(try await client.send(request).text() == "true 2")
    }

    /// The parts are requested at the speed of the server.
    @Test func unreadUploadHoldsSourceBack() async throws {
        // A multiple of the pattern's length, so that all parts are equal.
        let part = BytePattern().bytes(16 * 65_521)
        let count = 40 * part.count
        let continues = EventCounter()
        let server = try TestServer { connection in
            _ = try connection.readHead()
            continues.block(until: 1)
            #expect(BytePattern().matches(try connection.read(count), at: 0))
            try connection.answer(201)
        }
        let asked = EventCounter()
        let source = HTTPBodySource(count: count) {
            asked.increment()
            return asked.count > 40 ? nil : part
        }
        let request = Self.put(source, to: server)
        let task = Task { try await HTTPClient().send(request).status }
        // Another complete transfer: the first one is blocked by then.
        let other = try Self.checkingServer()
        for _ in 0..<20 { _ = try await HTTPClient().send(HTTPRequest(url: other.url())).text() }
        #expect(asked.count < 30)
        continues.increment()
        #expect(try await task.value == 201)
        #expect(asked.count == 41)
    }

    @Test(arguments: [
        ([5], 6, "ends 1 byte short"), ([], 3, "ends 3 bytes short"), ([5], 4, "longer than the 4"),
        ([5, 1], 5, "longer than the 5"), ([1], 0, "longer than the 0"), ([100_000, 100_000], 150_000, "longer"),
        ([5, 0, 0, 1], 5, "longer than the 5"),
    ])
    func sourceWithWrongLengthIsNotSentCompletely(sizes: [Int], promise: Int, reason: String) async throws {
        let received = EventCounter()
        let server = try TestServer { connection in
            guard let request = try connection.readRequest() else { return }
            received.increment()
            Issue.record("a whole request: \(request.body.count) bytes")
        }
        let source = Self.source(sizes, promise: promise)
        let error = await #expect(throws: HTTPTransportError.self) {
            try await HTTPClient().send(Self.put(source, to: server))
        }
        #expect(error?.code == .sourceFailed && error?.isRetryable == false)
        #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
        if server.accepted.count > 0 { await server.closed.wait(for: server.accepted.count) }
        #expect(received.count == 0)
    }

    @Test func failingSourceEndsRequest() async throws {
        let server = try TestServer { connection in connection.waitForClose() }
        let calls = EventCounter()
        let source = HTTPBodySource(count: 10) {
            calls.increment()
            guard calls.count == 1 else { throw SourceError() }
            return [1, 2, 3]
        }
        let error = await #expect(throws: HTTPTransportError.self) {
            try await HTTPClient().send(Self.put(source, to: server))
        }
        #expect(error?.code == .sourceFailed)
        #expect(error?.message.contains("SourceError") == true)
    }

    /// The refusal arrives while the transfer waits for bytes, or while the server does not take more. The rest of the
    /// refusal arrives after the source was told to stop.
    @Test(arguments: [1, Int.max])
    func earlyRefusalStopsSourceAndIsReadCompletely(parts: Int) async throws {
        let stopped = EventCounter()
        let server = try TestServer { connection in
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 8\r\n\r\ntoo ")
            stopped.block(until: 1)
            try connection.write("much")
            connection.waitForClose()
        }
        let asked = EventCounter()
        let source = HTTPBodySource(count: 1 << 40) {
            asked.increment()
            // Returns when the task is cancelled.
            if asked.count > parts { await EventCounter().wait(for: 1) }
            try Task.checkCancellation()
            return [UInt8](repeating: 0, count: 1000)
        }
        let response = try await HTTPClient().send(Self.put(source, to: server))
        stopped.increment()
        #expect(response.status == 413)
        #expect(try await response.text() == "too much")
    }

    @Test func cancellingEndsSourceAndConnection() async throws {
        let server = try TestServer { connection in
            _ = try connection.readHead()
            connection.waitForClose()
        }
        let (asked, ended) = (EventCounter(), EventCounter())
        let source = HTTPBodySource(count: 1000) {
            asked.increment()
            guard asked.count > 1 else { return [1] }
            await EventCounter().wait(for: 1)
            ended.increment()
            throw CancellationError()
        }
        let request = Self.put(source, to: server)
        let task = Task { try await HTTPClient().send(request) }
        await asked.wait(for: 2)
        // The source is read ahead of the connection; without a connection there is none to close.
        await server.accepted.wait(for: 1)
        task.cancel()
        await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
        #expect(ended.count == 1)
        await server.closed.wait(for: 1)
    }

    @Test func deadlineAppliesToSource() async throws {
        let server = try TestServer { connection in
            _ = try connection.readHead()
            connection.waitForClose()
        }
        let source = HTTPBodySource(count: 1000) {
            await EventCounter().wait(for: 1)
            throw CancellationError()
        }
        var request = Self.put(source, to: server)
        request.deadline = .milliseconds(200)
        let error = await #expect(throws: HTTPTransportError.self) { try await HTTPClient().send(request) }
        #expect(error?.code == .timedOut(.exchange))
    }

    @Test func shutdownEndsUpload() async throws {
        let server = try TestServer { connection in connection.waitForClose() }
        let client = HTTPClient()
        let asked = EventCounter()
        let source = HTTPBodySource(count: 1000) {
            asked.increment()
            guard asked.count > 1 else { return [1] }
            await EventCounter().wait(for: 1)
            throw CancellationError()
        }
        let request = Self.put(source, to: server)
        let task = Task { try await client.send(request) }
        await asked.wait(for: 2)
        await client.shutdown()
        await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
    }

    @Test func negativeLengthIsRefused() async throws {
        let server = try Self.checkingServer()
        let error = await #expect(throws: HTTPTransportError.self) {
            try await HTTPClient().send(Self.put(Self.source([], promise: -1), to: server))
        }
        #expect(error?.code == .invalidRequest || error?.code == .sourceFailed)
        #expect(server.accepted.count == 0)
    }
}
