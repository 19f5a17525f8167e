import LosslessJSON
import Testing

@testable import EmbeddedGateway

/// `_cv`, and where it appears.
@Suite struct VersionTests {
    private func named(_ name: String = "cv", in answer: Collected) -> String? {
        SmallJSON(answer.bytes)?[name]?.string
    }

    @Test func eachWriteGetsALaterVersion() async throws {
        var rules = WritingRules()
        rules.preciseNow = { 0x18E9_DD7A_4CC3_1234 }
        let gateway = try TestGateway(rules: rules)
        var versions: [String] = []
        for id in ["a", "b", "c"] { versions.append(try await #require(named(in: gateway.put(id, "{}")))) }
        #expect(versions.map { $0.prefix(16) } == ["18e9dd7a4cc30000", "18e9dd7a4cc40000", "18e9dd7a4cc50000"])
        #expect(Set(versions.map { $0.dropFirst(16) }).count == 1)
        #expect(versions.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{12}0000@[A-Za-z0-9+\/]{22}/) != nil })
    }

    @Test func versionAppearsWhereTheRealGatewayPutsIt() async throws {
        let gateway = try TestGateway()
        let put = try await gateway.put("a", #"{"v":1}"#)
        let version = try #require(named(in: put))
        let revision = try #require(put.field("Etag")?.filter { $0 != "\"" })
        #expect(put.text == #"{"id":"a","ok":true,"rev":"\#(revision)","cv":"\#(version)"}"#)
        let read = try await gateway.answer("GET", "/open/a").text
        #expect(read == #"{"_cv":"\#(version)","_id":"a","_rev":"\#(revision)","v":1}"#)
        let changes = try await gateway.answer("GET", "/open/_changes?since=1&include_docs=true").text
        #expect(
            changes.contains(#""doc":{"v":1,"_id":"a","_rev":"\#(revision)","_cv":"\#(version)"},"changes":[{"rev":"#))
        let versions = try await gateway.answer("GET", "/open/_changes?since=1&version_type=cv").text
        #expect(versions.contains(#""changes":[{"cv":"\#(version)"}]}"#) && !versions.contains(revision))
        let list = try await gateway.answer("GET", "/open/_all_docs").text
        #expect(list.contains(#""value":{"rev":"\#(revision)","cv":"\#(version)"}}"#))
        let documents = try await gateway.answer("GET", "/open/_all_docs?include_docs=true").text
        #expect(!documents.contains("cv\""))
        let bulk = try await gateway.answer("POST", "/open/_bulk_docs", #"{"docs":[{"_id":"b"}]}"#).text
        #expect(bulk.prefixMatch(of: /\[\{"cv":"[^"]*","id":"b","rev":"[^"]*"\}\]/) != nil)
    }

    @Test func writeMayNameTheVersionThatItReplaces() async throws {
        let gateway = try TestGateway()
        let first = try await #require(named(in: gateway.put("a", #"{"v":1}"#)))
        #expect(try await gateway.put("a?rev=\(first.replacing("+", with: "%2B"))", #"{"v":2}"#).status == 201)
        #expect(try await gateway.put("a?rev=\(first.replacing("+", with: "%2B"))", #"{"v":3}"#).status == 409)
        let second = try await #require(named("_cv", in: gateway.answer("GET", "/open/a")))
        #expect(try await gateway.put("a", #"{"_cv":"\#(first)","v":3}"#).status == 409)
        #expect(try await gateway.put("a", #"{"_cv":"\#(second)","v":3}"#).status == 201)
        #expect(
            try await gateway.answer("GET", "/open/a?rev=\(second.replacing("+", with: "%2B"))").text.hasSuffix(
                #""v":2}"#))
        #expect(try await gateway.put("new", #"{"_cv":"\#(second)","v":1}"#).status == 409)
    }

    @Test func knownRevisionGetsNoVersion() async throws {
        let gateway = try TestGateway()
        let body = #"{"new_edits":false,"docs":[{"_id":"a","_rev":"3-c","_revisions":{"start":3,"ids":["c"]}}]}"#
        #expect(try await gateway.answer("POST", "/open/_bulk_docs", body).text.contains(#""cv":"#))
        #expect(try await gateway.answer("POST", "/open/_bulk_docs", body).text == #"[{"id":"a","rev":"3-c"}]"#)
    }
}
