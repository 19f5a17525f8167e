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

    /// Runs a program to its end. Its output is discarded.
    init(of arguments: [String]) throws {
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id = pid_t()
        let began = ContinuousClock.now
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        guard posix_spawn(&id, arguments[0], &actions, nil, &words, environ) == 0 else {
            throw BenchmarkError("can't start \(arguments[0])")
        }
        var status: Int32 = 0
        var usage = rusage()
        wait4(id, &status, 0, &usage)
        wall = (ContinuousClock.now - began).inSeconds
        processor = [usage.ru_utime, usage.ru_stime].reduce(0.0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
        var own = rusage()
        getrusage(Int32(RUSAGE_SELF.rawValue), &own)
        peakMemory = usage.ru_maxrss > own.ru_maxrss ? usage.ru_maxrss << 10 : nil
        waits = usage.ru_nvcsw
        preemptions = usage.ru_nivcsw
        self.status = status
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
