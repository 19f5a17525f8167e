internal import CHelperProcess
internal import Glibc

/// A program that reads what is written to ``input``, and writes its result to a file: a pipe to another program.
///
/// The program gets no environment but `PATH`, `HOME`, `GNUPGHOME`, `TMPDIR` and `LANG`, so that it sees no credentials.
/// It is in a process group of its own, which Ctrl-C at the terminal does not reach. If this process ends, the program
/// reads the end of its input.
package final class OutputFilter {
    /// Write to it, then call ``finish()``.
    package let input: OpenFile
    private let name: String
    private let errors: OpenFile
    private let pid: pid_t
    private var status: Int32?

    private static let environmentNames = ["PATH", "HOME", "GNUPGHOME", "TMPDIR", "LANG"]

    /// - Parameters:
    ///   - program: Its name, searched in `PATH`.
    ///   - output: Where the program writes.
    /// - Throws: ``TransferError``: `.cannotCreate` if the program is not installed or can't be started.
    package init(_ program: String, _ arguments: [String], to output: OpenFile) throws(TransferError) {
        name = program
        errors = try OpenFile(temporaryIn: FileOperations.temporaryDirectory)
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw TransferError(.cannotCreate, "can't start \(program): \(String(cString: strerror(errno)))")
        }
        input = OpenFile(path: program, descriptor: ends[0])
        defer { close(ends[1]) }
        let words = [program] + arguments
        let environment = Self.environmentNames.compactMap { name in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        (pid, status) = try Self.spawn(words, environment, [ends[1], output.descriptor, errors.descriptor])
    }

    deinit {
        guard status == nil else { return }
        kill(pid, SIGKILL)
        wait()
    }

    /// Ends the program's input, and waits until it has written everything.
    ///
    /// - Throws: ``TransferError``: `.cannotWrite` with the program's own message.
    package func finish() throws(TransferError) {
        input.endWriting()
        try check()
    }

    /// Waits for the program's end. Call after a failed write, to learn the reason.
    ///
    /// - Throws: ``TransferError``: `.cannotWrite` if it failed.
    package func check() throws(TransferError) {
        input.endWriting()
        wait()
        guard let status, status != 0 else { return }
        throw TransferError(.cannotWrite, "\(name) failed: \(message ?? "it ended with status \(status >> 8 & 0xff)")")
    }

    private func wait() {
        guard status == nil else { return }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        self.status = status
    }

    /// The last lines that it wrote to its stderr, as one.
    private var message: String? {
        guard (try? errors.seek(to: 0)) != nil, let bytes = try? errors.read(upTo: 4096), !bytes.isEmpty else {
            return nil
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).suffix(3)
        return lines.joined(separator: "; ")
    }

    private static func spawn(
        _ words: [String], _ environment: [String], _ streams: [Int32]
    ) throws(TransferError) -> (pid_t, Int32?) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (stream, descriptor) in streams.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(stream))
        }
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        posix_spawnattr_setpgroup(&attributes, 0)
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        let (arguments, variables) = (words.map { strdup($0) } + [nil], environment.map { strdup($0) } + [nil])
        defer { for word in arguments + variables { free(word) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, words[0], &actions, &attributes, arguments, variables)
        guard result == 0 else {
            let reason = result == ENOENT ? "it is not installed" : String(cString: strerror(result))
            throw TransferError(.cannotCreate, "can't start \(words[0]): \(reason)")
        }
        return (pid, nil)
    }
}
