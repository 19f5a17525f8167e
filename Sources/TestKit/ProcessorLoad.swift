internal import CMalloc
internal import Foundation

/// The load of the machine's processors.
package struct ProcessorLoad {
    /// Ticks since the machine started.
    private var last: (idle: Int, all: Int)?
    private var lowPriority = LowPriorityLoad()

    package init() {}

    /// The share of the time since the last call in which processors were idle, or would have been without processes that
    /// give way.
    ///
    /// - Parameters:
    ///   - stat: The text of `/proc/stat`.
    ///   - yielded: The ticks of processes that give way.
    /// - Returns: Nil at the first call, and if no time has passed.
    /// - Note: Source: proc(5), the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
    package mutating func idleShare(_ stat: String, yielded: Int = 0) -> Double? {
        let line = stat.prefix { $0 != "\n" }
        let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { Int($0) }
        guard line.hasPrefix("cpu "), ticks.count == 8 else { return nil }
        let now = (idle: ticks[3] + ticks[4], all: ticks.reduce(0, +))
        defer { last = now }
        guard let last, now.all > last.all else { return nil }
        return min(1, Double(now.idle - last.idle + yielded) / Double(now.all - last.all))
    }

    /// The idle share of this machine; also nil without `/proc/stat`.
    mutating func idleShare() -> Double? {
        let yielded = lowPriority.ticks()
        return (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)).flatMap { idleShare($0, yielded: yielded) }
    }
}

/// The number of test slots: higher while processors are idle, because tests then wait for servers and clocks, and lower
/// while the process takes much memory.
package struct SlotCount {
    /// In bytes. A test may need 100 MB more.
    package static let maxMemory = 800 << 20

    private let range: ClosedRange<Int>
    /// The current number.
    package private(set) var value: Int

    /// From two to fourteen per processor, starting with five.
    package init(processors: Int) {
        range = 2 * processors...14 * processors
        value = 5 * processors
    }

    /// Adapts the number to the share of idle processor time: by one, or up by two above a tenth.
    ///
    /// - Parameter memory: What the process takes, in bytes. Above ``maxMemory``, the number falls by two.
    package mutating func adapt(toIdleShare share: Double, memory: Int) {
        guard memory <= Self.maxMemory else {
            value = max(value - 2, range.lowerBound)
            return
        }
        if share > 0.05 { value = min(value + (share > 0.1 ? 2 : 1), range.upperBound) }
        if share < 0.02 { value = max(value - 1, range.lowerBound) }
    }
}

/// Returns freed memory of tests to the system: glibc keeps free memory between used blocks.
struct FreedMemory {
    /// Checking all blocks takes several milliseconds.
    private static let minGrowth = 64 << 20
    private var last = 0

    /// Returns memory if the process has grown since the last time.
    mutating func giveBackIfGrown() {
        guard let resident = Self.residentBytes else { return }
        last = min(last, resident)
        guard resident >= last + Self.minGrowth else { return }
        malloc_trim(0)
        last = Self.residentBytes ?? resident
    }

    /// Nil without `/proc`.
    ///
    /// - Note: Source: proc(5), the second number of `/proc/self/statm`, in pages.
    static var residentBytes: Int? {
        let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return text?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * Int(getpagesize()) }
    }
}
