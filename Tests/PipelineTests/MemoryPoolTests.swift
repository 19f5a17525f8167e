import Testing

@testable import Pipeline

/// How bots share memory.
@Suite struct MemoryPoolTests {
    @Test func oneBotHasAllOfIt() {
        let member = MemoryPool(bytes: 100).join()
        member.add(99)
        #expect(member.hasRoom)
        member.add(1)
        #expect(!member.hasRoom)
    }

    @Test func aBotThatHoldsAllItCanLeavesTheOthersTheirPart() {
        let pool = MemoryPool(bytes: 100)
        let (first, second) = (pool.join(), pool.join())
        // Its own part of 25, and the common half.
        while first.hasRoom { first.add(1) }
        #expect(first.bytes == 75)
        while second.hasRoom { second.add(1) }
        #expect(second.bytes == 25)
        first.add(-10)
        #expect(first.hasRoom && second.hasRoom)
    }

    @Test func whoLeavesGivesItsPartBack() {
        let pool = MemoryPool(bytes: 100)
        let (first, second) = (pool.join(), pool.join())
        first.add(80)
        #expect(!first.hasRoom)
        pool.leave(second)
        #expect(first.hasRoom)
    }

    @Test func aBotThatWaitsIsWokenByAnother() async {
        let pool = MemoryPool(bytes: 100)
        let (first, second) = (pool.join(), pool.join())
        first.add(75)
        second.add(25)
        await confirmation { woken in
            second.whenRoomReturns { woken() }
            first.add(-75)
            first.add(-0)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func aReaderGoesOnWhenAnotherBotMakesRoom() async throws {
        let pool = MemoryPool(bytes: 100)
        let first = MemoryBudget(pool, documents: 10)
        let second = MemoryBudget(pool, documents: 10)
        await first.take(bytes: 75, documents: 1)
        await second.take(bytes: 25, documents: 1)
        async let room: Void = second.room()
        await first.giveBack(bytes: 75, documents: 1)
        try await room
    }
}
