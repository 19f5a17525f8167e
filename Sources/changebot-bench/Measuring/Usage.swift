internal import Foundation

/// What a program takes from start to end.
struct Usage {
    /// In seconds.
    let wall: Double
    /// User and system time of all its threads, in seconds.
    let processor: Double
    /// The peak of its memory in bytes. Nil if it stays below that of this process: the kernel's number for a child
    /// starts with the parent's memory.
    let peakMemory: Int?
    /// How often its threads waited for something: voluntary context switches.
    let waits: Int
    /// How often the kernel gave the processor to another thread: involuntary context switches.
    let preemptions: Int
    /// As wait(2) has it; 0 if all went well.
    let status: Int32

    /// Wall time and processor time as text.
    ///
    /// The output of the program is discarded.
    static func of(_ arguments: [String]) throws -> String {
        let usage = try Usage(of: arguments)
        return usage.wall.formatted(decimals: 2, width: 6) + " s wall, "
            + usage.processor.formatted(decimals: 2, width: 5) + " s processor"
            + (usage.status == 0 ? "" : ", ended \(usage.status)")
    }

    /// What this process takes while `body` runs. All of its threads count.
    static func ofThisProcess(during body: () async throws -> Void) async throws -> Usage {
        let (before, began) = (ownUsage, ContinuousClock.now)
        try await body()
        let wall = (ContinuousClock.now - began).inSeconds
        return Usage(wall: wall, from: before, to: ownUsage)
    }

    /// What two processes take that began together.
    func beside(_ other: Usage) -> Usage { Usage(self, beside: other) }

    private init(_ one: Usage, beside other: Usage) {
        wall = max(one.wall, other.wall)
        processor = one.processor + other.processor
        peakMemory = nil
        waits = one.waits + other.waits
        preemptions = one.preemptions + other.preemptions
        status = max(one.status, other.status)
    }

    private init(wall: Double, from before: rusage, to after: rusage) {
        self.wall = wall
        processor = Self.processor(after) - Self.processor(before)
        peakMemory = nil
        waits = after.ru_nvcsw - before.ru_nvcsw
        preemptions = after.ru_nivcsw - before.ru_nivcsw
        status = 0
    }

    /// Runs a program to its end. Its output is discarded.
    ///
    /// - Parameters:
    ///   - input: What it reads from stdin, at most some kilobytes. Nil: what this process reads.
    ///   - errors: The file for what it writes to stderr. Nil: where this process writes to.
    init(of arguments: [String], input: String? = nil, errors: String? = nil) throws {
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id = pid_t()
        let began = ContinuousClock.now
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        if let errors {
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        let inputPipe = input.map { input in
            let pipe = Pipe()
            pipe.fileHandleForWriting.write(Data(input.utf8))
            try? pipe.fileHandleForWriting.close()
            return pipe
        }
        if let inputPipe {
            posix_spawn_file_actions_adddup2(&actions, inputPipe.fileHandleForReading.fileDescriptor, STDIN_FILENO)
        }
        guard posix_spawn(&id, arguments[0], &actions, nil, &words, environ) == 0 else {
            throw BenchmarkError("can't start \(arguments[0])")
        }
        var status: Int32 = 0
        var usage = rusage()
        wait4(id, &status, 0, &usage)
        wall = (ContinuousClock.now - began).inSeconds
        processor = Self.processor(usage)
        peakMemory = usage.ru_maxrss > Self.ownUsage.ru_maxrss ? usage.ru_maxrss << 10 : nil
        waits = usage.ru_nvcsw
        preemptions = usage.ru_nivcsw
        self.status = status
    }

    private static var ownUsage: rusage {
        var usage = rusage()
        getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return usage
    }

    private static func processor(_ usage: rusage) -> Double {
        [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }
}

/// Why a benchmark can't measure.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
