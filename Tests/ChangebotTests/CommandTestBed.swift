import BotState
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import changebot

/// A gateway, rules and a state, and the commands that a user runs on them.
struct CommandTestBed {
    let url: String
    let folder: String

    var state: String { folder + "/state" }

    /// Calls `body` with a gateway that has these documents.
    static func with(
        _ documents: [String] = [], rules: String, _ body: (CommandTestBed) async throws -> Void
    ) async throws {
        try await Program.withDirectory { folder in
            try await Program.withGateway { url in
                let bed = CommandTestBed(url: url, folder: folder)
                try bed.write(rules: rules)
                try await bed.put(documents)
                try await body(bed)
            }
        }
    }

    func write(rules: String) throws {
        try Data(("version: 1\nrules:\n" + rules).utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
    }

    /// Writes documents, replacing existing ones.
    func put(_ documents: [String]) async throws {
        try await withGateway { gateway in
            for text in documents {
                let document = try JSONText(text)
                let id = DocumentID(try #require(document.root["_id"]?.string))
                var body = Array(text.utf8)
                if let revision = try await gateway.document(id)?.root["_rev"]?.string {
                    body = Array(#"{"_rev":"\#(revision)","#.utf8) + body.dropFirst()
                }
                try await gateway.put(id, body: body)
            }
        }
    }

    func withGateway<Result>(_ body: (Gateway) async throws -> Result) async throws -> Result {
        let gateway = Gateway(try GatewayURL(url))
        let result: Result
        do { result = try await body(gateway) } catch {
            await gateway.shutdown()
            throw error
        }
        await gateway.shutdown()
        return result
    }

    func document(_ id: DocumentID) async throws -> JSONText? {
        try await withGateway { try await $0.document(id) }
    }

    /// `changebot run --once`.
    @discardableResult
    func runOnce(_ more: String...) async throws -> Program.Result {
        try await Program.run(
            ["run", "--once", "--gateway", url, "--rules", folder + "/r.yaml", "--state", state] + more)
    }

    /// `changebot run`, until it is stopped.
    func startDaemon() throws -> ChildProcess {
        try ChildProcess([
            Program.path, "run", "--gateway", url, "--rules", folder + "/r.yaml", "--state", state, "--log-level",
            "error",
        ])
    }

    /// Waits in the gateway's feed until a document is ready.
    func wait(for id: DocumentID, _ isReady: (JSONValue) -> Bool) async throws {
        try await withGateway { gateway in
            var since = SequenceID.start
            while true {
                if let document = try await gateway.document(id), isReady(document.root) { return }
                var answer = try await gateway.changes(
                    ChangesRequest(since: since, feed: .longpoll(timeout: .seconds(60))))
                while try await answer.next() != nil {}
                since = answer.lastSequence ?? since
            }
        }
    }

    /// Waits for several documents, and returns them.
    func wait(for ids: [DocumentID], _ isReady: (JSONValue) -> Bool) async throws -> [JSONText] {
        try await withGateway { gateway in
            var since = SequenceID.start
            while true {
                let found = try await gateway.allDocs(keys: ids).compactMap { lookup in
                    if case .found(_, let document) = lookup { document } else { nil }
                }
                if found.count == ids.count, found.allSatisfy({ isReady($0.root) }) { return found }
                var answer = try await gateway.changes(
                    ChangesRequest(since: since, feed: .longpoll(timeout: .seconds(60))))
                while try await answer.next() != nil {}
                since = answer.lastSequence ?? since
            }
        }
    }

    /// Runs any command on the state.
    func command(_ arguments: String..., name: String = "changebot") async throws -> Program.Result {
        try await Program.run(arguments + ["--state", state, "--name", name])
    }

    /// `changebot dead-letters retry`.
    func retry(_ more: String...) async throws -> Program.Result {
        try await Program.run(
            ["dead-letters", "retry", "--gateway", url, "--rules", folder + "/r.yaml", "--state", state] + more)
    }

    /// The dead letters of the bot's only state, as `dead-letters export` writes them.
    func deadLetters(of name: String = "changebot") throws -> [JSONText] {
        let ledger = try StateCatalogue(directory: state, name: name).openExisting(address: nil, access: .shared)
        defer { ledger.close() }
        return try ledger.deadLetters().map {
            try JSONText(DeadLetterText.json($0))
        }
    }

    func deadLetterIDs() throws -> [String?] { try deadLetters().map { $0.root["id"]?.string } }
}
