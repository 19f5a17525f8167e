internal import CMalloc
package import Testing

/// A trait for tests that start a process, a server, an engine or a clock: only a few of them run concurrently.
///
/// Swift Testing starts all tests together. Thousands of them would compete for two processors, until leases and
/// requests time out. Tests without this trait only compute; they run first, all in parallel.
///
/// Long tests, and those of serialized suites, start first, so that the processors are busy until the end.
///
/// On a suite, the trait applies to each test case in it. The time limit begins when the test case has its slot, and does
/// not include the time that it waits for a ``SharedKeyspace``. A test case keeps its slot if the trait applies to it several times; the shortest time limit then applies.
package struct ParallelismLimit: TestTrait, SuiteTrait, TestScoping {
    /// Whether the current task belongs to a test case that has a slot.
    @TaskLocal private static var hasSlot = false
    /// Whether the current task belongs to a suite or test whose cases run serially. Its tests do not have the trait
    /// that says so.
    @TaskLocal package static var isSerialized = false
    /// One set of slots for the test process.
    private static let slots: TestSlots = {
        let count = SlotCount(processors: processorCount)
        let slots = TestSlots(count.value)
        Task { [count] in
            var (count, load, freed) = (count, ProcessorLoad(), FreedMemory())
            while true {
                try await Task.sleep(for: .milliseconds(500))
                freed.giveBackIfGrown()
                if let share = load.idleShare() {
                    count.adapt(toIdleShare: share, memory: FreedMemory.residentBytes ?? 0)
                }
                slots.count = count.value
            }
        }
        return slots
    }()
    /// Ends when the tests without this trait are done, except those that wait.
    ///
    /// Ready tasks run in order. One turn of this task therefore runs a step of each ready test; few need more than ten
    /// steps.
    private static let otherTests = Task {
        for _ in 0..<500 { await Task.yield() }
    }

    private let minutes: Int
    private let isLong: Bool

    /// Nested suites inherit the trait.
    package var isRecursive: Bool { true }

    /// Use two heaps for all threads of the test process, and none for large blocks, as in the program. By default,
    /// glibc would create a heap for each thread and keep there the memory that tests have freed.
    private static let heaps: Void = {
        mallopt(M_ARENA_MAX, 2)
        mallopt(M_MMAP_THRESHOLD, 640 << 10)
    }()

    fileprivate init(minutes: Int, isLong: Bool) {
        _ = Self.heaps
        (self.minutes, self.isLong) = (minutes, isLong)
    }

    /// Only test cases take slots: a suite that holds one while its tests wait would block them.
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> ParallelismLimit? {
        testCase != nil || test.traits.contains { $0 is ParallelizationTrait } ? self : nil
    }

    /// Called by Swift Testing.
    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await Self.$isSerialized.withValue(true, operation: function) }
        if Self.hasSlot { return try await limitingTime(of: test, function) }
        await Self.otherTests.value
        // The tests of a serialized suite arrive here one by one: each would wait behind all other tests.
        let isEarly = Self.isSerialized || test.traits.contains { ($0 as? ParallelismLimit)?.isLong == true }
        try await Self.slots.withSlot(isEarly: isEarly) {
            try await Self.$hasSlot.withValue(true) { try await limitingTime(of: test, function) }
        }
    }

    /// Cancels `function` and reports an issue once the time is over. Ends the whole process if `function` has still not
    /// ended five minutes later: it would never end otherwise, and its name would stay unknown.
    private func limitingTime(of test: Test, _ function: @Sendable () async throws -> Void) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                let time = TestTime.current ?? TestTime()
                let watchdog = TestWatchdog()
                tasks.addTask {
                    defer { watchdog.stop() }
                    try await TestTime.$current.withValue(time) { try await function() }
                }
                tasks.addTask {
                    try await time.reach(.seconds(60 * minutes))
                    Issue.record(
                        "Time limit was exceeded: \(minutes) minutes after the start",
                        sourceLocation: test.sourceLocation)
                    watchdog.start(for: test)
                }
                defer { tasks.cancelAll() }
                _ = try await tasks.next()
            }
        }
    }
}

extension Trait where Self == ParallelismLimit {
    /// Only a few of these tests run at once, for at most five minutes each.
    package static var limitedParallelism: Self { limitedParallelism(minutes: 5, isLong: false) }

    /// Only a few of these tests run at once.
    ///
    /// - Parameters:
    ///   - minutes: The time limit of a test case. It ends tests that hang; normal tests should take much less.
    ///   - isLong: Whether it takes many seconds, so that it should start before other tests.
    package static func limitedParallelism(minutes: Int = 5, isLong: Bool = false) -> Self {
        ParallelismLimit(minutes: minutes, isLong: isLong)
    }
}
