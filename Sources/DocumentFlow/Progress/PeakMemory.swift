internal import FoundationEssentials

/// The largest resident set of this process so far.
package enum PeakMemory {
    /// In bytes; 0 if the kernel does not report it.
    ///
    /// - Note: Source: proc(5), `VmHWM` of `/proc/self/status`, in kB.
    package static var bytes: Int {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            return line.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 } ?? 0
        }
        return 0
    }
}
