import BotState
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// How CouchDB is queried for related documents, and what happens if it does not answer.
@Suite(.limitedParallelism) struct RelatedQueryTests {
    private static let headers = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]
    private static let information =
        #"{"instance_start_time":"1795208634","db_name":"todo","purge_seq":"0-g1","update_seq":"11-g1AAAACb","doc_count":2}"#
    private static let related =
        #"[{"related":{"selector":{"list":{"jq":"._id"}},"limit":LIMIT,"then":[{"merge":{"seen":true}}]}}]"#

    /// A task with the id `t1` has changed. Its related documents are `a` and `b`.
    private func run(
        limit: Int = 100, _ find: @escaping @Sendable (TestRequest, Int) -> ScriptedServer.Answer,
        _ check: (ScriptedServer, RunCounters, [DeadLetter]) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer(information: Self.information, headers: Self.headers) { request, number in
                switch request.path {
                case "/todo/_changes":
                    let row =
                        #"{"seq":"7-g1","id":"t1","changes":[{"rev":"1-a"}],"doc":{"_id":"t1","_rev":"1-a","type":"task"}}"#
                    return .init(
                        headers: Self.headers,
                        body: "{\"results\":[\n\(number == 0 ? row : "")\n],\n\"last_seq\":\"11-g1\",\"pending\":0}\n")
                case "/todo/_find": return find(request, number)
                case "/todo/_all_docs": return Self.documents(request)
                default:
                    let ids = ScriptedServer.ids(in: request).map { #"{"ok":true,"id":"\#($0)","rev":"2-b"}"# }
                    return .init(status: 201, headers: Self.headers, body: "[\(ids.joined(separator: ","))]")
                }
            }
            let then = Self.related.replacingOccurrences(of: "LIMIT", with: "\(limit)")
            let (counters, deadLetters) = try await server.runOnce(directory, then: then)
            try await check(server, counters, deadLetters)
        }
    }

    private static func documents(_ request: TestRequest) -> ScriptedServer.Answer {
        let all = ["a", "b", "other", "t1"]
        let keys = (try? JSONText(request.body).root["keys"]?.elements.compactMap { $0.string })
        let isBody = request.target.contains("include_docs")
        // The list ends after its first page.
        let ids = keys ?? (request.target.contains("startkey") ? ["t1"] : all)
        let rows = ids.map { id in
            let list = ["a", "b"].contains(id) ? #","list":"t1""# : ""
            let body = isBody ? #","doc":{"_id":"\#(id)","_rev":"1-a"\#(list)}"# : ""
            return #"{"id":"\#(id)","key":"\#(id)","value":{"rev":"1-a"}\#(body)}"#
        }
        return .init(headers: headers, body: #"{"rows":[\#(rows.joined(separator: ","))]}"#)
    }

    private static func found(_ ids: [String], more: String = "") -> ScriptedServer.Answer {
        let docs = ids.map { #"{"_id":"\#($0)"}"# }.joined(separator: ",")
        return .init(headers: headers, body: #"{"docs":[\#(docs)],"bookmark":"g1AAA"\#(more)}"#)
    }

    private func written(_ server: ScriptedServer) -> [[String]] {
        server.requests("/todo/_bulk_docs").map { ScriptedServer.ids(in: $0) }
    }

    @Test func queryRequestsIDsByTheSelector() async throws {
        try await run { _, _ in
            Self.found(["a", "t1", "b"])
        } _: { server, counters, _ in
            let asked = server.requests("/todo/_find").map { String(decoding: $0.body, as: UTF8.self) }
            #expect(asked == [#"{"selector":{"list":"t1"},"fields":["_id"],"limit":5000}"#])
            #expect(written(server) == [["a", "b"]])
            #expect(counters.written == 2)
        }
    }

    /// An index may lag, and other documents may change at the same time.
    @Test func foundDocumentsAreMatchedAgain() async throws {
        try await run { _, _ in
            Self.found(["a", "other", "gone"])
        } _: { server, _, _ in
            #expect(written(server) == [["a"]])
        }
    }

    @Test func fullPageIsFollowedByTheNext() async throws {
        try await run(limit: 6000) { _, number in
            number == 0 ? Self.found((0..<4999).map { "x\($0)" } + ["a"]) : Self.found(["b"])
        } _: { server, _, _ in
            let asked = server.requests("/todo/_find").map { String(decoding: $0.body, as: UTF8.self) }
            #expect(asked.map { $0.contains(#""bookmark":"g1AAA""#) } == [false, true])
            #expect(Set(written(server).joined()) == ["a", "b"])
        }
    }

    @Test func tooManyResultsAreADeadLetterBeforeAnyWrite() async throws {
        try await run(limit: 1) { _, _ in
            Self.found(["a", "b"])
        } _: { server, _, deadLetters in
            #expect(written(server).isEmpty)
            #expect(deadLetters.map(\.id) == ["t1"])
            #expect(deadLetters.first?.reason.contains("than the limit of 1 allows") == true)
        }
    }

    /// Without queries, all documents are read.
    @Test(arguments: [
        (400, #"{"error":"invalid_operator","reason":"Invalid operator: $x"}"#),
        (403, #"{"error":"forbidden","reason":"no"}"#), (404, #"{"error":"not_found","reason":"missing"}"#),
        (405, #"{"error":"method_not_allowed","reason":"Only GET,HEAD allowed"}"#),
    ])
    func refusedQueryIsReplacedByReadingAll(status: Int, body: String) async throws {
        try await run { _, _ in
            .init(status: status, headers: Self.headers, body: body)
        } _: { server, counters, _ in
            #expect(written(server) == [["a", "b"]])
            #expect(server.requests("/todo/_find").count == 1)
            #expect(counters.deadLetters == 0)
        }
    }

    @Test func failedQueryIsRetried() async throws {
        try await run { _, number in
            number == 0
                ? .init(status: 503, headers: Self.headers, body: #"{"error":"service_unavailable","reason":"later"}"#)
                : Self.found(
                    ["a", "b"], more: #","warning":"No matching index found, create an index to optimize query time.""#)
        } _: { server, counters, _ in
            #expect(written(server) == [["a", "b"]])
            #expect(counters.traffic.retries == 1)
        }
    }
}
