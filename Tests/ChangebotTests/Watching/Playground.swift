import ArgumentParser
import Foundation
import HTTPTransport
import LosslessJSON
import RulePlay
import TestKit
import Testing

@testable import changebot

/// `changebot rules play`, as a user starts it.
struct Playground {
    let process: ChildProcess
    /// The address that it prints.
    let url: String

    /// Returns when the page is served.
    static func start(
        _ arguments: [String], in folder: String, opens: Bool = false, environment: [String: String] = [:]
    ) async throws -> Playground {
        let process = try ChildProcess(
            [Program.path, "rules", "play"] + (opens ? [] : ["--no-open"]) + arguments, environment: environment,
            errors: folder + "/play-errors")
        guard let url = await process.readLine() else {
            throw NoPage(log: (try? String(contentsOfFile: folder + "/play-errors", encoding: .utf8)) ?? "")
        }
        return Playground(process: process, url: url)
    }

    struct NoPage: Error {
        let log: String
    }

    /// Serves a page of this process while `body` runs.
    ///
    /// - Parameters:
    ///   - others: Further rule files.
    ///   - hasLibrary: Whether the page has the editor that Debian installs.
    ///   - documents: The sample documents.
    static func serve(
        _ file: String, others: [String] = [], hasLibrary: Bool, documents: [String] = [],
        _ body: (_ url: String) async throws -> Void
    ) async throws {
        let command = try RulesPlayCommand.parse([file] + others)
        var settings = try command.settings(Environment())
        if !hasLibrary { settings.library = EditorLibrary(folder: file + "-none") }
        for text in documents { settings.samples.add(Sample(try JSONText(text), origin: "test")) }
        let server = try await PlayServer(settings, host: "127.0.0.1", port: 0)
        do { try await body(server.url) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Sends a request as the page does.
    func ask(_ name: String, _ body: String) async throws -> (status: Int, body: String) {
        let parts = url.split(separator: "#")
        let client = HTTPClient()
        let response = try await client.send(
            HTTPRequest(
                method: "POST", url: "\(parts[0])api/\(name)",
                headers: [("Content-Type", "application/json"), ("X-Changebot-Token", String(parts[1]))],
                body: .bytes(Array(body.utf8))))
        let answer = try await response.body.collect(upTo: 64 << 20)
        await client.shutdown()
        return (response.status, String(decoding: answer, as: UTF8.self))
    }
}
