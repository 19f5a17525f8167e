internal import CMalloc
package import Testing

/// The trait of tests that start a process, a server, an engine or a clock: only a few of them run at once.
///
/// Swift Testing starts all tests at once. Thousands of them would compete for two processors, until leases and
/// requests time out. Tests without this trait compute and wait for nothing; they run first, all in parallel.
///
/// Long tests, and those of serialized suites, begin first, so that the processors have something to do until the end.
///
/// On a suite, the trait applies to each test case in it. The time limit begins when the test case has its slot. A test
/// case keeps its slot if the trait applies to it more than once; then the shortest time limit ends it.
package struct ParallelismLimit: TestTrait, SuiteTrait, TestScoping {
    /// Whether the current task belongs to a test case that has a slot.
    @TaskLocal private static var hasSlot = false
    /// Whether the current task belongs to a suite or test whose cases run one after the other. Its tests do not have
    /// the trait that says so.
    @TaskLocal package static var isSerialized = false
    /// One set of slots for the test process.
    private static let slots: TestSlots = {
        let count = SlotCount(processors: processorCount)
        let slots = TestSlots(count.value)
        Task { [count] in
            var (count, load, freed) = (count, ProcessorLoad(), FreedMemory())
            while true {
                try await Task.sleep(for: .milliseconds(500))
                if let share = load.idleShare() { count.adapt(toIdleShare: share) }
                slots.count = count.value
                freed.giveBackIfGrown()
            }
        }
        return slots
    }()
    /// Ends once the tests without this trait are done, but for those that wait themselves.
    ///
    /// Ready tasks run in order. So one turn of this task takes a step of each test that is ready; few need more than
    /// ten steps.
    private static let otherTests = Task {
        for _ in 0..<500 { await Task.yield() }
    }

    private let minutes: Int
    private let isLong: Bool

    /// Nested suites inherit the trait.
    package var isRecursive: Bool { true }

    /// Two heaps for all threads of the test process, and none for large blocks, as in the program: glibc would make a
    /// heap for each thread, and keep there what tests have freed.
    private static let heaps: Void = {
        mallopt(M_ARENA_MAX, 2)
        mallopt(M_MMAP_THRESHOLD, 640 << 10)
    }()

    fileprivate init(minutes: Int, isLong: Bool) {
        _ = Self.heaps
        (self.minutes, self.isLong) = (minutes, isLong)
    }

    /// Only test cases take slots: a suite that kept one while its tests wait for theirs would block them.
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
        // The tests of a serialized suite come here one after the other: each would wait behind all other tests.
        let isEarly = Self.isSerialized || test.traits.contains { ($0 as? ParallelismLimit)?.isLong == true }
        try await Self.slots.withSlot(isEarly: isEarly) {
            try await Self.$hasSlot.withValue(true) { try await limitingTime(of: test, function) }
        }
    }

    /// Cancels `function` and reports an issue once the time is over.
    private func limitingTime(of test: Test, _ function: @Sendable () async throws -> Void) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await function() }
                tasks.addTask {
                    try await Task.sleep(for: .seconds(60 * minutes))
                    Issue.record(
                        "Time limit was exceeded: \(minutes) minutes after the start",
                        sourceLocation: test.sourceLocation)
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
    ///   - minutes: The time limit of a test case. It ends tests that hang; no test should come near it.
    ///   - isLong: Whether it takes so many seconds that it should begin before other tests.
    package static func limitedParallelism(minutes: Int = 5, isLong: Bool = false) -> Self {
        ParallelismLimit(minutes: minutes, isLong: isLong)
    }
}
