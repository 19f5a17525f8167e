import GRDB
import HTTPServing
import SyncFunctions
import TestKit
import Testing

@testable import EmbeddedGateway

/// `POST _purge` on the administrative port, as on Sync Gateway 4.1.1.
@Suite(.limitedParallelism) struct PurgeTests {
    private func gateway() async throws -> TestGateway {
        let gateway = try TestGateway()
        for id in ["a", "b", "c"] { try await gateway.put(id, #"{"_attachments":{"x":{"data":"aGk="}}}"#) }
        return gateway
    }

    private func administer(
        _ gateway: TestGateway, _ method: String, _ path: String, _ body: String
    ) async throws -> Collected {
        var router = gateway.router
        router.isAdministration = true
        return try await Collected(
            await router.answer(Request(method, "/open/\(path)", fields: [.json], body: Array(body.utf8))))
    }

    @Test func purgedDocumentsAreGone() async throws {
        let gateway = try await gateway()
        let answer = try await administer(
            gateway, "POST", "_purge", #"{"a":["*"],"b":["1-x"],"c":["*"],"nosuch":["*"],"d":5}"#)
        #expect(answer.status == 200)
        #expect(answer.text == "{\"purged\":{\r\n\"a\" : [\"*\"]\n,\"c\" : [\"*\"]\n}\n}\n")
        #expect(try await gateway.answer("GET", "/open/a").text == #"{"error":"not_found","reason":"missing"}"#)
        let changes = try await gateway.answer("GET", "/open/_changes").text
        #expect(changes.matches(of: /"id":"([a-z])"/).map { String($0.1) } == ["b"])
        #expect(try await gateway.answer("GET", "/open/b/x").text == "hi")
        let again = try await gateway.put("a", "{}").text
        #expect(again.contains(#""rev":"1-ca9ad22802b66f662ff171f226211d5c""#))
        #expect(try gateway.store.lastSequence() == 5)
    }

    @Test func purgedDocumentGrantsNothing() async throws {
        let gateway = try TestGateway()
        gateway.store.function.set(try SyncFunction("function (doc) { access('kim', doc.c); }"))
        _ = try await administer(gateway, "PUT", "g", #"{"c":"x"}"#)
        #expect(try gateway.store.grants(of: "g").count == 1)
        _ = try await administer(gateway, "POST", "_purge", #"{"g":["*"]}"#)
        let count = try gateway.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM document_grants") }
        #expect(count == 0)
    }

    @Test(arguments: [
        ("POST", "[]", 400, "_purge document ID's must be passed as a JSON"),
        ("POST", "", 400, "_purge document ID's must be passed as a JSON"), ("GET", "", 405, ""),
    ])
    func otherRequestsAreRefused(method: String, body: String, status: Int, reason: String) async throws {
        let gateway = try await gateway()
        let answer = try await administer(gateway, method, "_purge", body)
        #expect(answer.status == status)
        #expect(answer.text.hasSuffix(#""reason":"\#(reason)"}"#))
        #expect(try await administer(gateway, "POST", "_purge", "null").status == 200)
        #expect(try await gateway.answer("POST", "/open/_purge", #"{"a":["*"]}"#).status == 404)
    }
}
