import Locking
import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

/// The requests and answers of a gateway's list of documents.
@Suite(.limitedParallelism) struct DocumentPagesTests {
    private static func row(_ id: String) -> String {
        var name: [UInt8] = []
        name.appendJSONString(id.utf8)
        let key = String(decoding: name, as: UTF8.self)
        return #"{"key":\#(key),"id":\#(key),"value":{"rev":"1-a"},"doc":{"_id":\#(key)}}"#
    }

    private static func page(_ ids: some Sequence<String>) -> String {
        "{\"rows\":[\n" + ids.map(row).joined(separator: "\n,") + "\n],\n\"total_rows\":3,\"update_seq\":7}"
    }

    /// The answer of a gateway with these ids, in their order.
    private static func page(of ids: [String], for request: TestRequest) throws -> String {
        let query = request.target.split(separator: "?").last ?? ""
        var start = 0
        var limit = 0
        for item in query.split(separator: "&") {
            let parts = item.split(separator: "=")
            let value = try #require(parts[1].percentDecoded)
            switch parts[0] {
            case "limit": limit = try #require(Int(value))
            case "startkey":
                let key = try #require(try JSONText(value).root.string)
                // The position of the key in byte order, whether it exists or not.
                start = ids.firstIndex { !$0.utf8.lexicographicallyPrecedes(key.utf8) } ?? ids.count
            default: #expect(item == "include_docs=true")
            }
        }
        return page(ids[start...].prefix(limit))
    }

    private func ids(_ pages: inout DocumentPages) async throws -> [String] {
        var ids: [String] = []
        while let batch = try await pages.next() { ids += batch.map(\.id.text) }
        return ids
    }

    @Test(arguments: [1, 2, 3, 5, 6, 100, .max])
    func eachDocumentIsReadOnceWithAnyPageSize(size: Int) async throws {
        let all = ["a \"b\"", "a/b+c&d", "b\0c", "c%2F", "e\u{301}", "é", "😀"]
        let scripted = try ScriptedGateway { connection, request in
            try connection.answer(headers: syncGateway, body: Self.page(of: all, for: request))
        }
        var pages = DocumentPages(of: scripted.gateway, pageSize: size)
        #expect(try await ids(&pages) == all)
        #expect(pages.lastID == "😀")
        #expect(try await pages.next() == nil)
    }

    @Test func nextPageIsRequestedFromTheLastIDWithOneMore() async throws {
        let targets = Monitor<[String]>([])
        let scripted = try ScriptedGateway { connection, request in
            targets.with { $0.append(request.target) }
            try connection.answer(headers: syncGateway, body: Self.page(of: ["a", "b\"/"], for: request))
        }
        var pages = DocumentPages(of: scripted.gateway, pageSize: 1)
        #expect(try await ids(&pages) == ["a", "b\"/"])
        #expect(
            targets.with { $0 } == [
                "/todo/_all_docs?limit=1&include_docs=true",
                "/todo/_all_docs?limit=2&include_docs=true&startkey=%22a%22",
                "/todo/_all_docs?limit=2&include_docs=true&startkey=%22b%5C%22%2F%22",
            ])
    }

    /// Under load, Sync Gateway takes seconds to start a page, even an empty one.
    @Test(arguments: [(syncGateway, 1), (couchDB, 2), (["Server: nginx"], 2)])
    func noPageIsRequestedAfterAKnownEnd(server: [String], count: Int) async throws {
        let requests = EventCounter()
        let scripted = try ScriptedGateway { connection, request in
            requests.increment()
            try connection.answer(headers: server, body: Self.page(of: ["a", "b", "c"], for: request))
        }
        var pages = DocumentPages(of: scripted.gateway)
        #expect(try await ids(&pages) == ["a", "b", "c"])
        #expect(requests.count == count)
    }

    @Test func emptyKeyspaceHasNoDocuments() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(headers: couchDB, body: #"{"total_rows":0,"offset":0,"rows":[]}"#)
        }
        var pages = DocumentPages(of: scripted.gateway)
        #expect(try await pages.next() == nil)
        #expect(pages.lastID == nil)
    }

    @Test(arguments: ["b", "bb"])
    func readingContinuesAfterAnIDEvenIfItIsDeleted(last: String) async throws {
        let scripted = try ScriptedGateway { connection, request in
            try connection.answer(headers: syncGateway, body: Self.page(of: ["a", "b", "c"], for: request))
        }
        var pages = DocumentPages(of: scripted.gateway, after: DocumentID(last))
        #expect(try await ids(&pages) == ["c"])
    }

    /// Each answer is truncated somewhere: between rows, in a row, in an id.
    @Test(arguments: [200, 230, 260, 300])
    func readingContinuesAfterATruncatedAnswer(length: Int) async throws {
        let all = ["a", "b", "c", "d", "e"]
        let requests = EventCounter()
        let scripted = try ScriptedGateway { connection, request in
            requests.increment()
            try connection.write("HTTP/1.1 200 OK\r\nServer: CouchDB/3.5.0\r\nConnection: close\r\n\r\n")
            let body = try Self.page(of: all, for: request)
            try connection.write(Array(body.utf8.prefix(length)))
            throw EndOfScript()
        }
        var pages = DocumentPages(of: scripted.gateway)
        var ids: [String] = []
        var cuts = 0
        while cuts < 100 {
            do {
                guard let batch = try await pages.next() else { break }
                ids += batch.map(\.id.text)
            } catch {
                #expect(error.code == .connectionLost)
                cuts += 1
            }
        }
        #expect(ids == all)
        #expect(cuts > 0)
    }

    @Test func answerMayArriveByteByByte() async throws {
        let scripted = try ScriptedGateway { connection, request in
            try connection.write("HTTP/1.1 200 OK\r\nServer: CouchDB/3.5.0\r\nConnection: close\r\n\r\n")
            try connection.writeByteByByte(Self.page(of: ["a", "é", "😀"], for: request))
            throw EndOfScript()
        }
        var pages = DocumentPages(of: scripted.gateway, pageSize: 2)
        #expect(try await ids(&pages) == ["a", "é", "😀"])
    }

    @Test func repeatedPageIsError() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(headers: syncGateway, body: Self.page(["a", "b", "c"]))
        }
        var pages = DocumentPages(of: scripted.gateway, pageSize: 3)
        #expect(try await pages.next()?.map(\.id) == ["a", "b", "c"])
        let error = await #expect(throws: GatewayError.self) { try await pages.next() }
        #expect(error?.code == .notOffered)
        #expect(pages.lastID == "c")
    }

    @Test func rowWithErrorIsReturned() async throws {
        let rows = [Self.row("a"), #"{"key":"b","error":"forbidden","status":403}"#]
        let scripted = try ScriptedGateway { connection, request in
            let isFirst = !request.target.contains("startkey")
            let shown = isFirst ? rows : [rows[1]]
            try connection.answer(headers: syncGateway, body: "{\"rows\":[" + shown.joined(separator: ",") + "]}")
        }
        var pages = DocumentPages(of: scripted.gateway)
        #expect(try await pages.next()?.map(\.kind) == [.document, .unreadable(reason: "forbidden")])
        #expect(try await pages.next() == nil)
    }

    @Test(arguments: [
        (403, #"{"error":"forbidden","reason":"no"}"#, "notOffered"),
        (404, #"{"error":"not_found","reason":"missing"}"#, "notOffered"),
        (405, #"{"error":"method_not_allowed","reason":"Only GET"}"#, "notOffered"),
        (404, "<html>", "notOffered"),
        (401, #"{"error":"Unauthorized","reason":"Login required"}"#, "unauthorized"),
        (503, "", "unavailable"),
    ])
    func unsupportedListIsDistinguishedFromOtherErrors(status: Int, body: String, code: String) async throws {
        let scripted = try ScriptedGateway { connection, request in
            if request.target == "/todo/" {
                try connection.answer(headers: syncGateway, body: #"{"db_name":"todo","update_seq":7}"#)
            } else {
                try connection.answer(status, headers: syncGateway, body: body)
            }
        }
        let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.documents(limit: 1) }
        #expect(error?.code.description == code)
        #expect(error?.status == status)
    }

    @Test func missingDatabaseIsNotFound() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(404, headers: couchDB, body: #"{"error":"not_found","reason":"no such database"}"#)
        }
        let error = await #expect(throws: GatewayError.self) { _ = try await scripted.gateway.documents(limit: 1) }
        #expect(error?.code == .notFound)
    }
}

@Suite(.limitedParallelism) struct SiblingGatewayTests {
    @Test func siblingSharesConnectionAndLeavesItOpen() async throws {
        var settings = GatewaySettings()
        settings.credentials = .basic(user: "amy", password: "s3cr:et")
        let scripted = try ScriptedGateway(keyspace: "prefix/todo", settings: settings) { connection, request in
            #expect(request.values(of: "authorization") == ["Basic YW15OnMzY3I6ZXQ="])
            try connection.answer(headers: couchDB, body: #"{"_id":"\#(request.target)"}"#)
        }
        let sibling = scripted.gateway.sibling(try KeyspaceName("todo._default.audit"))
        #expect(sibling.url.description == scripted.gateway.url.base + "/todo._default.audit")
        #expect(try await sibling.document("x")?.root["_id"]?.string == "/prefix/todo._default.audit/x")
        #expect(scripted.gateway.dialect == .couchDB)
        await sibling.shutdown()
        #expect(try await scripted.gateway.document("x")?.root["_id"]?.string == "/prefix/todo/x")
        #expect(scripted.server.accepted.count == 1)
        await scripted.gateway.shutdown()
        let error = await #expect(throws: GatewayError.self) { try await sibling.document("x") }
        #expect(error?.code == .cancelled)
    }
}
