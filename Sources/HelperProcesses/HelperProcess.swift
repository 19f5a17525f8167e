internal import CHelperProcess
internal import Glibc
package import Locking

/// A helper process, and the socket to it. Used by one thread.
package final class HelperProcess {
    let pid: Int32
    /// Non-blocking. The other end is the standard input and output of the process.
    let socket: Int32
    private let register: Locked<Set<Int32>>

    /// - Parameters:
    ///   - purpose: The purpose of the process.
    ///   - register: Holds the id of the process while it runs.
    /// - Throws: ``HelperNotStarted``.
    package init(_ purpose: HelperPurpose, register: Locked<Set<Int32>>) throws(HelperNotStarted) {
        self.register = register
        guard let path = HelperPurpose.executablePath else {
            throw HelperNotStarted(reason: "the executable's path is unknown")
        }
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw HelperNotStarted(reason: Self.text(errno))
        }
        defer { close(ends[1]) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        do throws(HelperNotStarted) { pid = try Self.spawn(path, purpose, ends[1]) } catch {
            close(ends[0])
            throw error
        }
        socket = ends[0]
        _ = register.withLock { [pid] in $0.insert(pid) }
    }

    /// Kills the process and waits until it has ended, which takes milliseconds.
    deinit {
        close(socket)
        kill(pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        _ = register.withLock { [pid] in $0.remove(pid) }
    }

    /// User and system time of all its threads since its start; nil once it has been waited for.
    ///
    /// - Note: Source: `clock_getcpuclockid(3)`.
    package var processorTime: Duration? {
        var (clock, time) = (clockid_t(), timespec())
        guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Waits until the process has ended, and returns the signal that ended it; nil if it exited by itself.
    ///
    /// - Precondition: It is ending: its end of the socket is closed.
    var endingSignal: Int32? {
        let signal = chelper_ending_signal(pid)
        return signal == 0 ? nil : signal
    }

    private static func spawn(
        _ path: String, _ purpose: HelperPurpose, _ end: Int32
    ) throws(HelperNotStarted) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The process gets a new process group: Ctrl-C at the terminal must not reach it.
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        posix_spawnattr_setpgroup(&attributes, 0)
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)

        let name = strdup(purpose.processName)
        defer { free(name) }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, path, &actions, &attributes, [name, nil], [nil])
        guard result == 0 else { throw HelperNotStarted(reason: "\(path): \(text(result))") }
        return pid
    }

    private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}

/// No helper process could be started.
package struct HelperNotStarted: Error {
    /// The system's message.
    package let reason: String
}
