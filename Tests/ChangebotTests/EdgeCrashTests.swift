import BotState
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing

/// The process is killed while edges are processed: none is lost, and a repeated one has the same id, whatever other
/// programs have written in the meantime. A document whose id comes from the edge is created once.
@Suite(.limitedParallelism) struct EdgeCrashTests {
    private static let count = 20

    private static func rules(_ port: Int) -> String {
        """
        version: 1
        rules:
          - name: tell
            when: { type: task, done: true }
            on: [enter, leave]
            remember: [name]
            then:
              - webhook: { url: 'http://127.0.0.1:\(port)/', body: { jq: '[._id, $before.name]' } }
              - put: { id: { jq: '"log." + ._id' }, if_exists: merge, document: { was: { jq: $before.name } } }
              - put: { id: { jq: '"edge." + $change.edge' }, document: { of: { jq: ._id } } }
        """
    }

    /// Writes all documents, or deletes them.
    private static func write(_ phone: Gateway, _ members: String?) async throws {
        let ids = (0..<count).map { DocumentID("t\($0)") }
        let documents = zip(ids, try await phone.allDocs(keys: ids)).map { id, lookup in
            var revision = ""
            if case .found(let found, _) = lookup { revision = #","_rev":"\#(found.text)""# }
            let rest = members.map { #","type":"task",\#($0)"# } ?? #","_deleted":true"#
            return BulkDocument(id: id, segments: [Array(#"{"_id":"\#(id.text)"\#(revision)\#(rest)}"#.utf8)])
        }
        for outcome in try await phone.bulkDocs(documents) {
            guard case .written = outcome else {
                Issue.record("not written: \(outcome)")
                return
            }
        }
    }

    /// The documents that the edges have created.
    private static func edges(_ phone: Gateway) async throws -> [String] {
        var ids: [DocumentID] = []
        var answer = try await phone.changes(ChangesRequest())
        while let batch = try await answer.next() { ids += batch.map(\.id).filter { $0.text.hasPrefix("edge.") } }
        return try await phone.allDocs(keys: ids).map { lookup in
            guard case .found(_, let document) = lookup else { return "none" }
            return document.root["of"]?.string ?? "none"
        }
    }

    @Test(arguments: [
        CrashPoint.decided, .othersWritten, .othersRemembered, .outsideEffectsDone, .recorded, .finished,
        .checkpointSaved,
    ])
    func killedEdgesAreRepeatedWithTheSameID(place: CrashPoint) async throws {
        let seen = Monitor<[String: [String]]>([:])
        let server = try TestServer { connection in
            try connection.serve { request in
                let id = request.values(of: "webhook-id").first ?? ""
                let event = String(decoding: request.body, as: UTF8.self)
                seen.with { $0[event, default: []].append(id) }
                try connection.answer(204)
            }
        }
        try await Program.withDirectory { directory in
            try await Program.withGateway { url in
                try Data(Self.rules(server.port).utf8).write(to: URL(fileURLWithPath: directory + "/rules.yaml"))
                let phone = Gateway(try GatewayURL(url))
                func run(_ environment: [String: String] = [:]) async throws -> Program.Result {
                    try await Program.run(
                        [
                            "run", "--once", "--gateway", url, "--rules", directory + "/rules.yaml", "--state",
                            directory + "/state", "--log-level", "critical",
                        ], environment: environment)
                }
                /// Kills a run, lets other clients write, and runs again.
                func crash(then members: String?) async throws {
                    #expect(try await run(["CHANGEBOT_CRASH_AT": place.rawValue]).code == -SIGKILL)
                    try await Self.write(phone, members)
                    let second = try await run()
                    #expect(second.code == 0, "\(second.errors)")
                }
                try await Self.write(phone, #""done":false,"name":"a""#)
                #expect(try await run().code == 0)
                try await Self.write(phone, #""done":true,"name":"b""#)
                try await crash(then: #""done":true,"name":"c""#)
                try await Self.write(phone, #""done":false,"name":"d""#)
                try await crash(then: nil)
                try await Self.write(phone, #""done":true,"name":"e""#)
                #expect(try await run().code == 0)
                let events = seen.with { $0 }
                for number in 0..<Self.count {
                    // The document entered twice and left once.
                    let entries = events[#"["t\#(number)",null]"#, default: []]
                    let exits = events.filter { $0.key.hasPrefix(#"["t\#(number)",""#) }.values.joined()
                    #expect(Set(entries).count == 2 && entries.count <= 3, "\(events)")
                    #expect(Set(exits).count == 1 && exits.count <= 2, "\(events)")
                }
                let ids = (0..<Self.count).map { "t\($0)" }
                #expect(try await Self.edges(phone).sorted() == (ids + ids + ids).sorted())
                await phone.shutdown()
            }
        }
    }
}
