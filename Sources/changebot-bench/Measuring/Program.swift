internal import Foundation
internal import LosslessJSON

/// The program that is measured. It must be beside this one.
enum Program {
    static var path: String {
        URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("changebot").path
    }

    /// The path of this program.
    static var own: String { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path }

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

    /// - Parameter environment: What differs from this process's own.
    static func start(
        _ arguments: [String], output: Pipe? = nil, environment: [String: String] = [:]
    ) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let output { process.standardOutput = output }
        try process.run()
        return process
    }

    /// A new folder, which the caller removes.
    static func makeDirectory() throws -> String {
        let directory = NSTemporaryDirectory() + "changebot-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        return directory
    }

    /// Starts an embedded gateway as a process and makes a directory, both only while `body` runs.
    static func withGateway(_ body: (_ url: String, _ directory: String) async throws -> Void) async throws {
        let directory = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (gateway, url) = try startGateway(in: directory)
        defer { stop(gateway) }
        try await body(url, directory)
    }

    /// Starts an embedded gateway with an empty database as a process.
    static func startGateway(in directory: String) throws -> (process: Process, url: String) {
        let output = Pipe()
        let gateway = try start(
            [path, "gateway", "--listen", "127.0.0.1:0", "--data", directory + "/todo.sqlite"], output: output)
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let url = line.split(whereSeparator: \.isWhitespace).last else {
            stop(gateway)
            throw BenchmarkError("the embedded gateway does not start")
        }
        return (gateway, String(url))
    }

    /// Asks a process to end, and waits for that.
    static func stop(_ process: Process) {
        process.terminate()
        process.waitUntilExit()
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
