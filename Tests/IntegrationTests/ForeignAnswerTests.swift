import DocumentFlow
import GatewayClient
import LosslessJSON
import Revisions
import TestKit
import Testing

/// A misconfigured caching proxy, or a broken gateway, answers with other revisions than those that were requested.
@Suite(.limitedParallelism) struct ForeignAnswerTests {
    private static func server(_ texts: [String]) throws -> ScriptedServer {
        try ScriptedServer { request, _ in
            guard request.path == "/todo/_bulk_get" else { return nil }
            let parts = texts.map { "--x\r\nContent-Type: application/json\r\n\r\n\($0)\r\n" }
            return .init(headers: ["Content-Type: multipart/mixed; boundary=x"], body: parts.joined() + "--x--\r\n")
        }
    }

    private static func reader(_ server: ScriptedServer) throws -> RevisionsReader {
        let gateway = Gateway(try GatewayURL(server.server.url("/todo")))
        return RevisionsReader(
            gateway: gateway, contact: GatewayContact(settings: RetryPolicy.Settings(), logger: BotTestBed.logger))
    }

    /// The same revision of two documents, of which one was requested.
    @Test(arguments: [
        [#"{"_id":"foreign","_rev":"1-a"}"#], [#"{"_id":"foreign","_rev":"1-a"}"#, #"{"_id":"own","_rev":"1-a"}"#],
    ])
    func revisionOfAForeignDocumentIsNotTaken(answer: [String]) async throws {
        let server = try Self.server(answer)
        let found = try await Self.reader(server).revisions(["1-a"], of: "own")
        #expect(found.mapValues { $0.root["_id"]?.string } == (answer.count > 1 ? ["1-a": "own"] : [:]))
    }

    @Test(arguments: [
        (#"{"_id":"foreign","_rev":"1-a"}"#, "the gateway answered with another document"),
        (#"{"_id":"own","_rev":"2-b"}"#, "the gateway answered with another revision, 2-b"),
    ])
    func requestedRevisionIsUnreadableWithTheReason(text: String, reason: String) async throws {
        let server = try Self.server([text])
        var answers: [String] = []
        try await Self.reader(server).read([BulkGetKey(id: "own", revision: RevisionID("1-a"))]) { answer in
            switch answer {
            case .revision(_, let key): answers.append("\(key.id.text) taken")
            case .unreadable(let key, let reason): answers.append("\(key.id.text): \(reason)")
            }
        }
        #expect(answers == ["own: \(reason)"])
    }
}
