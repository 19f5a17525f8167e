import Locking
import Testing

@testable import Fleet

@Suite struct WorkLimitTests {
    private let limit = WorkLimit(10)
    private let one = Signal()
    private let two = Signal()
    private let three = Signal()

    @Test func limitIsNeverExceeded() {
        #expect(limit.enter(1, atMost: 6, one) == 6)
        #expect(limit.enter(2, atMost: 6, two) == 4)
        #expect(limit.enter(1, atMost: 6, one) == 0)
        limit.leave(3)
        #expect(limit.enter(1, atMost: 6, one) == 3)
    }

    @Test func partitionsAreServedInOrder() async throws {
        #expect(limit.enter(1, atMost: 10, one) == 10)
        #expect(limit.enter(2, atMost: 5, two) == 0)
        #expect(limit.enter(3, atMost: 5, three) == 0)
        limit.leave(10)
        #expect(limit.enter(3, atMost: 5, three) == 0)
        #expect(limit.enter(1, atMost: 5, one) == 0)
        try await two.wait()
        #expect(limit.enter(2, atMost: 5, two) == 5)
        try await three.wait()
        #expect(limit.enter(3, atMost: 5, three) == 5)
    }

    @Test func withdrawnPartitionBlocksNoOther() async throws {
        #expect(limit.enter(1, atMost: 10, one) == 10)
        #expect(limit.enter(2, atMost: 5, two) == 0)
        #expect(limit.enter(3, atMost: 5, three) == 0)
        limit.leave(10)
        limit.withdraw(2)
        try await three.wait()
        #expect(limit.enter(3, atMost: 5, three) == 5)
    }

    @Test func smallPortionsAreNotGranted() async throws {
        let limit = WorkLimit(10, minBatch: 4)
        #expect(limit.enter(1, atMost: 8, one) == 8)
        #expect(limit.enter(2, atMost: 8, two) == 0)
        limit.leave(1)
        #expect(limit.enter(2, atMost: 8, two) == 0)
        limit.leave(1)
        try await two.wait()
        #expect(limit.enter(2, atMost: 8, two) == 4)
    }
}
