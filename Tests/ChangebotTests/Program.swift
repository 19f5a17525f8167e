import Foundation
import TestKit
import Testing

/// The program itself, as a user starts it.
enum Program {
    /// Beside the tests' own program.
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

    /// Runs to the end.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Result {
        let errors = NSTemporaryDirectory() + "changebot-errors-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: errors) }
        let process = try ChildProcess([path] + arguments, environment: environment, errors: errors)
        let output = await process.readToEnd()
        let code = await process.wait()
        let text = try String(contentsOfFile: errors, encoding: .utf8)
        return Result(code: code, output: String(decoding: output, as: UTF8.self), errors: text)
    }

    /// A directory of its own for a test, gone afterwards.
    static func withDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let path = NSTemporaryDirectory() + "changebot-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }

    /// `changebot gateway` on a file, ready.
    static func gateway(data: String, port: Int = 0) async throws -> (process: ChildProcess, url: String) {
        let process = try ChildProcess([path, "gateway", "--listen", "127.0.0.1:\(port)", "--data", data])
        let line = try #require(await process.readLine())
        return (process, try #require(line.split(separator: " ").last.map(String.init)))
    }
}
