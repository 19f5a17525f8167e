import Locking
import Testing

@testable import Delivery

/// How bots share memory.
@Suite struct MemoryPoolTests {
    @Test func singleBotHasTheWholePool() {
        let member = MemoryPool(bytes: 100).join()
        member.add(99)
        #expect(member.hasRoom)
        member.add(1)
        #expect(!member.hasRoom)
    }

    @Test func fullBotLeavesOthersTheirPart() {
        let pool = MemoryPool(bytes: 100)
        let (first, second) = (pool.join(), pool.join())
        // Its own part of 25, and the shared half.
        while first.hasRoom { first.add(1) }
        #expect(first.bytes == 75)
        while second.hasRoom { second.add(1) }
        #expect(second.bytes == 25)
        first.add(-10)
        #expect(first.hasRoom && second.hasRoom)
    }

    @Test func leavingBotReturnsItsPart() {
        let pool = MemoryPool(bytes: 100)
        let (first, second) = (pool.join(), pool.join())
        first.add(80)
        #expect(!first.hasRoom)
        pool.leave(second)
        #expect(first.hasRoom)
    }

    @Test func waitingBotIsWokenByAnother() async {
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
    func readerContinuesWhenAnotherBotFreesMemory() async throws {
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

/// How documents of unknown size are read.
@Suite struct MemoryBudgetReadingTests {
    private func budget(_ bytes: Int = 1200) -> MemoryBudget { MemoryBudget(MemoryPool(bytes: bytes), documents: 10) }

    @Test func onlyReaderBeginsWithoutRoom() async throws {
        let budget = budget()
        await budget.take(bytes: 5000, documents: 1)
        let portion = await budget.portion(isAlone: false)
        let reading = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 10_000)
        #expect(await budget.inUse.bytes == 15_000)
        #expect(await !budget.continueReading(portion))
        withExtendedLifetime(reading) {}
    }

    @Test(.timeLimit(.minutes(5)))
    func secondReaderWaitsForRoom() async throws {
        let budget = budget()
        let portion = await budget.portion(isAlone: false)
        let first = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 1200)
        let begun = Locked(false)
        let second = Task {
            let reading = try await budget.beginReading(portion)
            begun.withLock { $0 = true }
            await budget.end(portion, bytes: 0)
            withExtendedLifetime(reading) {}
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(begun.withLock { !$0 })
        await budget.giveBack(bytes: 1200, documents: 0)
        try await second.value
        withExtendedLifetime(first) {}
    }

    @Test(.timeLimit(.minutes(5)))
    func secondReaderBeginsWhenTheFirstHasReleasedAll() async throws {
        let budget = budget()
        let portion = await budget.portion(isAlone: false)
        var first: MemoryBudget.Reading? = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 5000)
        async let second = budget.beginReading(portion)
        withExtendedLifetime(first) {}
        first = nil
        _ = try await second
    }

    @Test(.timeLimit(.minutes(5)))
    func oversizedDocumentsAreReadOneAtATime() async throws {
        let budget = budget()
        let alone = await budget.portion(isAlone: true)
        let first = try await budget.beginReading(alone)
        #expect(await !budget.continueReading(alone))
        #expect(await budget.continueReading(await budget.portion(isAlone: false)))
        async let second = budget.beginReading(alone)
        await budget.end(alone, bytes: 100)
        _ = try await second
        withExtendedLifetime(first) {}
    }

    @Test(.timeLimit(.minutes(5)))
    func cancelledTaskStopsWaiting() async throws {
        let budget = budget()
        let portion = await budget.portion(isAlone: false)
        let first = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 5000)
        let second = Task { _ = try await budget.beginReading(portion) }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        withExtendedLifetime(first) {}
    }

    @Test func portionIsATwelfthOfTheBudget() async {
        #expect(await budget(1200).portion(isAlone: false).limit == 100)
        #expect(await budget(1).portion(isAlone: false).limit == 1)
        #expect(await budget(1 << 40).portion(isAlone: false).limit == 2 << 20)
    }

    /// A single document is expected to be as large as the previous one.
    @Test func secondLargeDocumentWaitsForRoom() async throws {
        let budget = budget()
        let first = await budget.portion(isAlone: true)
        let reading = try await budget.beginReading(first)
        await budget.end(first, bytes: 700)
        #expect(await !budget.continueReading(await budget.portion(isAlone: true)))
        #expect(await budget.continueReading(await budget.portion(isAlone: false)))
        withExtendedLifetime(reading) {}
    }
}
