import Glibc
internal import Locking

/// A program that a test starts. Its input is a pipe that stays open and empty until ``endInput(with:)``. It is killed
/// when this object is released.
///
/// Uses `posix_spawn`, because LeakSanitizer finds leaks in Foundation's `Process` (Swift 6.3).
package final class ChildProcess: Sendable {
    /// Its process id; may belong to another process once ``wait()`` has returned.
    package let id: Int32
    private let output: Int32
    /// Nil after it is closed.
    private let input: Monitor<Int32?>
    private let status = Monitor<Int32?>(nil)

    /// - Parameters:
    ///   - arguments: The path of the program (`PATH` is not searched) and its arguments.
    ///   - environment: Variables added in front of this process's own.
    ///   - errors: The file for its standard error; created or truncated.
    ///   - isInputNonBlocking: Reading from its empty standard input fails.
    /// - Throws: ``TestServerError`` if a pipe or the process can't be made.
    package init(
        _ arguments: [String], environment: [String: String] = [:], errors: String = "/dev/null",
        isInputNonBlocking: Bool = false
    ) throws {
        var (inputEnds, outputEnds): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard pipe(&inputEnds) == 0, pipe(&outputEnds) == 0 else { throw TestServerError(call: "pipe") }
        // Concurrently started child processes must not inherit them and keep them open.
        for end in inputEnds + outputEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        if isInputNonBlocking { _ = fcntl(inputEnds[0], F_SETFL, O_NONBLOCK) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, inputEnds[0], 0)
        posix_spawn_file_actions_adddup2(&actions, outputEnds[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        Self.closeInherited(&actions)
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var settings: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") }
        let ownSettings = settings.count
        var inherited = environ
        while let setting = inherited.pointee {
            settings.append(setting)
            inherited += 1
        }
        settings.append(nil)
        var id = pid_t()
        let result = posix_spawn(&id, arguments[0], &actions, nil, &words, &settings)
        posix_spawn_file_actions_destroy(&actions)
        for word in words + settings.prefix(ownSettings) { free(word) }
        close(inputEnds[0])
        close(outputEnds[1])
        guard result == 0 else {
            close(inputEnds[1])
            close(outputEnds[0])
            errno = result
            throw TestServerError(call: "posix_spawn")
        }
        (self.id, input, output) = (id, Monitor(inputEnds[1]), outputEnds[0])
    }

    /// Prevents the child from inheriting anything else. NIO's sockets are inheritable, and a port would stay in use.
    private static func closeInherited(_ actions: inout posix_spawn_file_actions_t) {
        typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        // Available from glibc 2.34, but not in the headers as Swift reads them.
        guard let function = dlsym(dlopen(nil, RTLD_NOW), "posix_spawn_file_actions_addclosefrom_np") else { return }
        _ = unsafeBitCast(function, to: AddCloseFrom.self)(&actions, 3)
    }

    deinit {
        kill()
        endInput(with: "")
        close(output)
    }

    /// Writes a short text to its standard input, then closes it.
    package func endInput(with text: String) {
        input.with { input in
            guard let end = input else { return }
            _ = Glibc.write(end, text, text.utf8.count)
            close(end)
            input = nil
        }
    }

    /// The next line of its standard output, without the line feed; nil at the end. An unfinished last line is dropped.
    package func readLine() async -> String? { await onNewThread { self.blockForLine() } }

    /// All output until it closes its standard output.
    package func readToEnd() async -> [UInt8] {
        await onNewThread {
            var bytes: [UInt8] = []
            while case let part = self.blockForOutput(upTo: 64 << 10), !part.isEmpty { bytes += part }
            return bytes
        }
    }

    /// Waits until it has ended; returns its exit code, or the negated number of the signal that ended it.
    @discardableResult package func wait() async -> Int32 { await onNewThread { self.blockUntilEnd() } }

    /// Sends SIGTERM and waits until it has ended. Returns the same as ``wait()``.
    @discardableResult package func stop() async -> Int32 {
        signal(SIGTERM)
        return await wait()
    }

    /// Sends SIGKILL and blocks until it has ended.
    package func kill() {
        signal(SIGKILL)
        blockUntilEnd()
    }

    /// Does nothing once the process has been waited for.
    package func signal(_ number: Int32) {
        // Under the lock: after a process was waited for, its id may belong to another process.
        status.with { if $0 == nil { _ = Glibc.kill(id, number) } }
    }

    /// Stops all its threads with SIGSTOP. Blocks until none of them runs, or until it has ended.
    ///
    /// The signal alone is too early: a thread that waits for a processor runs on until it takes part in the stop.
    package func suspend() {
        signal(SIGSTOP)
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WSTOPPED | WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    /// Undoes ``suspend()``.
    package func resume() { signal(SIGCONT) }

    /// Whether it has ended, even if it was not waited for.
    package var hasEnded: Bool {
        var information = siginfo_t()
        let result = waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT | WNOHANG)
        return result < 0 || information.si_signo == SIGCHLD
    }

    // MARK: - Blocking calls

    /// The next bytes it prints, at most `count`; empty at the end.
    func blockForOutput(upTo count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = Glibc.read(output, &bytes, count)
        return Array(bytes[..<max(0, got)])
    }

    func blockForLine() -> String? {
        var line: [UInt8] = []
        while let byte = blockForOutput(upTo: 1).first {
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    @discardableResult func blockUntilEnd() -> Int32 {
        // Without the lock, so that signals can be sent during the wait.
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return status.with { status in
            if let status { return status }
            var raw: Int32 = 0
            while waitpid(id, &raw, 0) < 0, errno == EINTR {}
            let ended = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : -(raw & 0x7F)
            status = ended
            return ended
        }
    }
}
