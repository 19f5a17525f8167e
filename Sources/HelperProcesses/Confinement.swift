internal import CHelperProcess
internal import Glibc

/// The restrictions that a helper process sets for itself before it runs a program.
package enum Confinement {
    /// Removes rights that no program needs: afterwards the process can't open files or sockets, write files, or dump
    /// core. Returns false if the system refuses.
    ///
    /// - Parameter memory: Bytes of address space in addition to the current size of the process.
    package static func apply(memory: Int) -> Bool {
        preferKillingThisProcess()
        let size = addressSpace() + max(memory, 0)
        return limit(RLIMIT_AS, size) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0)
            && chelper_harden_process() && limit(RLIMIT_NOFILE, 0)
    }

    /// If memory runs out, the kernel kills this process before its parent, which costs only one call.
    private static func preferKillingThisProcess() {
        let file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        _ = write(file, "1000", 4)
    }

    /// Sets a limit, at most the current hard limit, which can't be raised.
    private static func limit(_ resource: __rlimit_resource, _ value: Int) -> Bool {
        let resource = __rlimit_resource_t(resource.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return false }
        let value = min(rlim_t(value), limit.rlim_max)
        limit = rlimit(rlim_cur: value, rlim_max: value)
        return setrlimit(resource, &limit) == 0
    }

    /// The first number of `/proc/self/statm`, in bytes; 0 if it can't be read.
    private static func addressSpace() -> Int {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(file, &buffer, buffer.count)
        guard count > 0 else { return 0 }
        let pages = Int(String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)) ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
