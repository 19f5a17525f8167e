import NIOCore
import TestKit
import Testing

@testable import EmbeddedGateway
@testable import HTTPServing

/// Many clients that send large bodies: the memory for bodies is limited.
@Suite(.limitedParallelism) struct IncomingBodiesTests {
    @Test func longestStalledBodyIsDropped() {
        var ledger = IncomingBodyLedger(limit: 10)
        let (first, second, third) = (ledger.begin(), ledger.begin(), ledger.begin())
        #expect(ledger.grow(first, by: 4) == [])
        #expect(ledger.grow(second, by: 4) == [])
        #expect(ledger.grow(first, by: 1) == [])
        #expect(ledger.grow(third, by: 2) == [second])
        #expect(ledger.total == 7)
        #expect(ledger.grow(second, by: 1) == nil)
        ledger.remove(first)
        #expect(ledger.total == 2)
    }

    @Test func completeBodiesAreKeptAndTheGrowingOneIsRefused() {
        var ledger = IncomingBodyLedger(limit: 10)
        let (complete, partial, late) = (ledger.begin(), ledger.begin(), ledger.begin())
        #expect(ledger.grow(complete, by: 8) == [])
        ledger.complete(complete)
        #expect(ledger.grow(partial, by: 2) == [])
        #expect(ledger.grow(late, by: 3) == nil)
        #expect(ledger.total == 10)
        ledger.remove(complete)
        #expect(ledger.total == 2)
    }

    private static func put(_ name: String, _ bytes: Int, of length: Int) -> String {
        "PUT /\(name) HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\n" + String(repeating: "x", count: bytes)
    }

    private static let longTimeouts = ConnectionTimeouts.Limits(
        head: .minutes(10), body: .minutes(10), writing: .minutes(10))

    /// The head of the answer to a whole body.
    private static func head(_ port: Int, _ name: String) async throws -> String {
        try await RawConnection.with(port: port) { connection in
            try await connection.send(put(name, 600, of: 600))
            return try await connection.readAnswer().head
        }
    }

    @Test func unfinishedBodiesShareALimit() async throws {
        let server = try await HTTPServer.startForTest(
            timeouts: Self.longTimeouts, bodies: IncomingBodies(limit: 1_000)
        ) { _ in .json([]) }
        let port = server.port
        let first = await withTaskGroup(of: String.self) { group in
            for name in ["a", "b"] {
                group.addTask {
                    // A reset also counts as an end.
                    let end = try? await RawConnection.with(port: port) { connection in
                        try await connection.send(Self.put(name, 600, of: 601))
                        return try await connection.readToEnd()
                    }
                    return end ?? ""
                }
            }
            let first = await group.next()
            group.cancelAll()
            return first
        }
        #expect(first == "")
        await server.stop()
    }

    @Test func bodyIsRefusedIfCompleteBodiesLeaveNoRoom() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let (gates, gate) = AsyncStream<Void>.makeStream()
        let server = try await HTTPServer.startForTest(
            timeouts: Self.longTimeouts, bodies: IncomingBodies(limit: 1_000)
        ) { request in
            guard request.target == "/slow" else { return .json([]) }
            arrival.finish()
            for await _ in gates {}
            return .json([])
        }
        let port = server.port
        async let slow = Self.head(port, "slow")
        for await _ in arrivals {}
        let refused = try await Self.head(port, "refused")
        #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("Retry-After: 1\r\n"), "\(refused)")
        gate.finish()
        #expect(try await slow.hasPrefix("HTTP/1.1 200 "))
        #expect(try await Self.head(port, "later").hasPrefix("HTTP/1.1 200 "))
        await server.stop()
    }
}
