import LosslessJSON
import TestKit
import Testing

/// `_bulk_get`.
@Suite(.limitedParallelism) struct BulkReadTests {
    @Test func revisionsAndErrorsAreParts() async throws {
        try await Workspace.with { workspace in
            let (id, missing) = (workspace.id("doc"), workspace.id("missing"))
            let revision = try await workspace.put(id, #"{"n":1}"#)
            let reply = try await workspace.send(
                "POST", "/_bulk_get", #"{"docs":[{"id":"\#(id)"},{"id":"\#(missing)"}]}"#,
                headers: [("Accept", "multipart/mixed")])
            #expect(reply.status == 200)
            #expect(reply.contentType.hasPrefix("multipart/mixed; boundary=\""))
            let parts = Self.parts(reply)
            #expect(parts.count == 2)
            let found = try #require(parts.first)
            #expect(found.header.contains("Content-Type: application/json"))
            #expect(!found.header.contains("error"))
            #expect(found.body?["_id"]?.string == id && found.body?["_rev"]?.string == revision)
            #expect(found.body?["n"]?.integer == 1)
            let refused = try #require(parts.last)
            #expect(refused.header.contains(#"Content-Type: application/json; error="true""#))
            #expect(refused.body?["error"]?.string == "not_found")
            #expect(refused.body?["reason"]?.string == "missing")
        }
    }

    @Test(.servers("CouchDB names no status in its parts") { !$0.kind.isCouchDB })
    func errorPartNamesItsDocument() async throws {
        try await Workspace.with { workspace in
            let (id, missing) = (workspace.id("doc"), workspace.id("missing"))
            try await workspace.put(id)
            let reply = try await workspace.send(
                "POST", "/_bulk_get", #"{"docs":[{"id":"\#(missing)"},{"id":"\#(id)","rev":"9-abc"}]}"#,
                headers: [("Accept", "multipart/mixed")])
            let bodies = Self.parts(reply).map(\.body)
            #expect(bodies.map { $0?["id"]?.string } == [missing, id])
            #expect(bodies.map { $0?["rev"]?.string } == [nil, "9-abc"])
            #expect(bodies.map { $0?["status"]?.integer } == [404, 404])
        }
    }

    @Test func revisionsHaveTheirHistoryOnRequest() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revisions = try await workspace.writeGenerations(2, of: id)
            let reply = try await workspace.send(
                "POST", "/_bulk_get?revs=true", #"{"docs":[{"id":"\#(id)","rev":"\#(revisions[1])"}]}"#,
                headers: [("Accept", "multipart/mixed")])
            let history = Self.parts(reply).first?.body?["_revisions"]
            #expect(history?["start"]?.integer == 2)
            #expect(history?["ids"]?.elements.map(\.string) == revisions.reversed().map { String($0.dropFirst(2)) })
        }
    }

    static let refusals: [RequestCase] = [
        .init(
            "a reader who wants JSON", "POST", "/_bulk_get", #"{"docs":[{"id":"{doc}"}]}"#,
            goes: KnownDifferences.bulkGetAsJSON),
        .init("no docs", "POST", "/_bulk_get", "{}", goes: KnownDifferences.bulkGetWithoutDocs),
        .init(
            "docs that are no array", "POST", "/_bulk_get", #"{"docs":"x"}"#,
            goes: KnownDifferences.bulkGetDocsNotArray),
    ]

    @Test(arguments: refusals) func exchangeHasTheExpectedAnswer(_ request: RequestCase) async throws {
        try await request.run()
    }

    private struct Part {
        let header: String
        /// Nil if it is not JSON.
        let body: JSONValue?
    }

    /// Splits a multipart answer whose parts are not multipart themselves.
    ///
    /// - Note: Source: RFC 2046, section 5.1.1.
    private static func parts(_ reply: Reply) -> [Part] {
        let quoted = reply.contentType.split(separator: "\"", omittingEmptySubsequences: false)
        guard quoted.count == 3 else { return [] }
        return reply.text.split(separator: "--\(quoted[1])").compactMap { text in
            guard let blank = text.firstRange(of: "\r\n\r\n") else { return nil }
            let body = try? JSONText(String(text[blank.upperBound...])).root
            return Part(header: String(text[..<blank.lowerBound]), body: body)
        }
    }
}
