import Locking
import TestKit
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
            second.whenMemoryIsFreed { woken() }
            first.add(-75)
            first.add(-0)
        }
    }

    @Test(.limitedParallelism)
    func readerContinuesWhenAnotherBotFreesMemory() async throws {
        let pool = MemoryPool(bytes: 100)
        let first = MemoryBudget(pool, documents: 10)
        let second = MemoryBudget(pool, documents: 10)
        await first.take(bytes: 75, documents: 1)
        await second.take(bytes: 25, documents: 1)
        async let room: Void = second.room()
        await first.returnRoom(bytes: 75, documents: 1)
        try await room
    }
}

/// How documents of unknown size are read.
@Suite struct MemoryBudgetReadingTests {
    private func budget(_ bytes: Int = 1200) -> MemoryBudget { MemoryBudget(MemoryPool(bytes: bytes), documents: 10) }

    @Test func onlyReaderBeginsWithoutRoom() async throws {
        let budget = budget()
        await budget.take(bytes: 5000, documents: 1)
        let portion = await budget.portion(of: .candidates, isSingle: false)
        let reading = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 10_000, of: reading)
        #expect(await budget.inUse.bytes == 15_000)
        #expect(await !budget.continueReading(portion))
        withExtendedLifetime(reading) {}
    }

    @Test(.limitedParallelism)
    func secondReaderWaitsForRoom() async throws {
        let budget = budget()
        let portion = await budget.portion(of: .candidates, isSingle: false)
        let first = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 1200, of: first)
        let begun = Locked(false)
        let second = Task {
            let reading = try await budget.beginReading(portion)
            begun.withLock { $0 = true }
            await budget.end(portion, bytes: 0, of: reading)
            withExtendedLifetime(reading) {}
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(begun.withLock { !$0 })
        await budget.returnRoom(bytes: 1200, documents: 0)
        try await second.value
        withExtendedLifetime(first) {}
    }

    @Test(.limitedParallelism)
    func secondReaderBeginsWhenTheFirstHasReleasedAll() async throws {
        let budget = budget()
        let portion = await budget.portion(of: .candidates, isSingle: false)
        var first: MemoryBudget.Reading? = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 5000, of: try #require(first))
        async let second = budget.beginReading(portion)
        withExtendedLifetime(first) {}
        first = nil
        _ = try await second
    }

    @Test(.limitedParallelism)
    func oversizedDocumentsAreReadOneAtATime() async throws {
        let budget = budget()
        let alone = await budget.portion(of: .candidates, isSingle: true)
        let first = try await budget.beginReading(alone)
        #expect(await !budget.continueReading(alone))
        #expect(await budget.continueReading(await budget.portion(of: .candidates, isSingle: false)))
        async let second = budget.beginReading(alone)
        await budget.end(alone, bytes: 100, of: first)
        _ = try await second
        withExtendedLifetime(first) {}
    }

    @Test(.limitedParallelism)
    func cancelledTaskStopsWaiting() async throws {
        let budget = budget()
        let portion = await budget.portion(of: .candidates, isSingle: false)
        let first = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 5000, of: first)
        let second = Task { _ = try await budget.beginReading(portion) }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        withExtendedLifetime(first) {}
    }

    @Test func portionIsATwelfthOfTheBudget() async {
        #expect(await budget(1200).portion(of: .candidates, isSingle: false).limit == 100)
        #expect(await budget(1).portion(of: .candidates, isSingle: false).limit == 1)
        #expect(await budget(1 << 40).portion(of: .candidates, isSingle: false).limit == 2 << 20)
    }

    /// A single document is expected to be as large as the previous one.
    @Test func secondLargeDocumentWaitsForRoom() async throws {
        let budget = budget()
        let first = await budget.portion(of: .candidates, isSingle: true)
        let reading = try await budget.beginReading(first)
        await budget.end(first, bytes: 700, of: reading)
        #expect(await !budget.continueReading(await budget.portion(of: .candidates, isSingle: true)))
        #expect(await budget.continueReading(await budget.portion(of: .candidates, isSingle: false)))
        withExtendedLifetime(reading) {}
    }
}

/// How documents are read that rules change although they are not decided.
@Suite struct MemoryBudgetTargetTests {
    /// A portion of several targets reserves 300 bytes.
    private let budget = MemoryBudget(MemoryPool(bytes: 1200), documents: 10)

    private func read(_ bytes: Int, isSingle: Bool = false) async throws -> MemoryBudget.Reading {
        let portion = await budget.portion(of: .targets, isSingle: isSingle)
        let reading = try await budget.beginReading(portion)
        await budget.end(portion, bytes: bytes, of: reading)
        return reading
    }

    /// Whether a reading begins while no other ends.
    private func isWaiting(_ read: @escaping @Sendable () async throws -> Void, until free: () async -> Void)
        async throws -> Bool
    {
        let begun = Locked(false)
        let task = Task {
            try await read()
            begun.withLock { $0 = true }
        }
        for _ in 0..<100 { await Task.yield() }
        let isWaiting = begun.withLock { !$0 }
        await free()
        try await task.value
        return isWaiting
    }

    @Test(.limitedParallelism)
    func targetsTakeRoomUntilTheyAreReleased() async throws {
        var reading: MemoryBudget.Reading? = try await read(5000, isSingle: true)
        #expect(await budget.inUse.bytes == 5000)
        withExtendedLifetime(reading) {}
        reading = nil
        try await budget.room()
        #expect(await budget.inUse.bytes == 0)
    }

    /// Otherwise two writers could wait for each other's candidates.
    @Test func writerThatHoldsCandidatesReadsTargetsWithoutRoom() async throws {
        let portion = await budget.portion(of: .candidates, isSingle: false)
        let candidates = try await budget.beginReading(portion)
        await budget.end(portion, bytes: 5000, of: candidates)
        let targets = try await read(5000, isSingle: true)
        #expect(await budget.inUse.bytes == 10_000)
        withExtendedLifetime((candidates, targets)) {}
    }

    @Test(.limitedParallelism)
    func largeTargetWaitsForTheOneBefore() async throws {
        let budget = budget
        await budget.take(bytes: 1000, documents: 1)
        let first = Locked<MemoryBudget.Reading?>(try await read(900, isSingle: true))
        let waits = try await isWaiting {
            let portion = await budget.portion(of: .targets, isSingle: true)
            let reading = try await budget.beginReading(portion)
            await budget.end(portion, bytes: 900, of: reading)
        } until: {
            first.withLock { $0 = nil }
        }
        #expect(waits)
    }

    /// A backlog fills the budget all the time, and the writers must not take turns then.
    @Test func smallTargetsNeedNoRoom() async throws {
        await budget.take(bytes: 5000, documents: 1)
        let readings = [try await read(100), try await read(100), try await read(100), try await read(0)]
        #expect(await budget.inUse.bytes == 5300)
        withExtendedLifetime(readings) {}
    }
}
