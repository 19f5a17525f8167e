internal import Foundation
internal import GatewayClient
internal import LosslessJSON
internal import TestKit

/// A writer that runs concurrently with the bot. It reads a document, changes one member and writes it. If the answer
/// is lost, it reads the document to see whether the write was accepted.
struct SoakWriter {
    private let gateway: Gateway
    private var random: SplitMix64

    /// Logs in as the bot does: as the user of the URL, or else of the environment.
    init(_ url: GatewayURL, seed: UInt64) {
        let environment = ProcessInfo.processInfo.environment
        var settings = GatewaySettings()
        settings.credentials =
            url.userInfo
            ?? environment["CHANGEBOT_USER"].map {
                .basic(user: $0, password: environment["CHANGEBOT_PASSWORD"] ?? "")
            }
        gateway = Gateway(url, settings: settings)
        random = SplitMix64(seed: seed)
    }

    /// Writes all documents as new ones, and retries until each exists.
    func create(_ population: Population) async throws {
        let tasks = (0..<population.documents).map { number in
            (population.id(number), population.body(number, edits: 0))
        }
        let broken = (0..<population.broken).map { number in
            let id = population.brokenID(number)
            return (id, #"{"_id":"\#(id.text)","type":"soak-broken"}"#)
        }
        var missing = tasks + broken
        while !missing.isEmpty {
            for start in stride(from: 0, to: missing.count, by: 500) {
                let part = missing[start..<min(start + 500, missing.count)]
                _ = try? await gateway.bulkDocs(part.map { BulkDocument(id: $0, segments: [Array($1.utf8)]) })
            }
            missing = try await missingDocuments(missing)
        }
    }

    private func missingDocuments(_ documents: [(DocumentID, String)]) async throws -> [(DocumentID, String)] {
        var rest: [(DocumentID, String)] = []
        for start in stride(from: 0, to: documents.count, by: 500) {
            let part = Array(documents[start..<min(start + 500, documents.count)])
            for (document, lookup) in zip(part, try await lookUp(part.map(\.0))) {
                if case .found = lookup { continue }
                rest.append(document)
            }
        }
        return rest
    }

    func lookUp(_ ids: [DocumentID]) async throws -> [DocumentLookup] {
        while true {
            do { return try await gateway.allDocs(keys: ids) } catch {
                guard error.isRetryable else { throw error }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Writes documents once, whatever the outcome.
    func write(_ documents: [BulkDocument]) async throws -> [BulkOutcome] {
        documents.isEmpty ? [] : try await gateway.bulkDocs(documents)
    }

    /// Changes random documents of its own part, one after another, until it is stopped.
    mutating func edit(_ population: Population, part: Int, of parts: Int, counting edits: EditCount) async throws {
        let count = max(1, population.documents / parts)
        while !edits.isStopped {
            let number = min(part * count + Int.random(in: 0..<count, using: &random), population.documents - 1)
            try await edit(population, number, counting: edits)
        }
    }

    /// Retries one edit until it is accepted. No other writer changes this member.
    private func edit(_ population: Population, _ number: Int, counting edits: EditCount) async throws {
        let goal = edits.edits(of: number) + 1
        while true {
            guard case .found(let revision, let document)? = try await lookUp([population.id(number)]).first else {
                throw SoakError("soak-\(number) is gone")
            }
            if document.root["edits"]?.integer == goal { return edits.note(number) }
            let stamp = document.root["stamped"] == nil ? "" : #","stamped":true"#
            let body = population.body(number, edits: goal, rest: #","_rev":"\#(revision.text)"\#(stamp)"#)
            let write = BulkDocument(id: population.id(number), segments: [Array(body.utf8)])
            if case .written? = try? await gateway.bulkDocs([write]).first { return edits.note(number) }
        }
    }
}

struct SoakError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
