internal import Foundation

/// The processor time of running programs.
enum ProcessorTime {
    /// User and system time in seconds of processes and all their descendants, since their start.
    ///
    /// - Note: Source: `proc_pid_stat(5)`, fields 4 and 14 to 17.
    static func seconds(of roots: [Int32]) -> Double {
        var parents: [Int32: Int32] = [:]
        var ticks: [Int32: Int] = [:]
        for id in ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap({ Int32($0) }) {
            guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let end = text.lastIndex(of: ")")
            else { continue }
            // The name is followed by the state, which is field 3.
            let fields = text[end...].dropFirst().split(separator: " ")
            guard fields.count > 14 else { continue }
            parents[id] = Int32(fields[1])
            ticks[id] = fields[11...14].reduce(0) { $0 + (Int($1) ?? 0) }
        }
        var (total, next) = (0, roots)
        while let id = next.popLast() {
            total += ticks[id] ?? 0
            next += parents.filter { $0.value == id }.map(\.key)
        }
        return Double(total) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
