import LosslessJSON
import TestKit
import Testing

/// `_all_docs`.
@Suite(.limitedParallelism) struct ListTests {
    @Test func rangeListsItsDocumentsInOrder() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let reply = try await workspace.list(from: "a", to: "c", count: 3)
            #expect(reply.status == 200)
            let rows = reply.elements("rows")
            #expect(rows.map { $0["id"]?.string } == Array(ids.prefix(3)))
            #expect(rows.map { $0["key"]?.string } == Array(ids.prefix(3)))
            #expect(rows.allSatisfy { $0["value"]?["rev"]?.string?.hasPrefix("1-") == true && $0["doc"] == nil })
            #expect((reply["total_rows"]?.integer == 3) == KnownDifferences.totalRowsCountsAnswer[workspace.kind])
            #expect((reply["update_seq"] != nil) == KnownDifferences.listHasSequence[workspace.kind])
        }
    }

    @Test func rangeIncludesBothEnds() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let reply = try await workspace.list(from: "b", to: "b", count: 1)
            #expect(reply.elements("rows").map { $0["id"]?.string } == [ids[1]])
        }
    }

    @Test func emptyRangeHasNoRows() async throws {
        try await Workspace.with { workspace in
            _ = try await workspace.putFour()
            let reply = try await workspace.list(from: "x", to: "y", count: 0)
            #expect(reply.status == 200)
            #expect(reply["rows"]?.kind == .array && reply.elements("rows").isEmpty)
        }
    }

    @Test func limitEndsTheList() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let reply = try await workspace.list(from: "b", to: "d", "limit=2", count: 2)
            #expect(reply.elements("rows").map { $0["id"]?.string } == Array(ids[1...2]))
        }
    }

    @Test func documentsAreIncludedOnRequest() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let reply = try await workspace.list(from: "a", to: "d", "include_docs=true", count: 4)
            let rows = reply.elements("rows")
            #expect(rows.map { $0["doc"]?["_id"]?.string } == ids)
            #expect(rows.map { $0["doc"]?["n"]?.integer } == [0, 1, 2, 3])
            #expect(rows.allSatisfy { $0["doc"]?["_rev"]?.string == $0["value"]?["rev"]?.string })
        }
    }

    @Test func deletedDocumentsAreNotListed() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let row = try await workspace.list(from: "b", to: "b", count: 1).elements("rows").first
            try await workspace.delete(ids[1], try #require(row?["value"]?["rev"]?.string))
            let reply = try await workspace.list(from: "a", to: "d", count: 3)
            #expect(reply.elements("rows").map { $0["id"]?.string } == [ids[0], ids[2], ids[3]])
        }
    }

    @Test func keysAreAnsweredInOrder() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let missing = workspace.id("missing")
            let keys = [ids[2], missing, ids[0], ids[2]]
            let reply = try await workspace.lookUp(keys, "?include_docs=true")
            #expect(reply.status == 200)
            let rows = reply.elements("rows")
            #expect(rows.map { $0["key"]?.string } == keys)
            #expect(rows.map { $0["doc"]?["n"]?.integer } == [2, nil, 0, 2])
            #expect(rows.map { $0["id"]?.string } == [ids[2], nil, ids[0], ids[2]])
            #expect(rows.map { $0["error"]?.string } == [nil, "not_found", nil, nil])
            let status = KnownDifferences.statusOfMissingKey[workspace.kind]
            #expect(rows.map { $0["status"]?.integer } == [nil, status, nil, nil])
        }
    }

    @Test func keyOfADeletedDocumentIsAnswered() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revision = try await workspace.delete(id, try await workspace.put(id))
            let reply = try await workspace.lookUp([id], "")
            let row = try #require(reply.elements("rows").first)
            #expect(row["key"]?.string == id)
            let expected = KnownDifferences.deletedKey[workspace.kind]
            #expect(Outcome(row: row).fits(expected), "\(row.spelling)")
            if expected.error == nil {
                #expect(row["value"]?["deleted"]?.bool == true)
                #expect(row["value"]?["rev"]?.string == revision)
            }
        }
    }

    static let refusals: [RequestCase] = [
        .init("no keys", "POST", "/_all_docs?limit=1", "{}", goes: KnownDifferences.listWithoutKeys),
        .init("keys that are no array", "POST", "/_all_docs", #"{"keys":5}"#, goes: KnownDifferences.listKeysNotArray),
        .init("half a request", "POST", "/_all_docs", #"{"keys":["#, goes: KnownDifferences.badJSON),
        .init("a wrong method", "PUT", "/_all_docs", "{}", goes: KnownDifferences.wrongMethod),
    ]

    @Test(arguments: refusals) func exchangeHasTheExpectedAnswer(_ request: RequestCase) async throws {
        try await request.run()
    }
}

extension Workspace {
    /// Writes `a`, `b`, `c` and `d`, with `n` from 0 to 3.
    func putFour() async throws -> [String] {
        let ids = ["a", "b", "c", "d"].map(id)
        _ = try await bulk(ids.enumerated().map { "{\"_id\":\($0.element.json),\"n\":\($0.offset)}" })
        return ids
    }

    /// Lists the documents from one name to another, repeatedly until there are `count`.
    func list(from first: String, to last: String, _ query: String = "", count: Int) async throws -> Reply {
        func key(_ name: String) -> String { (prefix + name).json.percentEncoded }
        let path = "/_all_docs?startkey=\(key(first))&endkey=\(key(last))" + (query.isEmpty ? "" : "&\(query)")
        return try await ask("GET", path) { $0.elements("rows").count == count }
    }

    func lookUp(_ keys: [String], _ query: String) async throws -> Reply {
        try await send("POST", "/_all_docs" + query, "{\"keys\":[\(keys.map(\.json).joined(separator: ","))]}")
    }
}
