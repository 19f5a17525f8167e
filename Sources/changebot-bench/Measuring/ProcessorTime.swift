internal import Foundation

/// The processor time of running programs.
enum ProcessorTime {
    private struct Entry {
        let parent: Int32
        /// With that of its children that have ended.
        let ticks: Int
    }

    /// User and system time in seconds, since they started, of processes and all that they have started.
    ///
    /// - Note: Source: `proc_pid_stat(5)`, fields 4 and 14 to 17.
    static func seconds(of roots: [Int32]) -> Double {
        let all = entries
        var ticks = 0
        var next = roots
        while let id = next.popLast() {
            ticks += all[id]?.ticks ?? 0
            next += all.filter { $0.value.parent == id }.map(\.key)
        }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Without that of the processes that it has started.
    static var secondsOfThisProcess: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// All processes of the machine.
    private static var entries: [Int32: Entry] {
        let ids = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
        return Dictionary(uniqueKeysWithValues: ids.compactMap { id in entry(id).map { (id, $0) } })
    }

    private static func entry(_ id: Int32) -> Entry? {
        guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        // Behind the name: the state, which is field 3.
        let fields = text[end...].dropFirst().split(separator: " ")
        guard fields.count > 14, let parent = Int32(fields[1]) else { return nil }
        return Entry(parent: parent, ticks: fields[11...14].reduce(0) { $0 + (Int($1) ?? 0) })
    }
}
