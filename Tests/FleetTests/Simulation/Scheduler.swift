import Fleet
import Locking
import TestKit

/// Runs the jobs of all members on the thread that calls ``run(until:)``, in a random order that its seed decides, in
/// virtual time. Time passes only when no job is ready.
///
/// Everything happens on that one thread, so nothing here is locked.
final class Scheduler: @unchecked Sendable {
    /// Something that happens at a time.
    private struct Timer {
        var at: Duration
        /// Orders timers of the same time at random.
        var order: UInt64
        var body: () -> Void
    }

    private(set) var now = Duration.zero
    private(set) var steps = 0
    /// A hash of all steps and times so far: equal if two runs were equal.
    private(set) var trace: UInt64 = 0xcbf2_9ce4_8422_2325
    var random: SplitMix64
    private var ready: [(executor: SimulatedExecutor, job: UnownedJob)] = []
    private var timers: [Timer] = []

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    // MARK: Random values

    func chance(_ probability: Double) -> Bool { fraction() < probability }

    func fraction() -> Double { Double(random.next() >> 11) * 0x1p-53 }

    func time(_ from: Double, _ to: Double) -> Duration {
        .nanoseconds(Int64((from + (to - from) * fraction()) * 1_000_000_000))
    }

    // MARK: Jobs and timers

    func enqueue(_ job: UnownedJob, on executor: SimulatedExecutor) { ready.append((executor, job)) }

    func at(_ time: Duration, _ body: @escaping () -> Void) {
        timers.append(Timer(at: max(time, now), order: random.next(), body: body))
        var child = timers.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            timers.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    func after(_ time: Duration, _ body: @escaping () -> Void) { at(now + time, body) }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        timers[left].at == timers[right].at
            ? timers[left].order < timers[right].order : timers[left].at < timers[right].at
    }

    private func popTimer() -> Timer {
        let first = timers[0]
        let last = timers.removeLast()
        guard !timers.isEmpty else { return first }
        timers[0] = last
        var parent = 0
        while true {
            var least = 2 * parent + 1
            guard least < timers.count else { return first }
            if least + 1 < timers.count, isBefore(least + 1, least) { least += 1 }
            guard isBefore(least, parent) else { return first }
            timers.swapAt(parent, least)
            parent = least
        }
    }

    /// Runs until `isOver`, or nothing is left to do.
    func run(until isOver: () -> Bool) {
        while !isOver() {
            steps += 1
            if !ready.isEmpty {
                let index = Int(random.next() % UInt64(ready.count))
                ready.swapAt(index, ready.count - 1)
                let (executor, job) = ready.removeLast()
                mix(UInt64(executor.number))
                executor.run(job)
            } else {
                guard !timers.isEmpty else { return }
                let timer = popTimer()
                if timer.at != now {
                    now = timer.at
                    mix(UInt64(truncatingIfNeeded: now.components.attoseconds))
                }
                timer.body()
            }
        }
    }

    private func mix(_ value: UInt64) { trace = (trace ^ value) &* 0x100_0000_01b3 }
}

/// The threads of one member. While it is stopped, its jobs wait.
final class SimulatedExecutor: TaskExecutor, @unchecked Sendable {
    let number: Int
    private let scheduler: Scheduler
    private var held: [UnownedJob] = []
    /// As by SIGSTOP.
    var isStopped = false {
        didSet {
            guard !isStopped else { return }
            for job in held { scheduler.enqueue(job, on: self) }
            held = []
        }
    }

    init(_ scheduler: Scheduler, number: Int) { (self.scheduler, self.number) = (scheduler, number) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isStopped { held.append(job) } else { scheduler.enqueue(job, on: self) }
    }

    func run(_ job: UnownedJob) {
        if isStopped { held.append(job) } else { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Virtual time with its own origin.
struct SimulatedClock: FleetClock {
    let scheduler: Scheduler
    /// How far this clock is ahead.
    let offset: Duration

    var now: Duration { scheduler.now + offset }

    func sleep(until deadline: Duration) async throws {
        try await wait(for: Signal(), until: deadline)
    }

    func wait(for signal: Signal, until deadline: Duration?) async throws {
        guard let deadline else { return try await signal.wait() }
        final class Wait: @unchecked Sendable { var isOver = false }
        let wait = Wait()
        scheduler.at(deadline - offset) { if !wait.isOver { signal.raise() } }
        defer { wait.isOver = true }
        try await signal.wait()
    }
}
