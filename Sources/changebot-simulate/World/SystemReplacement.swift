internal import CSimulatedSystem
internal import TestKit

/// Gives this process the scheduler's clock, the seed's random numbers, and the simulated disk.
///
/// This lies beneath the program, so the code under test is exactly the code that users run: `ContinuousClock.now`,
/// `Task.sleep`, `Task {}`, SQLite and Foundation all end in the functions that are replaced.
enum SystemReplacement {
    // Accessed by the only thread.
    nonisolated(unsafe) private static var scheduler = Scheduler(seed: 0)
    nonisolated(unsafe) private static var noteSync: (Int32) -> Void = { _ in }
    nonisolated(unsafe) private static var numbers = SplitMix64(seed: 0)
    nonisolated(unsafe) private static var replacement = csimulated_system()

    /// From now on. Once.
    ///
    /// - Parameter noteSync: Called with the descriptor of each file that is synced.
    static func install(_ scheduler: Scheduler, seed: UInt64, noteSync: @escaping (Int32) -> Void) {
        (self.scheduler, self.noteSync, numbers) = (scheduler, noteSync, SplitMix64(seed: seed))
        replacement = csimulated_system(
            wall_time: { SystemReplacement.scheduler.wallTime },
            uptime: { SystemReplacement.scheduler.uptime },
            sleep: { SystemReplacement.scheduler.sleep($0) },
            random: { SystemReplacement.fill($0, $1) },
            synced: { SystemReplacement.noteSync($0) },
            work: { SystemReplacement.add($0, $1, $2, due: $3) })
        csimulated_system_start(&replacement)
    }

    private static func fill(_ buffer: UnsafeMutableRawPointer?, _ count: Int) {
        let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: count)
        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: numbers.next() >> 32) }
    }

    private static func add(
        _ queue: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
        _ function: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, due: Int64
    ) {
        guard let function else { return }
        scheduler.add(due: due < 0 ? nil : due, queue: queue) { function(context) }
    }
}
