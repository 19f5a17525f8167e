import Locking
import TestKit
import Testing

@Suite struct TestSlotsTests {
    /// The number of tasks with a slot, and its maximum.
    private struct Use: Sendable {
        var now = 0
        var most = 0
        var order: [Int] = []
    }

    @Test(arguments: [1, 2, 5]) func runningTasksNeverExceedSlots(count: Int) async throws {
        let slots = TestSlots(count)
        let use = Locked(Use())
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<50 {
                tasks.addTask {
                    try await slots.withSlot {
                        use.withLock { use in
                            use.now += 1
                            use.most = max(use.most, use.now)
                        }
                        await Task.yield()
                        use.withLock { $0.now -= 1 }
                    }
                }
            }
            try await tasks.waitForAll()
        }
        #expect(use.withLock { $0.most } <= count)
        #expect(use.withLock { $0.now } == 0)
    }

    @Test func waitingTasksGetTheirSlotsInOrder() async throws {
        let slots = TestSlots(1)
        let use = Locked(Use())
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            try await slots.withSlot {
                for number in 0..<10 {
                    tasks.addTask { try await slots.withSlot { use.withLock { $0.order.append(number) } } }
                    while slots.waitingTasks <= number { await Task.yield() }
                }
            }
            try await tasks.waitForAll()
        }
        #expect(use.withLock { $0.order } == Array(0..<10))
    }

    @Test func earlyTasksGetTheirSlotsBeforeOthers() async throws {
        let slots = TestSlots(1)
        let use = Locked(Use())
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            try await slots.withSlot {
                for number in 0..<6 {
                    tasks.addTask {
                        try await slots.withSlot(isEarly: number.isMultiple(of: 2)) {
                            use.withLock { $0.order.append(number) }
                        }
                    }
                    while slots.waitingTasks <= number { await Task.yield() }
                }
            }
            try await tasks.waitForAll()
        }
        #expect(use.withLock { $0.order } == [0, 2, 4, 1, 3, 5])
    }

    @Test func addedSlotsAreTakenImmediately() async throws {
        let slots = TestSlots(1)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            try await slots.withSlot {
                for _ in 0..<2 { tasks.addTask { try await slots.withSlot {} } }
                while slots.waitingTasks < 2 { await Task.yield() }
                slots.count = 2
                while slots.waitingTasks > 0 { await Task.yield() }
            }
            try await tasks.waitForAll()
        }
    }

    @Test func tasksWaitUntilEnoughSlotsAreReleased() async throws {
        let slots = TestSlots(2)
        let use = Locked(Use())
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            try await slots.withSlot {
                try await slots.withSlot {
                    slots.count = 1
                    tasks.addTask { try await slots.withSlot { use.withLock { $0.most = 1 } } }
                    while slots.waitingTasks < 1 { await Task.yield() }
                }
                // One of two slots is free, and one is still taken.
                #expect(slots.waitingTasks == 1 && use.withLock { $0.most } == 0)
            }
            try await tasks.waitForAll()
        }
        #expect(use.withLock { $0.most } == 1)
    }

    @Test func failedTaskReleasesSlot() async throws {
        struct Failed: Error {}
        let slots = TestSlots(1)
        await #expect(throws: Failed.self) { try await slots.withSlot { throw Failed() } }
        try await slots.withSlot {}
    }

    @Test func cancelledTaskLeavesQueue() async throws {
        let slots = TestSlots(1)
        try await slots.withSlot {
            let waiting = Task { try await slots.withSlot { Issue.record("it was cancelled before it had a slot") } }
            while slots.waitingTasks == 0 { await Task.yield() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(slots.waitingTasks == 0)
        }
        try await slots.withSlot {}
    }
}
