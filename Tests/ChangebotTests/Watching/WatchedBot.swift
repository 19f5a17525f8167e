import Foundation
import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// A bot that serves its page, as a user starts it.
struct WatchedBot {
    let process: ChildProcess
    /// Its address, with a slash at the end.
    let page: String

    /// Returns when the page is served.
    static func start(_ arguments: [String]) async throws -> WatchedBot {
        let process = try ChildProcess(
            [Program.path, "run", "--http", "127.0.0.1:0"] + arguments, errors: "/dev/stdout")
        var log = ""
        while let line = await process.readLine() {
            log += line + "\n"
            guard let page = line.firstMatch(of: /url=(http:\S+\/)/)?.output.1 else { continue }
            // The bot would block if its log were not read.
            Task { await process.readToEnd() }
            return WatchedBot(process: process, page: String(page))
        }
        throw NoPage(log: log)
    }

    struct NoPage: Error {
        let log: String
    }

    func get(_ path: String = "") async throws -> (status: Int, body: String) {
        try await Self.get(page + path)
    }

    static func get(_ url: String) async throws -> (status: Int, body: String) {
        let client = HTTPClient()
        let response = try await client.send(HTTPRequest(url: url))
        let body = try await response.body.collect(upTo: 8 << 20)
        await client.shutdown()
        return (response.status, String(decoding: body, as: UTF8.self))
    }

    /// Reads the events of the page until one contains all of these texts.
    func wait(for texts: String...) async throws {
        let client = HTTPClient()
        let response = try await client.send(HTTPRequest(url: page + "events"))
        var events = ""
        for try await piece in response.body {
            events += String(decoding: piece, as: UTF8.self)
            guard let last = events.ranges(of: "event: status").last else { continue }
            let event = events[last.lowerBound...]
            if event.contains("\n\n"), texts.allSatisfy({ event.contains($0) }) { break }
            if event.contains("\n\n") { events = "" }
        }
        await client.shutdown()
    }
}

extension CommandTestBed {
    /// A bot on this gateway, these rules and this state.
    func watchedBot(_ more: [String] = []) async throws -> WatchedBot {
        try await WatchedBot.start(
            ["--gateway", url, "--rules", folder + "/r.yaml", "--state", state] + more)
    }
}
