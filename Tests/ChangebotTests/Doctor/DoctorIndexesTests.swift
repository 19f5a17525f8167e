import Foundation
import GatewayClient
import Locking
import TestKit
import Testing

@testable import changebot

/// The findings of `doctor` about the indexes for related documents.
@Suite(.limitedParallelism) struct DoctorIndexesTests {
    /// - Parameter selectors: In the flow style of YAML.
    private func findings(
        _ url: String, _ selectors: [String] = ["{ type: task, list: { jq: ._id } }"], top: String = ""
    ) async throws -> [Finding] {
        try await Program.withDirectory { folder in
            let rules = selectors.enumerated().map { index, selector in
                "  - { name: r\(index), when: { type: t\(index) }, then: [related: { selector: \(selector), then: [delete: {}] }] }\n"
            }
            let path = folder + "/r.yaml"
            let text = "version: 1\n\(top)rules:\n  - { name: other, when: { a: 1 }, then: [] }\n\(rules.joined())"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let check = RulesCheck([path])
            #expect(check.rules.first?.level == .ok, "\(check.rules)")
            let gateway = Gateway(try GatewayURL(url))
            let info = try await gateway.databaseInfo()
            let found = await IndexesCheck(gateway: gateway, info: info, selectors: check.related).findings()
            await gateway.shutdown()
            return found
        }
    }

    @Test func eachMissingIndexIsAWarning() async throws {
        let (server, createdIndexes) = try FakeCouchDB().start()
        let found = try await findings(
            server.url("/todo"),
            ["{ type: task, list: { jq: ._id } }", "{ _id: { jq: .list } }", "{ type: { $exists: true } }"])
        #expect(found.map(\.level) == [.warning, .warning], "\(found)")
        #expect(found.first?.text.contains("r.yaml:4:") == true, "\(found)")
        #expect(found.first?.text.hasSuffix("no index on type, list, so each change reads all 1,200 documents") == true)
        #expect(found.first?.remedy?.hasPrefix("create it with rules check --make-indexes, or POST {") == true)
        #expect(found.last?.text.contains("rule 'r2': no index can serve") == true, "\(found)")
        #expect(createdIndexes.withLock { $0 } == [])
    }

    @Test func scheduledRulesAreChecked() async throws {
        let (server, _) = try FakeCouchDB().start()
        #expect(
            try await findings(server.url("/todo"), top: "every: \"0 3 * * *\"\n").map(\.level) == [.warning])
    }

    @Test func existingIndexesAreNamed() async throws {
        let (server, _) = try FakeCouchDB(index: "by-list").start()
        #expect(
            try await findings(server.url("/todo"))
                == [.ok("indexes serve the related documents of 1 selector")])
    }

    @Test func missingPermissionForIndexesIsReported() async throws {
        let (server, _) = try FakeCouchDB(refused: "/todo/_explain").start()
        #expect(try await findings(server.url("/todo")).map(\.level) == [.unknown])
    }

    @Test func noIndexCheckWithoutQueriesOrRelatedRules() async throws {
        let (server, _) = try FakeCouchDB().start()
        #expect(try await findings(server.url("/todo"), []).map(\.level) == [.skipped])
        #expect(try await findings(server.url("/todo"), ["{ _id: { jq: .list } }"]).map(\.level) == [.skipped])
        try await Program.withGateway { url async throws in
            #expect(try await findings(url).map(\.level) == [.skipped])
        }
    }
}
