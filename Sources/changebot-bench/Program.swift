internal import Foundation
internal import LosslessJSON

/// The program that is measured. It must be beside this one.
enum Program {
    static var path: String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("changebot").path
    }

    /// Ends with 66 if a file that is measured with is missing.
    ///
    /// - Parameter files: Relative to the project's folder.
    static func require(_ files: [String]) {
        for file in [path] + files where !FileManager.default.isReadableFile(atPath: file) {
            let remedy = "build with 'swift build -c release', and start in the project's folder"
            FileHandle.standardError.write(Data("changebot-bench: there is no \(file); \(remedy)\n".utf8))
            exit(66)
        }
    }

    static func start(_ arguments: [String], output: Pipe? = nil) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        if let output { process.standardOutput = output }
        try process.run()
        return process
    }

    /// Starts an embedded gateway as a process and makes a directory, both only while `body` runs.
    static func withGateway(_ body: (_ url: String, _ directory: String) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "changebot-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let output = Pipe()
        let gateway = try start(
            [path, "gateway", "--listen", "127.0.0.1:0", "--data", directory + "/todo.sqlite"], output: output)
        defer {
            gateway.terminate()
            gateway.waitUntilExit()
        }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let url = line.split(whereSeparator: \.isWhitespace).last else { throw CocoaError(.executableLoad) }
        try await body(String(url), directory)
    }

    /// The peak of memory in MiB as the program reports it. The kernel's number for a child starts with the parent's
    /// memory.
    static func peakMemory(_ summary: String) -> String {
        (Double(integer("peak_memory", of: summary)) / 1_048_576).formatted(decimals: 1, width: 5)
    }

    /// A number in a summary; 0 if it is missing.
    static func integer(_ member: String, of summary: String) -> Int {
        FileManager.default.contents(atPath: summary).flatMap { SmallJSON($0) }?[member]?.integer ?? 0
    }
}

/// The time that a program takes from start to end.
struct Usage {
    /// In seconds.
    let wall: Double
    /// In seconds, of all its threads.
    let processor: Double
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
            throw CocoaError(.executableLoad)
        }
        var status: Int32 = 0
        var usage = rusage()
        wait4(id, &status, 0, &usage)
        wall = (ContinuousClock.now - began).inSeconds
        processor = [usage.ru_utime, usage.ru_stime].reduce(0.0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
        self.status = status
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
