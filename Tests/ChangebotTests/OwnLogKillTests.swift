import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// `run --role auto` without an engine is killed again and again, after another number of documents each time.
@Suite(.limitedParallelism) struct OwnLogKillTests {
    private static let rules = """
        version: 1
        rules:
          - name: done
            when: { type: task, done: { $exists: false } }
            then:
              - put: { id: { jq: '"log." + ._id' }, document: { type: log } }
              - merge: { done: true }
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]
        """
    private static let rounds = 12
    private static let tasks = 60

    @Test func nothingIsLostOrDoneTwice() async throws {
        try await Program.withDirectory { folder in
            try await Program.withGateway { url in
                try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: folder + "/rules.yaml"))
                let phone = Gateway(try GatewayURL(url))
                let state = ["--state", folder + "/state"]
                let run = ["run", "--gateway", url, "--rules", folder + "/rules.yaml", "--log-level", "error"] + state
                var names: [DocumentID] = []
                var random = SplitMix64(seed: 7)
                for round in 0..<Self.rounds {
                    let process = try ChildProcess([Program.path] + run + ["--role", "auto"])
                    let new = (0..<Self.tasks).map { DocumentID("t\(round)-\($0)") }
                    names += new
                    try await load(phone, new.map { ($0, "task") } + [(DocumentID("broken\(round)"), "broken")])
                    // The first kill comes before anything is read.
                    if round > 0 { try await untilDone(Array(new.prefix(random.below(Self.tasks))), phone) }
                    process.kill()
                    _ = await process.wait()
                }
                let process = try ChildProcess([Program.path] + run + ["--role", "auto"])
                try await untilDone(names, phone)
                func letters() async throws -> Int {
                    try await Program.run(["dead-letters", "export"] + state).output.split(separator: "\n").count
                }
                while try await letters() < Self.rounds { try await Task.sleep(for: .milliseconds(50)) }
                #expect(await process.stop() == 0)
                for name in names {
                    #expect(try await revision(name, phone)?.hasPrefix("2-") == true, "\(name)")
                    #expect(
                        try await revision(DocumentID("log.\(name)"), phone)?.hasPrefix("1-") == true, "log.\(name)")
                }
                // Without a log it has nothing left to do.
                let summary = folder + "/summary.json"
                #expect(try await Program.run(run + ["--once", "--summary", summary]).code == 0)
                let text = try JSONText(Array(try Data(contentsOf: URL(fileURLWithPath: summary))))
                #expect(text.root["written"]?.integer == 0 && text.root["dead_letters"]?.integer == 0)
                #expect(try await letters() == Self.rounds)
                await phone.shutdown()
            }
        }
    }

    @Test(arguments: ["reader", "worker"]) func otherRolesNeedAnEngine(_ role: String) async throws {
        let result = try await Program.run(
            ["run", "--gateway", "http://127.0.0.1:1/todo", "--rules", Program.pictureRules, "--role", role])
        #expect(result.code == 64)
        #expect(result.errors.contains("--role \(role) is for one of several processes"), "\(result.errors)")
    }

    private func load(_ phone: Gateway, _ documents: [(DocumentID, String)]) async throws {
        _ = try await phone.bulkDocs(
            documents.map { id, type in
                BulkDocument(id: id, segments: [Array(#"{"_id":"\#(id)","type":"\#(type)"}"#.utf8)])
            })
    }

    private func untilDone(_ names: [DocumentID], _ phone: Gateway) async throws {
        for name in names {
            while try await revision(name, phone)?.hasPrefix("1-") != false {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func revision(_ id: DocumentID, _ phone: Gateway) async throws -> String? {
        guard case .found(let revision, _)? = try await phone.allDocs(keys: [id]).first else { return nil }
        return revision.text
    }
}
