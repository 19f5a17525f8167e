import Foundation
import Locking
import TestKit
import Testing

/// `rules check --gateway`: what the search for related documents costs.
@Suite(.timeLimit(.minutes(5))) struct RelatedCostTests {
    private static let rules = """
        version: 1
        rules:
          - name: delete-tasks
            on: [delete]
            when: {}
            then:
              - related: { selector: { type: task, taskList.id: { jq: ._id }, n: { $gt: 3 } }, then: [delete: {}] }

        """

    /// A CouchDB with 1,200 documents. Nil for the index: it has none.
    private func couch(index: String?, refuses: Bool = false) throws -> (server: TestServer, made: Locked<[String]>) {
        let made = Locked<[String]>([])
        let headers = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]
        let server = try TestServer { connection in
            try connection.serve { request in
                switch String(request.target.prefix { $0 != "?" }) {
                case "/todo/":
                    try connection.answer(
                        headers: headers,
                        body: #"{"db_name":"todo","update_seq":"7-g1","doc_count":1200,"instance_start_time":"1"}"#)
                case "/todo/_explain":
                    let name = index ?? "_all_docs"
                    try connection.answer(
                        headers: headers,
                        body:
                            #"{"dbname":"todo","index":{"ddoc":null,"name":"\#(name)","type":"json","def":{"fields":[{"type":"asc"}]}}}"#
                    )
                case "/todo/_index" where refuses:
                    try connection.answer(
                        401, headers: headers,
                        body: #"{"error":"unauthorized","reason":"You are not a db or server admin."}"#)
                case "/todo/_index":
                    made.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
                    try connection.answer(headers: headers, body: #"{"result":"created","id":"_design/x","name":"x"}"#)
                default:
                    try connection.answer(404, headers: headers, body: #"{"error":"not_found","reason":"missing"}"#)
                }
            }
        }
        return (server, made)
    }

    private func check(_ url: String, _ more: String..., rules: String = rules) async throws -> Program.Result {
        try await Program.withDirectory { folder in
            let file = folder + "/r.yaml"
            try Data(rules.utf8).write(to: URL(fileURLWithPath: file))
            return try await Program.run(["rules", "check", file, "--gateway", url] + more)
        }
    }

    private static let index = #"{"index":{"fields":["type","taskList.id","n"]},"name":"changebot-type-taskList.id-n""#

    @Test func aMissingIndexIsAWarning() async throws {
        let (server, made) = try couch(index: nil)
        let result = try await check(server.url("/todo"))
        #expect(result.code == 0)
        #expect(
            result.errors.contains(
                "r.yaml:7:9: rule 'delete-tasks': there is no index on type, taskList.id, n, so each change reads all 1,200 documents; add --make-indexes, or post \(Self.index)} to http://"
            ))
        #expect(result.output.contains("1 rule, no tests: valid, 1 warning"))
        #expect(made.withLock { $0 } == [])
        #expect(try await check(server.url("/todo"), "--strict").code == 65)
    }

    @Test func itIsMadeOnRequest() async throws {
        let (server, made) = try couch(index: nil)
        let result = try await check(server.url("/todo"), "--make-indexes", "--strict")
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.contains("made the index 'changebot-type-taskList.id-n'"))
        #expect(made.withLock { $0 } == [Self.index + #","type":"json"}"#])
    }

    @Test func whoMayNotMakeItIsTold() async throws {
        let (server, _) = try couch(index: nil, refuses: true)
        let result = try await check(server.url("/todo"), "--make-indexes")
        #expect(result.code == 77)
        #expect(result.errors.contains("an index is made by an administrator of the database"))
    }

    @Test func anIndexThatIsThereIsNamed() async throws {
        let (server, made) = try couch(index: "by-list")
        let result = try await check(server.url("/todo"), "--make-indexes", "--strict")
        #expect(result.code == 0)
        #expect(result.output.contains("rule 'delete-tasks': uses the index 'by-list'"))
        #expect(made.withLock { $0 } == [])
    }

    @Test func withoutQueriesAllDocumentsAreRead() async throws {
        try await Program.withGateway { url in
            let result = try await check(url)
            #expect(result.code == 0, "\(result.errors)")
            #expect(
                result.output.contains(
                    "Sync Gateway has no queries, so each batch of changes on which the rule fires reads all 0 documents"
                ))
        }
    }

    @Test func aGatewayThatIsAwayIsAnError() async throws {
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
