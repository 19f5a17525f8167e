import Glibc

/// A program started by a test, with nothing on its input and its output to be read; it dies with this object.
///
/// `posix_spawn` and not Foundation's `Process`, which LeakSanitizer finds to leak (Swift 6.3).
package final class ChildProcess: Sendable {
    package let id: Int32
    private let output: Int32
    private let input: Int32
    private let status = Monitor<Int32?>(nil)

    /// - Parameters:
    ///   - arguments: The path of the program and what it is called with.
    ///   - environment: Set beside, and before, what this process has in its own.
    ///   - errors: The file that gets what it writes to standard error.
    package init(
        _ arguments: [String], environment: [String: String] = [:], errors: String = "/dev/null"
    ) throws {
        var (inputEnds, outputEnds): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard pipe(&inputEnds) == 0, pipe(&outputEnds) == 0 else { throw TestServerError(call: "pipe") }
        // Others started meanwhile must not hold them open.
        for end in inputEnds + outputEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, inputEnds[0], 0)
        posix_spawn_file_actions_adddup2(&actions, outputEnds[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
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
            throw TestServerError(call: "posix_spawn")
        }
        (self.id, input, output) = (id, inputEnds[1], outputEnds[0])
    }

    deinit {
        kill()
        close(input)
        close(output)
    }

    /// The next line that it prints, without its end; nil if there is none.
    package func readLine() async -> String? { await onThreadOfItsOwn { self.blockForLine() } }

    /// All that it prints until it closes its output.
    package func readToEnd() async -> [UInt8] {
        await onThreadOfItsOwn {
            var bytes: [UInt8] = []
            while case let part = self.blockForOutput(upTo: 64 << 10), !part.isEmpty { bytes += part }
            return bytes
        }
    }

    /// Waits until it has ended; returns its exit code, or minus the signal that ended it.
    @discardableResult package func wait() async -> Int32 { await onThreadOfItsOwn { self.blockUntilEnd() } }

    /// Asks it to end (SIGTERM), and waits until it has.
    @discardableResult package func stop() async -> Int32 {
        signal(SIGTERM)
        return await wait()
    }

    /// Ends it at once, without a farewell.
    package func kill() {
        signal(SIGKILL)
        blockUntilEnd()
    }

    /// Sends it a signal.
    package func signal(_ number: Int32) {
        // Under the lock: the number of a process that was waited for may be another's.
        status.with { if $0 == nil { _ = Glibc.kill(id, number) } }
    }

    // MARK: - For threads that may block

    /// Some of what it has printed; empty at the end.
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
        // Without the lock, so that it can be sent signals meanwhile.
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
