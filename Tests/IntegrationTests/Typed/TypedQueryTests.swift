import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import TypedDocuments

/// Queries that CouchDB answers itself.
@Suite(.limitedParallelism) struct TypedQueryTests {
    private static let headers = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]
    private static let information =
        #"{"instance_start_time":"1795208634","db_name":"todo","purge_seq":"0-g1","update_seq":"11-g1","doc_count":3}"#

    /// The result of a query for notes with a count, on a server with the notes `a`, `b` and `c`; `c` has no count.
    private func list(
        _ find: @escaping @Sendable (Int) -> ScriptedServer.Answer, _ check: (ScriptedServer, [String]) throws -> Void
    ) async throws {
        let server = try ScriptedServer(information: Self.information, headers: Self.headers) { request, number in
            request.path == "/todo/_find" ? find(number) : Self.documents(request)
        }
        let keyspace = try Keyspace(server.server.url("/todo"))
        var texts: [String] = []
        for try await result in keyspace.documents(matching: #"{"count": {"$gt": 0}}"#, as: Note.self) {
            texts.append(try result.get().text)
        }
        await keyspace.shutdown()
        try check(server, texts)
    }

    private static func documents(_ request: TestRequest) -> ScriptedServer.Answer {
        let keys = (try? JSONText(request.body).root["keys"]?.elements.compactMap { $0.string })
        // The list ends after its first page.
        let ids = keys ?? (request.target.contains("startkey") ? ["c"] : ["a", "b", "c"])
        let rows = ids.map { id in
            let count = id == "c" ? "" : #","count":1"#
            let document = #"{"_id":"\#(id)","_rev":"1-a","type":"note","text":"\#(id)"\#(count)}"#
            return id == "gone"
                ? #"{"key":"gone","error":"not_found"}"#
                : #"{"id":"\#(id)","key":"\#(id)","value":{"rev":"1-a"},"doc":\#(document)}"#
        }
        return .init(headers: headers, body: #"{"rows":[\#(rows.joined(separator: ","))]}"#)
    }

    private static func found(_ ids: [String], bookmark: String = "g1") -> ScriptedServer.Answer {
        let documents = ids.map { #"{"_id":"\#($0)"}"# }.joined(separator: ",")
        return .init(headers: headers, body: #"{"docs":[\#(documents)],"bookmark":"\#(bookmark)"}"#)
    }

    /// The index may lag.
    @Test func queryResultsAreReadAndMatchedAgain() async throws {
        try await list { _ in
            Self.found(["b", "gone", "c"])
        } _: { server, texts in
            #expect(texts == ["b"])
            let asked = server.requests("/todo/_find").map { String(decoding: $0.body, as: UTF8.self) }
            #expect(asked == [#"{"selector":{"count": {"$gt": 0}},"fields":["_id"],"limit":1000}"#])
        }
    }

    @Test func fullPageIsFollowedByTheNext() async throws {
        let page = Array(repeating: "gone", count: 999) + ["a"]
        try await list { number in
            Self.found(number == 0 ? page : ["b"])
        } _: { server, texts in
            #expect(texts == ["a", "b"])
            let bookmarks = try server.requests("/todo/_find").map { try JSONText($0.body).root["bookmark"]?.string }
            #expect(bookmarks == [nil, "g1"])
        }
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_operator","reason":"Invalid operator"}"#),
        (404, #"{"error":"not_found","reason":"missing"}"#), (403, "<html>Forbidden</html>"),
    ])
    func allDocumentsAreReadWithoutQueries(status: Int, body: String) async throws {
        try await list { _ in
            .init(status: status, headers: Self.headers, body: body)
        } _: { server, texts in
            #expect(texts == ["a", "b"])
            #expect(server.requests("/todo/_find").count == 1)
        }
    }
}
