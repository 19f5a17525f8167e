internal import CJQ

/// The number of processors that this process and its children may use.
enum MachineProcessors {
    /// The smaller of the limits of the scheduler and of this process's control groups, but at least 1.
    ///
    /// - Note: Source: `sched_getaffinity(2)`; `cgroups(7)`; `cpu.max` (version 2), `cpu.cfs_quota_us` (version 1).
    static let count: Int = {
        let quotas = ControlGroups.folders(of: ControlGroups.ofThisProcess, "cpu").compactMap(quota)
        return max(1, (quotas + [Int(cjq_allowed_processors())]).min() ?? 1)
    }()

    /// The maximum number of helper processes: one for each processor, if there is memory for them. Two even on one
    /// processor, so that a hanging program does not block the others.
    ///
    /// - Parameters:
    ///   - processors: The number of usable processors.
    ///   - memory: Bytes of memory of the machine and the control groups.
    ///   - memoryLimit: Bytes that the programs in one helper may use. All helpers may use half of the memory.
    static func helpers(processors: Int, memory: Int, memoryLimit: Int) -> Int {
        max(2, min(processors, helperLimit, memory / 2 / max(memoryLimit, 1)))
    }

    private static let helperLimit = 8

    private static func quota(_ folder: ControlGroups.Folder) -> Int? {
        guard !folder.isUnified else { return ControlGroups.text(of: "\(folder.path)/cpu.max").flatMap { quota($0) } }
        guard let time = ControlGroups.text(of: "\(folder.path)/cpu.cfs_quota_us"),
            let period = ControlGroups.text(of: "\(folder.path)/cpu.cfs_period_us")
        else { return nil }
        return quota("\(time) \(period)")
    }

    /// Whole processors, rounded up. Nil without a limit.
    ///
    /// - Parameter text: As in `cpu.max`: the time per period and the period, such as `150000 100000`. `max` and -1
    ///   mean no limit.
    static func quota(_ text: String) -> Int? {
        let numbers = text.split { $0 == " " || $0 == "\n" }.map { Int($0) ?? 0 }
        guard numbers.count == 2, numbers.allSatisfy({ $0 > 0 }) else { return nil }
        return (numbers[0] - 1) / numbers[1] + 1
    }
}
