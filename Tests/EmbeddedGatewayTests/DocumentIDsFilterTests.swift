import Testing

@testable import EmbeddedGateway

/// `_changes` with `filter=_doc_ids`, as on Sync Gateway 4.1.1.
@Suite struct DocumentIDsFilterTests {
    private func gateway() async throws -> TestGateway {
        let gateway = try TestGateway()
        for id in ["d1", "d2", "d,3"] { try await gateway.put(id, "{}") }
        return gateway
    }

    @Test(arguments: [
        (#"["d1","d2"]"#, ["d1", "d2"]), (#"["d,3"]"#, ["d,3"]), (#" [ "d1" ] "#, ["d1"]), ("d1,d2", ["d1", "d2"]),
        ("d1,", ["d1"]), (#"["d1",5]"#, []), (#"["d1""#, []), (#""d1""#, []), ("[null]", []),
    ])
    func queryIsAJSONArrayOrAList(text: String, ids: [String]) async throws {
        let query = text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let answer = try await gateway().answer("GET", "/open/_changes?filter=_doc_ids&doc_ids=\(query)")
        #expect(answer.status == 200)
        #expect(answer.text.matches(of: /"id":"([^"]*)"/).map { String($0.1) } == ids)
    }

    @Test(arguments: [
        ("GET", "", "", "Missing 'doc_ids' filter parameter"),
        ("GET", "&doc_ids=", "", "Missing 'doc_ids' filter parameter"),
        ("GET", "&doc_ids=[]", "", "Missing 'doc_ids' filter parameter"),
        ("GET", "&doc_ids=null", "", "Missing 'doc_ids' filter parameter"),
        ("POST", "", "{}", "Missing 'doc_ids' filter parameter"),
        ("POST", "", #"{"doc_ids":null}"#, "Missing 'doc_ids' filter parameter"),
        ("POST", "", #"{"doc_ids":[]}"#, "Empty doc_ids list"),
    ])
    func requestWithoutIDsIsRefused(method: String, query: String, body: String, reason: String) async throws {
        let answer = try await gateway().answer(method, "/open/_changes?filter=_doc_ids\(query)", body)
        #expect(answer.status == 400)
        #expect(answer.text == #"{"error":"Bad Request","reason":"\#(reason)"}"#)
    }
}
