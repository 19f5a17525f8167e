internal import CAllocationCounter
internal import Glibc

/// What one piece of work cost: medians of several runs.
struct Measurement {
    /// Processor time, because other work on the machine affects it less.
    let seconds: Double
    let allocations: Int

    /// Runs `body` once to warm up, then `runs` times.
    init(runs: Int = 5, _ body: () -> Void) {
        body()
        var seconds: [Double] = []
        var allocations: [Int] = []
        for _ in 0..<runs {
            let allocationsBefore = allocation_counter_count()
            let start = Self.processorTime()
            body()
            seconds.append(Self.processorTime() - start)
            allocations.append(Int(allocation_counter_count() - allocationsBefore))
        }
        self.seconds = seconds.sorted()[runs / 2]
        self.allocations = allocations.sorted()[runs / 2]
    }

    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Uses a result, so that the optimiser does not remove the work.
@inline(never)
func blackHole<Value>(_ value: Value) {}

extension Double {
    /// The number with so many decimals, right-aligned to `width` characters.
    func formatted(decimals: Int, width: Int) -> String {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int((magnitude * scale).rounded())
        var text = String(scaled / Int(scale))
        if decimals > 0 {
            let fraction = String(scaled % Int(scale))
            text += "." + String(repeating: "0", count: decimals - fraction.count) + fraction
        }
        if self < 0 { text = "-" + text }
        return text.leftPadded(to: width)
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
