internal import Foundation
internal import LosslessJSON

/// The measured program. It must be in the same folder as this one.
enum Program {
    static let shippedRules = "rules/attach-images.yaml"

    static var path: String {
        URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("changebot").path
    }

    /// The path of this program.
    static var own: String { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path }

    /// Exits with 66 if a required file is missing.
    ///
    /// - Parameter files: Relative to the project's folder.
    static func require(_ files: [String]) {
        for file in [path] + files where !FileManager.default.isReadableFile(atPath: file) {
            let remedy = "build with 'swift build -c release', and start in the project's folder"
            FileHandle.standardError.write(Data("changebot-bench: there is no \(file); \(remedy)\n".utf8))
            exit(66)
        }
    }

    /// - Parameter environment: Variables that differ from this process's environment.
    static func start(_ arguments: [String], environment: [String: String] = [:]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        try process.run()
        return process
    }

    /// Asks a process to end, and waits for its end.
    static func stop(_ process: Process) {
        process.terminate()
        process.waitUntilExit()
    }

    /// Creates a directory that exists while `body` runs.
    static func withDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let directory = NSTemporaryDirectory() + "changebot-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        return try await body(directory)
    }

    static func write(_ text: String, to file: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }
}

/// Why a benchmark can't measure.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Rules with one regular expression each, about the name of a task.
enum RuleFiles {
    /// - Parameter pattern: The pattern as written in JSON.
    /// - Returns: The path of the file.
    static func write(_ count: Int, in directory: String, pattern: (Int) -> String) throws -> String {
        let rules = (0..<count).map { number in
            #"{"name":"r\#(number)","when":{"type":"task","task":{"$regex":"\#(pattern(number))"}},"#
                + #""then":[{"merge":{"found":\#(number)}}]}"#
        }
        return try Program.write(
            #"{"version":1,"rules":[\#(rules.joined(separator: ",\n"))]}"#, to: directory + "/rules.json")
    }

    /// Rules that match nothing, and that the program finds through an index.
    static func words(_ count: Int, in directory: String) throws -> String {
        try write(count, in: directory) { "(?i)^word \($0)$" }
    }

    /// Rules that match nothing, and that the program tries one by one.
    static func patterns(_ count: Int, in directory: String) throws -> String {
        try write(count, in: directory) { "word \($0)\\\\b" }
    }
}
