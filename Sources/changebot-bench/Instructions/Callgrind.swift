internal import Foundation

/// Counts the instructions of this program under `valgrind --tool=callgrind`. They hardly vary between runs, even on a
/// busy machine.
struct Callgrind {
    static let path = "/usr/bin/valgrind"

    /// Disables what depends on the machine or on chance: the seed of hashes, and functions of glibc and OpenSSL for
    /// special processors.
    private static let environment = [
        "SWIFT_DETERMINISTIC_HASHING": "1",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM",
    ]

    private let directory: String
    /// This program without debug information: valgrind 3.19 can't read the DWARF of Swift's compiler.
    private let program: String

    init(directory: String) throws {
        self.directory = directory
        program = directory + "/changebot-bench"
        _ = try Usage(of: ["/usr/bin/env", "strip", "-o", program, Program.own])
    }

    /// The cost of running an item `times` times.
    ///
    /// It is the difference between a process with this number of repetitions and one with twice as many, so that
    /// startup and preparation do not count. Both run concurrently.
    func instructions(of item: WorkItem, times: Int) throws -> Int {
        let logs = try [times, 2 * times].map { times in
            // Separate directories: a process must not read a rule file that the other has only partly written.
            let ownDirectory = "\(directory)/\(item.rawValue)-\(times)"
            try FileManager.default.createDirectory(atPath: ownDirectory, withIntermediateDirectories: true)
            let log = ownDirectory + "/log"
            let process = try Program.start(
                [
                    Self.path, "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=\(log)",
                    program, WorkCommand.name, item.rawValue, String(times), ownDirectory,
                ], environment: Self.environment)
            return (log: log, process: process)
        }
        let counts = try logs.map { log, process in
            process.waitUntilExit()
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            guard process.terminationStatus == 0, let count = Self.collected(text) else {
                throw BenchmarkError("valgrind failed on \(item.rawValue):\n\(text)")
            }
            return count
        }
        return counts[1] - counts[0]
    }

    /// The number in a line such as `==42== Collected : 1234567`.
    private static func collected(_ log: String) -> Int? {
        log.split(separator: "\n").first { $0.contains(" Collected : ") }
            .flatMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    }
}
