internal import Glibc

/// The memory limit of this process and its children together.
enum MachineMemory {
    /// Bytes: the minimum of the machine's memory and the limits of this process's control groups.
    ///
    /// - Note: Source: `cgroups(7)`; `memory.max` (version 2), `memory.limit_in_bytes` (version 1).
    static let limit: Int = {
        let (machine, overflow) = sysconf(Int32(_SC_PHYS_PAGES))
            .multipliedReportingOverflow(by: sysconf(Int32(_SC_PAGESIZE)))
        let limits = groupFiles(ControlGroups.ofThisProcess).compactMap { ControlGroups.text(of: $0).flatMap(bytes) }
        return (limits + (overflow || machine <= 0 ? [] : [machine])).min() ?? .max
    }()

    /// The memory limit of one of several child processes, which must leave room for this process.
    static func share(of wanted: Int) -> Int { min(wanted, max(limit / 4, 128 << 20)) }

    /// The files with the limits of a process's control groups and their parents.
    ///
    /// - Parameter groups: The content of `/proc/self/cgroup`.
    static func groupFiles(_ groups: String) -> [String] {
        ControlGroups.folders(of: groups, "memory").map { folder in
            folder.path + (folder.isUnified ? "/memory.max" : "/memory.limit_in_bytes")
        }
    }

    /// Nil for `max`: no limit.
    static func bytes(_ text: String) -> Int? { Int(text.prefix { $0.isASCII && $0.isNumber }) }
}

/// The control groups of this process, whose limits also apply to its children.
enum ControlGroups {
    struct Folder: Equatable {
        let path: String
        /// Whether it belongs to version 2, where one tree has all controllers.
        let isUnified: Bool
    }

    /// The content of `/proc/self/cgroup`. Empty if the file does not exist.
    static var ofThisProcess: String { text(of: "/proc/self/cgroup") ?? "" }

    /// The folders of a process's groups for one controller, with their parents.
    ///
    /// - Parameter groups: The content of `/proc/self/cgroup`.
    static func folders(of groups: String, _ controller: String) -> [Folder] {
        groups.split(separator: "\n").flatMap { line -> [Folder] in
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return [] }
            if parts[1].isEmpty {
                return chain("/sys/fs/cgroup", parts[2]).map { Folder(path: $0, isUnified: true) }
            }
            guard parts[1].split(separator: ",").contains(Substring(controller)) else { return [] }
            return chain("/sys/fs/cgroup/\(controller)", parts[2]).map { Folder(path: $0, isUnified: false) }
        }
    }

    private static func chain(_ root: String, _ group: Substring) -> [String] {
        group.split(separator: "/").reduce(into: [root]) { $0.append("\($0[$0.count - 1])/\($1)") }
    }

    /// The first 4 KiB of a file. Nil if it can't be read or is empty.
    static func text(of file: String) -> String? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
