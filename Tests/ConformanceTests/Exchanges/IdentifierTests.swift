import LosslessJSON
import TestKit
import Testing

/// Ids with characters that are special in paths, queries and JSON.
@Suite(.limitedParallelism) struct IdentifierTests {
    static let names = [
        "plain", "a/b", "a//b/", "a b", "a+b", "a&b=c", "a?b#c", "a:b@c;d,e", "a\"b", "a\\b", "a'b(c)", "a~b-c_d.e",
        "a..b",
        "é", "☃😀", "日本語", "<a>", "a|b^c`d", "{a}[b]", "$a*b!",
    ]

    @Test(arguments: names) func idIsTheSameEverywhere(_ name: String) async throws {
        try await Workspace.with { workspace in
            let id = workspace.id(name)
            let written = try await workspace.send("PUT", workspace.path(id), #"{"n":1}"#)
            #expect(written.status == 201)
            #expect(written["id"]?.string.map { Array($0.utf8) } == id.bytes)
            let revision = try #require(written["rev"]?.string)
            let read = try await workspace.send("GET", workspace.path(id))
            #expect(read["_id"]?.string.map { Array($0.utf8) } == id.bytes)
            let row = try await workspace.lookUp([id], "").elements("rows").first
            #expect(row?["value"]?["rev"]?.string == revision)
            let page = try await workspace.changes(until: [id])
            #expect(page.own(workspace).map { Array($0.id.utf8) } == [id.bytes])
            let deleted = try await workspace.send("DELETE", "\(workspace.path(id))?rev=\(revision)")
            #expect(deleted["rev"]?.string?.hasPrefix("2-") == true)
        }
    }

    /// If a path can't contain the id, a request with ids in its body can.
    @Test(arguments: ["50%", "a%b", "a%2Fb", "%41"]) func percentSignsAreKept(_ name: String) async throws {
        try await Workspace.with { workspace in
            let id = workspace.id(name)
            let row = try #require(try await workspace.bulk([#"{"_id":"\#(id)","n":1}"#]).elements().first)
            #expect(row["id"]?.string == id)
            let revision = try #require(row["rev"]?.string)
            let found = try await workspace.lookUp([id], "?include_docs=true").elements("rows").first
            #expect(found?["doc"]?["_id"]?.string == id)
            #expect(try await workspace.changes(until: [id]).row(id)?.revisions == [revision])
            if KnownDifferences.percentSignInPath[workspace.kind] {
                #expect(try await workspace.send("GET", workspace.path(id))["_rev"]?.string == revision)
            }
        }
    }

    /// "é" as one scalar and as two look the same.
    @Test func idsAreComparedByTheirBytes() async throws {
        try await Workspace.with { workspace in
            let ids = ["\u{E9}", "e\u{301}"].map(workspace.id)
            for (number, id) in ids.enumerated() {
                let reply = try await workspace.send("PUT", workspace.path(id), #"{"n":\#(number)}"#)
                #expect(reply.status == 201)
            }
            for (number, id) in ids.enumerated() {
                #expect(try await workspace.send("GET", workspace.path(id))["n"]?.integer == number)
            }
        }
    }

    @Test func attachmentNameMayHaveAnyCharacters() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc/with slash")
            let name = "Bild é+1.bin"
            let entry = #"{"content_type":"application/octet-stream","data":"aGVsbG8="}"#
            try await workspace.put(id, "{\"_attachments\":{\(name.json):\(entry)}}")
            let reply = try await workspace.send("GET", "\(workspace.path(id))/\(name.percentEncoded)")
            #expect(reply.status == 200)
            #expect(reply.text == "hello")
        }
    }
}
