internal import Glibc

/// How much memory this process and its children may have together.
enum MachineMemory {
    /// Bytes: the smallest of what the machine has and what the control groups of this process allow.
    ///
    /// - Note: Source: `cgroups(7)`; `memory.max` (version 2), `memory.limit_in_bytes` (version 1).
    static let limit: Int = {
        let (machine, overflow) = sysconf(Int32(_SC_PHYS_PAGES))
            .multipliedReportingOverflow(by: sysconf(Int32(_SC_PAGESIZE)))
        let limits = groupFiles(text(of: "/proc/self/cgroup") ?? "").compactMap { text(of: $0).flatMap(bytes) }
        return (limits + (overflow || machine <= 0 ? [] : [machine])).min() ?? .max
    }()

    /// The share of one of several child processes, which must leave room for this one.
    static func share(of wanted: Int) -> Int { min(wanted, max(limit / 4, 128 << 20)) }

    /// The files with the limits of a process's control groups and of their parents.
    ///
    /// - Parameter groups: The content of `/proc/self/cgroup`.
    static func groupFiles(_ groups: String) -> [String] {
        groups.split(separator: "\n").flatMap { line -> [String] in
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return [] }
            if parts[1].isEmpty { return files("/sys/fs/cgroup", parts[2], "memory.max") }
            guard parts[1].split(separator: ",").contains("memory") else { return [] }
            return files("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes")
        }
    }

    private static func files(_ root: String, _ group: Substring, _ name: String) -> [String] {
        var folder = root
        var files = ["\(root)/\(name)"]
        for part in group.split(separator: "/") {
            folder += "/" + part
            files.append("\(folder)/\(name)")
        }
        return files
    }

    /// Nil for `max`: no limit.
    static func bytes(_ text: String) -> Int? { Int(text.prefix { $0.isASCII && $0.isNumber }) }

    private static func text(of file: String) -> String? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
