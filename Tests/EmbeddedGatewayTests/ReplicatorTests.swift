import Compression
import Encodings
import HTTPServing
import LosslessJSON
import Testing

@testable import EmbeddedGateway

/// Requirements of CouchDB's replicator and PouchDB beyond Sync Gateway's protocol.
@Suite struct ReplicatorTests {
    private static let json = [HTTPField("Accept", "application/json"), HTTPField.json]

    /// A number, as Sync Gateway sends it, stops CouchDB 3.5's replicator with `checkpoint_commit_failure`.
    @Test func commitHasNoStartTime() async throws {
        let gateway = try TestGateway()
        let answer = try await gateway.answer("POST", "/open/_ensure_full_commit", "{}")
        #expect(answer.status == 201)
        #expect(answer.text == #"{"instance_start_time":"0","ok":true}"#)
        #expect(try await gateway.answer("GET", "/open/_ensure_full_commit").status == 405)
    }

    @Test func replicatorsGetNoVersions() async throws {
        let gateway = try TestGateway()
        try await gateway.put("a", #"{"v":1}"#)
        for query in ["open_revs=all", "revs=true&open_revs=all"] {
            #expect(try await gateway.answer("GET", "/open/a?\(query)").text.contains("_cv"))
            #expect(try await !gateway.answer("GET", "/open/a?latest=true&\(query)").text.contains("_cv"))
        }
    }

    /// CouchDB 3.5 stops its replication with `open_doc_revs_failed` if anything follows the last boundary.
    @Test(arguments: [("latest=true&", "--"), ("", "--\r\n")])
    func nothingFollowsTheLastBoundaryForReplicators(parameter: String, ending: String) async throws {
        let gateway = try TestGateway()
        try await gateway.put("a", #"{"_attachments":{"f":{"data":"aGVsbG8="}}}"#)
        let answer = try await gateway.answer(
            "GET", "/open/a?\(parameter)revs=true&open_revs=all",
            fields: [HTTPField("Accept", "multipart/mixed")])
        let type = try #require(answer.field("Content-Type"))
        let boundary = try #require(type.split(separator: "\"").dropFirst().first)
        #expect(answer.bytes.suffix(boundary.utf8.count + ending.utf8.count) == Array("\(boundary)\(ending)".utf8)[...])
    }

    /// CouchDB 3.5 waits five minutes for a nested body without separate contents.
    @Test(arguments: [
        ("latest=true&", 200, false), ("latest=true&", 201, true), ("", 200, true), ("", 201, true),
    ])
    func smallContentsNeedNoNestedBodyForReplicators(parameter: String, size: Int, isNested: Bool) async throws {
        let gateway = try TestGateway()
        let content = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        try await gateway.put("a", #"{"_attachments":{"f":{"data":"\#(Base64.text(content))"}}}"#)
        let text = try await gateway.answer(
            "GET", "/open/a?\(parameter)revs=true&open_revs=all", fields: [HTTPField("Accept", "multipart/mixed")]
        ).text
        #expect(text.contains("multipart/related") == isNested)
        #expect(text.contains(#""data":"\#(Base64.text(content))""#) == (size == 200))
    }

    @Test func replicatorsGetManyRevisionsAsJSON() async throws {
        let gateway = try TestGateway()
        try await gateway.put("a", #"{"v":1}"#)
        let requestBody = #"{"docs":[{"id":"a"},{"id":"a","rev":"9-x"},{"id":"b\"","rev":"1-x"}]}"#
        let target = "/open/_bulk_get?revs=true&latest=true"
        let answer = try await gateway.answer("POST", target, requestBody, fields: Self.json)
        let rows = Array(try #require(try JSONText(answer.bytes).root["results"]).elements)
        #expect(rows.map { $0["id"]?.string } == ["a", "a", "b\""])
        let document = rows.first?["docs"]?.element(0)?["ok"]
        #expect(document?["v"]?.integer == 1 && document?["_revisions"]?["start"]?.integer == 1)
        #expect(rows.dropFirst().allSatisfy { $0["docs"]?.element(0)?["error"]?["error"]?.string == "not_found" })
        let none = try await gateway.answer("POST", target, #"{"docs":[]}"#, fields: Self.json)
        #expect(none.text == #"{"results":[]}"#)
        // Like Sync Gateway, for all other clients.
        #expect(try await gateway.answer("POST", "/open/_bulk_get", requestBody, fields: Self.json).status == 406)
    }

    /// CouchDB would store the compressed bytes as the content.
    @Test func replicatorsGetAttachmentsDecompressed() async throws {
        let gateway = try TestGateway()
        let content = [UInt8](repeating: UInt8(ascii: "x"), count: 500)
        let compressedContent = Base64.text(Gzip.compress(content))
        try await gateway.put(
            "a",
            #"{"_attachments":{"f":{"content_type":"text/plain","encoding":"gzip","encoded_length":1,"data":"\#(compressedContent)"}}}"#
        )
        let answer = try await gateway.answer("GET", "/open/a?latest=true&open_revs=all", fields: Self.json)
        let entry = try JSONText(answer.bytes).root.element(0)?["ok"]?["_attachments"]?["f"]
        #expect(entry?["data"]?.string == Base64.text(content))
        #expect(entry?["length"]?.integer == content.count)
        #expect(entry?["encoding"] == nil && entry?["digest"] == nil)
    }
}
