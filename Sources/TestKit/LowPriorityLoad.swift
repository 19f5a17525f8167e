internal import Foundation

/// The processor time of processes that give way to the tests: those that were started by `nice`, or by `chrt --idle`.
package struct LowPriorityLoad {
    /// One process, as `/proc/PID/stat` describes it.
    package struct Process {
        let pid: Int
        /// User and system time, in ticks.
        let ticks: Int
        let givesWay: Bool

        /// Nil for other texts.
        ///
        /// - Note: Source: proc_pid_stat(5). The second member, the name in parentheses, can contain spaces and
        ///   parentheses. After it, members 14 and 15 are the user and the system time, 19 is the nice value, and 41 the
        ///   policy; 5 is `SCHED_IDLE`.
        package init?(_ stat: String) {
            guard let name = stat.lastIndex(of: ")"), let pid = stat.split(separator: " ").first.flatMap({ Int($0) })
            else { return nil }
            let members = stat[name...].split(separator: " ").dropFirst().map { Int($0) }
            guard members.count > 38, let user = members[11], let system = members[12], let nice = members[16] else {
                return nil
            }
            (self.pid, ticks, givesWay) = (pid, user + system, nice > 0 || members[38] == 5)
        }
    }

    /// The ticks of each process at the last call.
    private var last: [Int: Int]?

    package init() {}

    /// The ticks that these processes have used since the last call. The last ones of a process that has ended are missing.
    ///
    /// - Returns: 0 at the first call.
    package mutating func ticks(_ processes: [Process]) -> Int {
        let now = Dictionary(processes.filter(\.givesWay).map { ($0.pid, $0.ticks) }) { $1 }
        defer { last = now }
        guard let last else { return 0 }
        return now.reduce(0) { $0 + max(0, $1.value - last[$1.key, default: 0]) }
    }

    /// Those of this machine; 0 without `/proc`.
    mutating func ticks() -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return ticks(
            names.filter { $0.first?.isNumber == true }.compactMap { name in
                (try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8)).flatMap { Process($0) }
            })
    }
}
