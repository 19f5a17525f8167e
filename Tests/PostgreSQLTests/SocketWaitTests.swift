import Glibc
import TestKit
import Testing

@testable import PostgreSQL

@Suite(.limitedParallelism) struct SocketWaitTests {
    /// As after SIGSTOP and SIGCONT.
    @Test func arrivedAnswerIsFoundAfterDeadline() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let past = ContinuousClock.now - .seconds(5)
        #expect(try SocketWait.wait(for: Int16(POLLIN), on: ends[0], until: past) == 0)
        #expect(write(ends[1], "x", 1) == 1)
        #expect(try SocketWait.wait(for: Int16(POLLIN), on: ends[0], until: past) == Int16(POLLIN))
        #expect(throws: PostgresError.self) { try SocketWait.wait(for: Int16(POLLIN), on: -1, until: past) }
    }

    @Test func limitEndsCurrentWait() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let (socket, limit) = (ends[0], CallLimit())
        let isWaiting = EventCounter()
        async let events = onNewThread { () -> Int16? in
            isWaiting.increment()
            return try? SocketWait.wait(
                for: Int16(POLLIN), on: socket, until: .now + .seconds(60), limit: limit)
        }
        await isWaiting.wait(for: 1)
        limit.set(.now)
        #expect(await events == 0)
        #expect(limit.isOver)
        // An earlier limit is kept.
        limit.set(.now + .seconds(3600))
        #expect(limit.isOver)
    }

    @Test func timeoutsAreWholeMilliseconds() {
        #expect(Duration.zero.milliseconds == 1)
        #expect(Duration.nanoseconds(1_000_001).milliseconds == 2)
        #expect(Duration.seconds(3).milliseconds == 3000)
        #expect(Duration.seconds(1 << 60).milliseconds == Int(Int32.max))
    }
}
