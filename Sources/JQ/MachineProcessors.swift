internal import CJQ

/// How many processors this process and its children may use.
enum MachineProcessors {
    /// The smaller of what the scheduler and the control groups of this process allow; at least 1.
    ///
    /// - Note: Source: `sched_getaffinity(2)`; `cgroups(7)`; `cpu.max` (version 2), `cpu.cfs_quota_us` (version 1).
    static let count: Int = {
        let quotas = ControlGroups.folders(of: ControlGroups.ofThisProcess, "cpu").compactMap(quota)
        return max(1, (quotas + [Int(cjq_allowed_processors())]).min() ?? 1)
    }()

    /// How many helper processes to run at most: one for each processor, if there is memory for them. Two even on one
    /// processor, so that a program that hangs does not hold up the others.
    ///
    /// - Parameters:
    ///   - processors: How many may be used.
    ///   - memory: Bytes of memory of machine and control groups.
    ///   - memoryLimit: Bytes that the programs in one helper may take. Together they may take half of the memory.
    static func helpers(processors: Int, memory: Int, memoryLimit: Int) -> Int {
        max(2, min(processors, mostHelpers, memory / 2 / max(memoryLimit, 1)))
    }

    private static let mostHelpers = 8

    private static func quota(_ folder: ControlGroups.Folder) -> Int? {
        guard !folder.isUnified else { return ControlGroups.text(of: "\(folder.path)/cpu.max").flatMap { quota($0) } }
        guard let time = ControlGroups.text(of: "\(folder.path)/cpu.cfs_quota_us"),
            let period = ControlGroups.text(of: "\(folder.path)/cpu.cfs_period_us")
        else { return nil }
        return quota("\(time) \(period)")
    }

    /// Whole processors, rounded up; nil for no limit.
    ///
    /// - Parameter text: As in `cpu.max`: the time that may be used in each period, and the period, such as
    ///   `150000 100000`. `max` and -1 are no limit.
    static func quota(_ text: String) -> Int? {
        let numbers = text.split { $0 == " " || $0 == "\n" }.map { Int($0) ?? 0 }
        guard numbers.count == 2, numbers.allSatisfy({ $0 > 0 }) else { return nil }
        return (numbers[0] - 1) / numbers[1] + 1
    }
}
