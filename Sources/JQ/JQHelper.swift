internal import CJQ
internal import Glibc
internal import Locking

/// The helper process that runs jq programs: this executable, started again under another name.
package enum JQHelper {
    /// The name of the process, by which it knows its purpose.
    static let processName = "changebot-jq"

    private static let hostsItself = Locked(false)

    /// To be called first in `main`. In a helper process, serves until its input ends and never returns.
    package static func serveIfAsked() {
        guard CommandLine.arguments.first == processName else {
            hostsItself.withLock { $0 = true }
            return
        }
        var server = ProgramServer()
        server.serve()
    }

    /// The executable to start: this one if it calls ``serveIfAsked()``, else `changebot` beside it (as for the test
    /// runner).
    static var executablePath: String? {
        if hostsItself.withLock({ $0 }) { return "/proc/self/exe" }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0, let slash = buffer[..<count].lastIndex(of: CChar(bitPattern: UInt8(ascii: "/"))) else {
            return nil
        }
        return String(decoding: buffer[...slash].map { UInt8(bitPattern: $0) }, as: UTF8.self) + "changebot"
    }
}

/// The limits of a helper process.
struct ProcessLimits {
    /// Processor time of one call.
    var deadline: Duration
    /// Bytes of the outputs of one call.
    var output: Int
    /// Bytes of address space beyond what the process has at its start.
    var memory: Int

    /// Removes what no program needs: from here on the process can't open files or sockets, write files, or dump core.
    /// False if the system refuses.
    func apply() -> Bool {
        Self.volunteer()
        let size = Self.addressSpace() + max(memory, 0)
        return Self.limit(RLIMIT_AS, size) && Self.limit(RLIMIT_CORE, 0) && Self.limit(RLIMIT_FSIZE, 0)
            && cjq_harden_process() && Self.limit(RLIMIT_NOFILE, 0)
    }

    /// If memory runs out, the kernel kills this process before its parent: that costs one call.
    private static func volunteer() {
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
