import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism) struct CancellationTests {
    /// Reads a request, signals that, and delays the answer until the client has disconnected.
    private static func silent(_ begin: String = "", asked: EventCounter) throws -> TestServer {
        try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write(begin)
            asked.increment()
            connection.waitForClose()
        }
    }

    private static let beginOfBody = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"

    @Test func cancellationBeforeHeadEndsRequest() async throws {
        let asked = EventCounter()
        let server = try Self.silent(asked: asked)
        let client = HTTPClient()
        let task = Task { try await client.send(HTTPRequest(url: server.url())) }
        await asked.wait(for: 1)
        task.cancel()
        await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
        await server.closed.wait(for: 1)
    }

    @Test func cancelledTaskSendsNothing() async throws {
        let client = HTTPClient()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.send(HTTPRequest(url: "http://127.0.0.1:1/"))
        }
        await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
    }

    @Test func cancellationInBodyEndsTransfer() async throws {
        let (asked, read) = (EventCounter(), EventCounter())
        let server = try Self.silent(Self.beginOfBody, asked: asked)
        let client = HTTPClient()
        let task = Task {
            let response = try await client.send(HTTPRequest(url: server.url()))
            for try await _ in response.body { read.increment() }
        }
        await read.wait(for: 1)
        task.cancel()
        await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
        await server.closed.wait(for: 1)
    }

    @Test func cancelledTaskCannotReadBody() async throws {
        let asked = EventCounter()
        let server = try Self.silent(Self.beginOfBody, asked: asked)
        let response = try await HTTPClient().send(HTTPRequest(url: server.url()))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await response.body.next()
        }
        await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
        await server.closed.wait(for: 1)
    }

    @Test func droppingBodyClosesConnection() async throws {
        let asked = EventCounter()
        let server = try Self.silent(Self.beginOfBody, asked: asked)
        let client = HTTPClient()
        _ = try await client.send(HTTPRequest(url: server.url())).status
        await server.closed.wait(for: 1)
        weak let body = try await client.send(HTTPRequest(url: server.url())).body
        #expect(body == nil)
        await server.closed.wait(for: 2)
    }

    @Test func droppingPausedBodyClosesConnection() async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\n\r\n")
            while true { try connection.write([UInt8](repeating: 1, count: 100_000)) }
        }
        let client = HTTPClient()
        do {
            let response = try await client.send(HTTPRequest(url: server.url()))
            #expect(try await response.body.next() != nil)
        }
        await server.closed.wait(for: 1)
    }

    /// A child process that had inherited the socket would keep the connection open.
    @Test func childProcessKeepsNoConnectionOpen() async throws {
        let asked = EventCounter()
        let server = try Self.silent(asked: asked)
        let client = HTTPClient()
        let task = Task { try await client.send(HTTPRequest(url: server.url())) }
        await asked.wait(for: 1)
        let child = try ChildProcess(["/bin/cat"])
        task.cancel()
        await server.closed.wait(for: 1)
        child.kill()
        await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
    }

    @Test(arguments: [false, true])
    func twoHundredRequestsAreCancelledTogether(inTheBody: Bool) async throws {
        let (asked, read) = (EventCounter(), EventCounter())
        let server = try Self.silent(inTheBody ? Self.beginOfBody : "", asked: asked)
        let client = HTTPClient()
        let tasks = (0..<200).map { _ in
            Task {
                let response = try await client.send(HTTPRequest(url: server.url()))
                while try await response.body.next() != nil { read.increment() }
            }
        }
        await (inTheBody ? read : asked).wait(for: 200)
        for task in tasks { task.cancel() }
        for task in tasks {
            await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
        }
        await server.closed.wait(for: 200)
    }

    @Test func cancellationWorksAtAnyMoment() async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in try connection.answer(body: String(repeating: "x", count: 100_000)) }
        }
        let client = HTTPClient()
        for round in 0..<300 {
            let task = Task { try await client.send(HTTPRequest(url: server.url())).body.collect(upTo: 1 << 20).count }
            for _ in 0..<(round % 60) { await Task.yield() }
            task.cancel()
            switch await task.result {
            case .success(let count): #expect(count == 100_000)
            case .failure(let error): #expect((error as? HTTPTransportError)?.code == .cancelled)
            }
        }
        // The cancelled request must not affect later ones.
        #expect(try await client.send(HTTPRequest(url: server.url())).body.collect(upTo: 1 << 20).count == 100_000)
    }

    @Test func shutdownEndsRequestsInFlight() async throws {
        let asked = EventCounter()
        let server = try Self.silent(asked: asked)
        let client = HTTPClient()
        let tasks = (0..<20).map { _ in Task { try await client.send(HTTPRequest(url: server.url())) } }
        await asked.wait(for: 20)
        await client.shutdown()
        for task in tasks {
            await #expect(throws: HTTPTransportError(.cancelled, "")) { try await task.value }
        }
        await server.closed.wait(for: 20)
        await client.shutdown()
        await #expect(throws: HTTPTransportError(.cancelled, "")) {
            try await client.send(HTTPRequest(url: server.url()))
        }
    }

    @Test func requestsThatRaceWithShutdownAllEnd() async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in try connection.answer(body: "x") }
        }
        for _ in 0..<30 {
            let client = HTTPClient()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask { _ = try? await client.send(HTTPRequest(url: server.url())).text() }
                }
                group.addTask { await client.shutdown() }
            }
        }
    }

    @Test func threadEndsWithLastReference() async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in try connection.answer(body: "x") }
        }
        weak var engine: CurlEngine?
        do {
            let client = HTTPClient()
            engine = client.engine
            #expect(try await client.send(HTTPRequest(url: server.url())).text() == "x")
        }
        // The thread closes the kept connection as its last action.
        await server.closed.wait(for: 1)
        while engine != nil { await Task.yield() }
    }
}
