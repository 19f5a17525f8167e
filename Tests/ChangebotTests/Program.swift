import EmbeddedGateway
import Foundation
import Logging
import TestKit
import Testing

/// The program itself, as a user starts it.
enum Program {
    /// In the folder of the tests' own program.
    static let path: String = {
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appendingPathComponent("changebot").path
    }()

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    static var rules: String { root + "/rules" }

    static var pictureRules: String { rules + "/attach-images.yaml" }

    struct Result {
        let code: Int32
        let output: String
        let errors: String
    }

    /// Repeats a command until its result shows what another process does meanwhile. There is no event for that; the time
    /// limit of the suite ends it.
    @discardableResult
    static func run(_ arguments: [String], until isSeen: (Result) -> Bool) async throws -> Result {
        while true {
            let result = try await run(arguments)
            if isSeen(result) { return result }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Runs the program to its end.
    ///
    /// - Parameters:
    ///   - launcher: A program that starts it, and the arguments before the program's path.
    ///   - path: The path of another program.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], launcher: [String] = [], path: String = path
    ) async throws -> Result {
        let errors = NSTemporaryDirectory() + "changebot-errors-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: errors) }
        let process = try ChildProcess(launcher + [path] + arguments, environment: environment, errors: errors)
        let output = await process.readToEnd()
        let code = await process.wait()
        let text = try String(contentsOfFile: errors, encoding: .utf8)
        return Result(code: code, output: String(decoding: output, as: UTF8.self), errors: text)
    }

    /// Calls `body` with a new directory, which is deleted afterwards.
    static func withDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let path = NSTemporaryDirectory() + "changebot-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }

    /// Runs a gateway in this process while `body` runs: it starts sooner than `changebot gateway`, which
    /// ``GatewayCommandTests`` test.
    ///
    /// - Parameters:
    ///   - data: Its file; nil: it keeps everything in memory.
    ///   - users: The configuration, as for `--config`; `faults` is that for `--faults`. Both are JSON.
    static func withGateway<Result>(
        data: String? = nil, port: Int = 0, users: String? = nil, faults: String? = nil,
        _ body: (_ url: String) async throws -> Result
    ) async throws -> Result {
        var logger = Logger(label: "gateway")
        logger.logLevel = .critical
        var configuration = EmbeddedGateway.Configuration(
            storage: data.map { .file($0) } ?? .memory, port: port, logger: logger)
        if let users {
            configuration.users = try EmbeddedGateway.Users.parse(Array(users.utf8), database: configuration.database)
        }
        if let faults { configuration.faults = try FaultPlan.parse(Array(faults.utf8)) }
        let gateway = EmbeddedGateway(configuration)
        let url = try await gateway.start().url
        let result: Result
        do { result = try await body(url) } catch {
            await gateway.stop()
            throw error
        }
        await gateway.stop()
        return result
    }
}

extension ChildProcess {
    /// The number of bytes that it has read, from files and all other sources.
    ///
    /// - Note: Source: proc(5), `rchar` of `/proc/PID/io`.
    var bytesRead: Int {
        let counts = (try? String(contentsOfFile: "/proc/\(id)/io", encoding: .utf8)) ?? ""
        let line = counts.split(separator: "\n").first { $0.hasPrefix("rchar: ") }
        return line.flatMap { Int($0.dropFirst("rchar: ".count)) } ?? 0
    }

    /// Whether the process has a handler for a signal.
    ///
    /// - Note: Source: proc(5), `SigCgt` of `/proc/PID/status`.
    func catches(_ signal: Int32) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:\t") }
        let caught = line.flatMap { UInt64($0.dropFirst("SigCgt:\t".count), radix: 16) } ?? 0
        return caught >> UInt64(signal - 1) & 1 == 1
    }

    /// Whether a thread of the process waits in poll(2) for standard input.
    ///
    /// - Note: Source: proc(5), `syscall` of `/proc/PID/task/TID`, with the call's number and arguments, and
    ///   `/proc/PID/mem`, where the first argument points to the descriptor that it waits for.
    var waitsForInput: Bool {
        #if arch(x86_64)
            let call = "7"
        #else
            // The number of ppoll(2); this architecture has no poll(2).
            let call = "73"
        #endif
        let tasks = "/proc/\(id)/task"
        return ((try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []).contains { task in
            let text = (try? String(contentsOfFile: "\(tasks)/\(task)/syscall", encoding: .utf8)) ?? ""
            let words = text.split(separator: " ")
            guard words.count > 2, words[0] == call, words[2] == "0x1",
                let place = off_t(words[1].dropFirst("0x".count), radix: 16)
            else { return false }
            let memory = open("/proc/\(id)/mem", O_RDONLY | O_CLOEXEC)
            guard memory >= 0 else { return false }
            defer { close(memory) }
            var descriptor: Int32 = -1
            return pread(memory, &descriptor, 4, place) == 4 && descriptor == STDIN_FILENO
        }
    }

    /// Polls every few milliseconds until something that has no event can be seen of the process.
    ///
    /// - Throws: If the process has ended before.
    func waitUntil(_ isSeen: () -> Bool) async throws {
        while !isSeen() {
            try #require(!hasEnded, "the process has ended before")
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Whether it has ended, but its exit code was not yet collected.
    ///
    /// - Note: Source: proc(5), the state in `/proc/PID/stat`.
    private var hasEnded: Bool {
        let facts = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
        return facts.split(separator: ")").last?.hasPrefix(" Z") ?? true
    }

    /// Whether the process has a file open whose path ends with `end`.
    func hasOpen(_ end: String) -> Bool {
        let files = "/proc/\(id)/fd/"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []
        return names.contains {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: files + $0))?.hasSuffix(end) == true
        }
    }
}
