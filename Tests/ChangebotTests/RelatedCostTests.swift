import Foundation
import Locking
import TestKit
import Testing

/// `rules check --gateway`: what the search for related documents costs.
@Suite(.limitedParallelism) struct RelatedCostTests {
    private static let rules = """
        version: 1
        rules:
          - name: delete-tasks
            on: [delete]
            when: {}
            then:
              - related: { selector: { type: task, taskList.id: { jq: ._id }, n: { $gt: 3 } }, then: [delete: {}] }

        """

    private func check(_ url: String, _ more: String..., rules: String = rules) async throws -> Program.Result {
        try await Program.withDirectory { folder in
            let file = folder + "/r.yaml"
            try Data(rules.utf8).write(to: URL(fileURLWithPath: file))
            return try await Program.run(["rules", "check", file, "--gateway", url] + more)
        }
    }

    private static let index = #"{"index":{"fields":["type","taskList.id","n"]},"name":"changebot-type-taskList.id-n""#

    @Test func missingIndexIsAWarning() async throws {
        let (server, createdIndexes) = try FakeCouchDB().start()
        let result = try await check(server.url("/todo"))
        #expect(result.code == 0)
        #expect(
            result.errors.contains(
                "r.yaml:7:9: warning: rule 'delete-tasks': there is no index on type, taskList.id, n, so each change reads all 1,200 documents; create it with rules check --make-indexes, or POST \(Self.index)} to http://"
            ))
        #expect(result.output.contains("1 rule, no tests: valid, 1 warning"))
        #expect(createdIndexes.withLock { $0 } == [])
        #expect(try await check(server.url("/todo"), "--strict").code == 65)
    }

    @Test func indexIsCreatedOnRequest() async throws {
        let (server, createdIndexes) = try FakeCouchDB().start()
        let result = try await check(server.url("/todo"), "--make-indexes", "--strict")
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.contains("created the index 'changebot-type-taskList.id-n'"))
        #expect(createdIndexes.withLock { $0 } == [Self.index + #","type":"json"}"#])
    }

    @Test func missingPermissionToCreateAnIndexIsReported() async throws {
        let (server, _) = try FakeCouchDB(refused: "/todo/_index").start()
        let result = try await check(server.url("/todo"), "--make-indexes")
        #expect(result.code == 77)
        #expect(result.errors.contains("only an administrator of the database can create an index"))
    }

    @Test func existingIndexIsNamed() async throws {
        let (server, createdIndexes) = try FakeCouchDB(index: "by-list").start()
        let result = try await check(server.url("/todo"), "--make-indexes", "--strict")
        #expect(result.code == 0)
        #expect(result.output.contains("rule 'delete-tasks': uses the index 'by-list'"))
        #expect(createdIndexes.withLock { $0 } == [])
    }

    @Test func serverWithoutQueriesReadsAllDocuments() async throws {
        try await Program.withGateway { url in
            let result = try await check(url)
            #expect(result.code == 0, "\(result.errors)")
            #expect(
                result.output.contains(
                    "Sync Gateway has no queries, so each batch of changes on which the rule fires reads all 0 documents"
                ))
        }
    }

    private static let rulesWithIDs = """
        version: 1
        rules:
          - name: name-members
            when: { type: team }
            then:
              - related: { selector: { _id: { $in: { jq: .members } } }, then: [{ merge: { team: blue } }] }

        """

    private static let readsByID = "r.yaml:6:9: rule 'name-members': reads the related documents by their ids"

    @Test func namedDocumentsNeedNoIndex() async throws {
        let (server, createdIndexes) = try FakeCouchDB().start()
        let result = try await check(server.url("/todo"), "--make-indexes", "--strict", rules: Self.rulesWithIDs)
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.contains(Self.readsByID))
        #expect(createdIndexes.withLock { $0 } == [])
    }

    @Test func namedDocumentsAreNotSearched() async throws {
        try await Program.withGateway { url in
            let result = try await check(url, rules: Self.rulesWithIDs)
            #expect(result.code == 0, "\(result.errors)")
            #expect(result.output.contains(Self.readsByID))
            #expect(!result.output.contains("has no queries"))
        }
    }

    @Test func unreachableGatewayIsAnError() async throws {
        let port = try FreePort.find()
        let result = try await check("http://127.0.0.1:\(port)/todo")
        #expect(result.code == 69)
    }

    @Test func rulesWithoutRelatedDocumentsCostNothing() async throws {
        let result = try await check(
            "http://127.0.0.1:1/todo",
            rules: "version: 1\nrules:\n  - {name: a, when: {b: 1}, then: [{merge: {b: 2}}]}\n")
        #expect(result.code == 0)
        #expect(result.output.contains("no rule has related documents: nothing to check"))
    }

    @Test func makeIndexesNeedsAGateway() async throws {
        let result = try await Program.run(["rules", "check", "rules", "--make-indexes"])
        #expect(result.code == 64)
        #expect(result.errors.contains("--make-indexes requires --gateway"))
    }
}
