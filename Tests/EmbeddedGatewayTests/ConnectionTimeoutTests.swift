import HTTPServing
import NIOCore
import TestKit
import Testing

@testable import EmbeddedGateway

/// Connections without any traffic.
@Suite(.limitedParallelism) struct ConnectionTimeoutTests {
    private func withServer(
        _ limits: ConnectionTimeouts.Limits, respond: @escaping HTTPServer.RequestHandler = { _ in .json([]) },
        _ body: (HTTPServer) async throws -> Void
    ) async throws {
        let server = try await HTTPServer.startForTest(timeouts: limits, respond: respond)
        do { try await body(server) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private static var short: ConnectionTimeouts.Limits {
        ConnectionTimeouts.Limits(head: .milliseconds(20), body: .milliseconds(20), writing: .milliseconds(20))
    }

    @Test(arguments: [
        "", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\n", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n1234",
    ])
    func stalledRequestClosesItsConnection(text: String) async throws {
        try await withServer(Self.short) { server in
            try await RawConnection.with(port: server.port) { connection in
                // A reset also counts as an end; on a busy machine it may come first.
                if !text.isEmpty { try? await connection.send(text) }
                let answer = try? await connection.readToEnd()
                #expect(answer ?? "" == "")
            }
        }
    }

    @Test func unreadAnswerIsGivenUp() async throws {
        let (ends, end) = AsyncStream<Void>.makeStream()
        let endless: HTTPServer.RequestHandler = { _ in
            Answer(
                status: 200,
                body: .streamed { send in
                    defer { end.finish() }
                    while true { try await send([UInt8](repeating: 0, count: 1 << 20)) }
                })
        }
        try await withServer(ConnectionTimeouts.Limits(writing: .milliseconds(20)), respond: endless) { server in
            try await RawConnection.with(port: server.port) { connection in
                try await connection.get("/")
                for await _ in ends {}
                // Reads the rest in the sockets; a reset also counts as an end.
                _ = try? await connection.readToEnd()
            }
        }
    }

    @Test func feedMayBeSilentForLonger() async throws {
        let gateway = try TestGateway(database: "todo")
        let router = gateway.router
        let limits = ConnectionTimeouts.Limits(writing: .milliseconds(20))
        let respond: HTTPServer.RequestHandler = { await router.answer($0) }
        try await withServer(limits, respond: respond) { server in
            try await RawConnection.with(port: server.port) { feed in
                try await feed.get("/todo/_changes?feed=longpoll&since=9&timeout=200")
                #expect(try await feed.read(through: "0\r\n\r\n").contains("],\n\"last_seq\":\"9\"}\n"))
            }
        }
    }
}
