import GRDB
import LosslessJSON
import Synchronization
import Testing

@testable import EmbeddedGateway

/// Which data a database keeps, and for how long.
@Suite struct ForgettingTests {
    /// A clock that a test advances.
    private final class Clock: Sendable {
        private let seconds = Atomic(1_000_000)
        var now: Int { seconds.load(ordering: .sequentiallyConsistent) }
        func advance(by count: Int) { seconds.add(count, ordering: .sequentiallyConsistent) }
    }

    private func gateway(_ clock: Clock, limit: Int = 1_000) throws -> TestGateway {
        try TestGateway(rules: WritingRules(revisionsLimit: limit, now: { clock.now }))
    }

    private func attachmentCount(_ gateway: TestGateway) async throws -> Int? {
        try await gateway.store.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM attachments") }
    }

    private func put(_ gateway: TestGateway, _ id: String, _ body: String, over revision: String?) async throws
        -> String
    {
        let answer = try await gateway.put(id + (revision.map { "?rev=\($0)" } ?? ""), body)
        return try #require(answer.field("Etag")?.filter { $0 != "\"" })
    }

    @Test func bodyOfAnOldRevisionIsKeptForAWhile() async throws {
        let clock = Clock()
        let gateway = try gateway(clock)
        let first = try await put(gateway, "a", #"{"v":1}"#, over: nil)
        clock.advance(by: 10_000)
        _ = try await put(gateway, "a", #"{"v":2}"#, over: first)
        clock.advance(by: 299)
        _ = try await put(gateway, "b", "{}", over: nil)
        #expect(try await gateway.answer("GET", "/open/a?rev=\(first)").text.hasSuffix(#","v":1}"#))
        clock.advance(by: 1)
        _ = try await put(gateway, "c", "{}", over: nil)
        #expect(try await gateway.answer("GET", "/open/a?rev=\(first)").status == 404)
        #expect(try await gateway.answer("GET", "/open/a?revs=true").text.contains(String(first.dropFirst(2))))
    }

    @Test func contentsAreRemovedWithTheirLastRevision() async throws {
        let clock = Clock()
        let gateway = try gateway(clock)
        let body = #"{"_attachments":{"x":{"data":"SGVsbG8sIFdvcmxk"}}}"#
        let first = try await put(gateway, "a", body, over: nil)
        _ = try await put(gateway, "b", body, over: nil)
        _ = try await put(gateway, "a", "{}", over: first)
        #expect(try await gateway.answer("GET", "/open/a/x?rev=\(first)").text == "Hello, World")
        clock.advance(by: 301)
        let other = try await put(gateway, "b", #"{"v":1,"_attachments":{"x":{"stub":true}}}"#, over: first)
        #expect(try await gateway.answer("GET", "/open/a/x?rev=\(first)").status == 404)
        #expect(try await attachmentCount(gateway) == 1)
        _ = try await put(gateway, "b", "{}", over: other)
        clock.advance(by: 301)
        _ = try await put(gateway, "c", "{}", over: nil)
        #expect(try await attachmentCount(gateway) == 0)
    }

    @Test func noBranchLosesItsLeaf() async throws {
        let gateway = try TestGateway(rules: WritingRules(allowsConflicts: true, revisionsLimit: 20))
        let names = { (count: Int, letter: String) in
            (1...count).reversed().map { "\($0)-\(letter)\($0)" }
        }
        for history in [names(3, "x"), names(40, "y")] {
            let digests = history.map { "\"\($0.drop { $0 != "-" }.dropFirst())\"" }.joined(separator: ",")
            let document = #"{"_id":"a","_revisions":{"start":\#(history.count),"ids":[\#(digests)]}}"#
            let body = #"{"new_edits":false,"docs":[\#(document)]}"#
            #expect(
                try await gateway.answer("POST", "/open/_bulk_docs", body).text.contains(#""rev":"\#(history[0])""#))
        }
        #expect(try gateway.store.leaves(of: "a") == ["3-x3", "40-y40"])
    }

    @Test func fileOfTheFirstVersionOpens() async throws {
        try await withTemporaryFile { path in
            let old = try DatabaseQueue(path: path)
            try Schema.migrator.migrate(old, upTo: "1: documents, attachments, local documents")
            try await old.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO documents VALUES (1, 'a', 3, 2);
                        INSERT INTO revisions VALUES (1, 1, '1-x', 1, NULL, 0, NULL, CAST('{"v":1}' AS BLOB)),
                            (2, 1, '2-y', 2, 1, 0, NULL, CAST('{"v":2}' AS BLOB));
                        UPDATE counters SET value = 3;
                        """)
            }
            try old.close()
            let gateway = try TestGateway(storage: .file(path))
            #expect(try await gateway.answer("GET", "/open/a").text == #"{"_id":"a","_rev":"2-y","v":2}"#)
            #expect(try await gateway.put("a?rev=2-y", #"{"v":3}"#).status == 201)
            #expect(try await gateway.answer("GET", "/open/a?rev=1-x").status == 404)
            #expect(try await gateway.answer("GET", "/open/_changes?since=3").text.contains(#""seq":4,"id":"a""#))
            try gateway.store.close()
        }
    }
}
