internal import Foundation

/// How many threads wanted a processor, on average of a minute.
struct MachineLoad {
    private let atStart = Self.now

    private static var now: Double {
        var load = 0.0
        getloadavg(&load, 1)
        return load
    }

    var text: String {
        let numbers = [atStart, Self.now].map { $0.formatted(decimals: 1, width: 1) }
        return "\(ProcessInfo.processInfo.activeProcessorCount) processors; load \(numbers[0]) at the start, "
            + "\(numbers[1]) at the end"
    }
}
