import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import Rules
@testable import changebot

/// Warnings of `rules check --gateway` and `doctor` about rules that the database does not support.
@Suite(.limitedParallelism) struct DatabaseCompatibilityTests {
    private static let rules = """
        version: 1
        rules:
          - name: a
            when: { type: task }
            then:
              - put: { id: total, document: { type: total } }
              - put: { id: "t:total", document: { type: total } }
              - put: { document: { _id: ":x", type: total } }
              - put: { id: { jq: '"total-" + .list' }, document: { type: total } }
              - put: { id: { jq: '"t:" + .list' }, document: { type: total } }
              - put: { id: { jq: '._id + "-copy"' }, document: { type: copy } }
              - put: { document: { jq: '{_id: .list, type: "copy"}' } }
              - put: { id: total, keyspace: other, document: { type: total } }
              - related: { selector: { _id: { jq: .list } }, then: [put: { id: found, document: {} }, expire: 5d] }
              - expire: 30d
          - name: b
            when: { type: task }
            then:
              - aggregate: { into: counts, document: { type: counts }, count: { n: true } }

        """
    private static let unnamed = [6, 8, 9, 14, 19]
    private static let expiring = [14, 15]

    private func check(_ url: String, _ more: String...) async throws -> Program.Result {
        try await Program.withDirectory { folder in
            let file = folder + "/r.yaml"
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: file))
            return try await Program.run(["rules", "check", file, "--gateway", url] + more)
        }
    }

    /// The lines of the rule file with a warning that contains these words.
    private func lines(_ text: some StringProtocol, with words: String) -> [Int] {
        text.split(separator: "\n").filter { $0.contains(words) }.compactMap { line in
            line.split(separator: "r.yaml:").last?.split(separator: ":").first.flatMap { Int($0) }
        }
    }

    @Test func idsWithoutAPartitionAreWarnedOf() async throws {
        let (server, _) = try FakeCouchDB(isPartitioned: true).start()
        let result = try await check(server.url("/todo"))
        #expect(result.code == 0)
        #expect(lines(result.errors, with: "the database is partitioned") == Self.unnamed, "\(result.errors)")
        #expect(
            result.errors.contains(
                "r.yaml:6:9: warning: rule 'a': the database is partitioned, and the id 'total' has no"))
        #expect(try await check(server.url("/todo"), "--strict").code == 65)
    }

    @Test func unpartitionedDatabasesAcceptAllIDs() async throws {
        let (server, _) = try FakeCouchDB().start()
        #expect(!(try await check(server.url("/todo"))).errors.contains("partitioned"))
    }

    @Test func expiryOnCouchDBIsWarnedOf() async throws {
        let (server, _) = try FakeCouchDB().start()
        let result = try await check(server.url("/todo"))
        #expect(lines(result.errors, with: "documents don't expire on CouchDB") == Self.expiring, "\(result.errors)")
    }

    /// A mapping has no `at`, and is not run.
    @Test func expiryInAMappingHasItsOwnRemedy() async throws {
        let (server, _) = try FakeCouchDB().start()
        try await Program.withDirectory { folder in
            let file = folder + "/m.yaml"
            let mapping = "version: 1\nkind: mapping\nrules:\n  - {name: a, when: {}, then: [expire: 30d]}\n"
            try Data(mapping.utf8).write(to: URL(fileURLWithPath: file))
            let result = try await Program.run(["rules", "check", file, "--gateway", server.url("/todo")])
            #expect(result.errors.contains("so an import rejects the documents of this rule"), "\(result.errors)")
            #expect(!result.errors.contains("'at:'"), "\(result.errors)")
        }
    }

    @Test func importOfAMappingWithExpiryNamesItsRule() async throws {
        let (server, _) = try FakeCouchDB().start()
        try await Program.withDirectory { folder in
            let mapping = "version: 1\nkind: mapping\nrules:\n  - {name: soon, when: {}, then: [expire: 30d]}\n"
            try Data(mapping.utf8).write(to: URL(fileURLWithPath: folder + "/m.yaml"))
            try Data(#"{"_id":"a"}"#.utf8).write(to: URL(fileURLWithPath: folder + "/d.ndjson"))
            let result = try await Program.run(
                ["import", folder + "/d.ndjson", "--map", folder + "/m.yaml", "--gateway", server.url("/todo")])
            #expect(result.code == 1)
            #expect(
                result.errors.contains("remove the action 'expire' of the mapping's rule 'soon', or write the date"),
                "\(result.errors)")
        }
    }

    @Test func doctorReportsIncompatibleDatabases() async throws {
        let (server, _) = try FakeCouchDB(isPartitioned: true).start()
        try await Program.withDirectory { folder in
            let file = folder + "/r.yaml"
            try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: file))
            let writes = try #require(RulesCheck([file]).writes)
            let gateway = Gateway(try GatewayURL(server.url("/todo")))
            let fit = DatabaseCompatibility(gateway: gateway, info: try await gateway.databaseInfo(), writes: writes)
            #expect(lines(fit.idWarnings.map(\.finding).joined(separator: "\n"), with: "partitioned") == Self.unnamed)
            #expect(fit.idFindings(hasRules: true).map(\.level) == Self.unnamed.map { _ in .warning })
            #expect(fit.idFindings(hasRules: false).map(\.level) == [.skipped])
            // A run with such a rule is refused.
            #expect(fit.expiryFindings.map(\.level) == Self.expiring.map { _ in .error })
            await gateway.shutdown()
        }
    }

    private static let puts = """
          - name: copy
            when: { type: order }
            then:
              - put: { id: { jq: '"copy." + ._id' }, keyspace: nope, document: { type: copy } }
          - name: stamp
            when: { type: task, done: { $exists: false } }
            then: [merge: { done: true }]

        """

    @Test func missingKeyspaceOfAPutHoldsBackNoOtherDocument() async throws {
        let documents = (0..<5).flatMap { [#"{"_id":"o\#($0)","type":"order"}"#, #"{"_id":"t\#($0)","type":"task"}"#] }
        try await CommandTestBed.with(documents, rules: Self.puts) { bed in
            let result = try await bed.runOnce()
            #expect(result.code == 1, "\(result.errors)")
            for index in 0..<5 {
                let task = try await bed.document(DocumentID("t\(index)"))
                #expect(task?.root["done"]?.kind == .true)
            }
            #expect(
                result.errors.contains("put by rule 'copy': can't be read: there is no keyspace 'nope' for this user"),
                "\(result.errors)")
        }
    }

    @Test func missingKeyspaceOfAPutIsWarnedOf() async throws {
        try await CommandTestBed.with([], rules: Self.puts) { bed in
            let file = bed.folder + "/r.yaml"
            let result = try await Program.run(["rules", "check", file, "--gateway", bed.url])
            #expect(
                result.errors.contains("r.yaml:6:56: warning: rule 'copy': there is no keyspace 'nope' for this user"),
                "\(result.errors)")
            #expect(result.errors.contains("[no-keyspace]\n"))
            let writes = try #require(RulesCheck([file]).writes)
            try await bed.withGateway { gateway in
                let fit = DatabaseCompatibility(
                    gateway: gateway, info: try await gateway.databaseInfo(), writes: writes)
                let found = await fit.keyspaceFindings(hasRules: true)
                #expect(found.map(\.level) == [.error], "\(found)")
            }
        }
    }
}
