internal import Foundation

/// The resources of a program from start to end.
struct Usage {
    /// In seconds.
    var wall: Double
    /// User and system time of all its threads, in seconds.
    var processor: Double
    /// How often its threads waited: voluntary context switches.
    var waits: Int

    private init(wall: Duration, _ usage: rusage) {
        self.wall = wall.inSeconds
        processor = [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
        waits = usage.ru_nvcsw
    }

    /// The resources of this process while `body` runs, in all of its threads.
    static func ofThisProcess(during body: () async throws -> Void) async throws -> Usage {
        func now() -> rusage {
            var usage = rusage()
            getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
            return usage
        }
        let (start, began) = (now(), ContinuousClock.now)
        try await body()
        let before = Usage(wall: .zero, start)
        var usage = Usage(wall: ContinuousClock.now - began, now())
        usage.processor -= before.processor
        usage.waits -= before.waits
        return usage
    }

    /// Runs a program to its end. Its output is discarded.
    ///
    /// - Parameter input: The text for stdin, at most a few kilobytes.
    /// - Throws: ``BenchmarkError`` unless the exit status is 0.
    init(of arguments: [String], input: String = "") throws {
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(Data(input.utf8))
        try pipe.fileHandleForWriting.close()
        posix_spawn_file_actions_adddup2(&actions, pipe.fileHandleForReading.fileDescriptor, STDIN_FILENO)
        let began = ContinuousClock.now
        var id = pid_t()
        guard posix_spawn(&id, arguments[0], &actions, nil, &words, environ) == 0 else {
            throw BenchmarkError("can't start \(arguments[0])")
        }
        var status: Int32 = 0
        var usage = rusage()
        wait4(id, &status, 0, &usage)
        self.init(wall: ContinuousClock.now - began, usage)
        if status != 0 { throw BenchmarkError("\(arguments.prefix(2).joined(separator: " ")) failed (\(status))") }
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
