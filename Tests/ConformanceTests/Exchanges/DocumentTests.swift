import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// Writing, reading and deleting single documents.
@Suite(.limitedParallelism) struct DocumentTests {
    @Test func newDocumentGetsAFirstRevision() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let reply = try await workspace.send("PUT", workspace.path(id), #"{"type":"task"}"#)
            #expect(reply.status == 201)
            #expect(reply.contentType.hasPrefix("application/json"))
            #expect(reply["id"]?.string == id)
            #expect(reply["ok"]?.bool == true)
            let revision = try #require(reply["rev"]?.string)
            #expect(revision.hasPrefix("1-"))
            #expect(reply.headers["ETag"] == "\"\(revision)\"")
            #expect((reply["cv"] != nil) == KnownDifferences.hasVersionVectors[workspace.kind])
        }
    }

    @Test func documentIsReadAsWritten() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revision = try await workspace.put(id, #"{"type":"task","done":false,"at":null,"n":[1,{"a":"b"}]}"#)
            let reply = try await workspace.send("GET", workspace.path(id))
            #expect(reply.status == 200)
            #expect(reply.headers["ETag"] == "\"\(revision)\"")
            #expect(reply["_id"]?.string == id)
            #expect(reply["_rev"]?.string == revision)
            #expect(reply["type"]?.spelling == #""task""#)
            #expect(reply["done"]?.kind == .false)
            #expect(reply["at"]?.kind == .null)
            #expect(reply["n"]?.spelling == #"[1,{"a":"b"}]"#)
            #expect((reply["_cv"] != nil) == KnownDifferences.hasVersionVectors[workspace.kind])
        }
    }

    @Test func membersHaveTheOrderOfTheDialect() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            try await workspace.put(id, #"{"b":1,"a":2}"#)
            let members = try await workspace.send("GET", workspace.path(id)).json?.members.compactMap(\.name.string)
            let own = (members ?? []).filter { !$0.hasPrefix("_") }
            #expect(own == (KnownDifferences.sortsMembers[workspace.kind] ? ["a", "b"] : ["b", "a"]))
        }
    }

    @Test func headReturnsOnlyTheRevision() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revision = try await workspace.put(id)
            let reply = try await workspace.send("HEAD", workspace.path(id))
            #expect(reply.status == 200)
            #expect(reply.bytes.isEmpty)
            #expect(reply.headers["ETag"] == "\"\(revision)\"")
            #expect(try await workspace.send("HEAD", workspace.path(workspace.id("none"))).status == 404)
        }
    }

    /// Where an update or a deletion may name the revision that it replaces.
    enum RevisionPlace: CaseIterable { case query, body, header }

    @Test(arguments: RevisionPlace.allCases) func updateNamesTheReplacedRevision(_ place: RevisionPlace) async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let first = try await workspace.put(id, #"{"n":1}"#)
            let reply =
                switch place {
                case .query: try await workspace.send("PUT", "\(workspace.path(id))?rev=\(first)", #"{"n":2}"#)
                case .body: try await workspace.send("PUT", workspace.path(id), #"{"_rev":"\#(first)","n":2}"#)
                case .header:
                    try await workspace.send(
                        "PUT", workspace.path(id), #"{"n":2}"#, headers: [("If-Match", "\"\(first)\"")])
                }
            #expect(reply.status == 201)
            #expect(reply["rev"]?.string?.hasPrefix("2-") == true)
            #expect(try await workspace.send("GET", workspace.path(id))["n"]?.integer == 2)
        }
    }

    @Test func deletedDocumentLeavesATombstone() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let first = try await workspace.put(id, #"{"n":1}"#)
            let reply = try await workspace.send("DELETE", "\(workspace.path(id))?rev=\(first)")
            #expect(reply.status == 200)
            #expect(reply["ok"]?.bool == true)
            #expect(reply["id"]?.string == id)
            let second = try #require(reply["rev"]?.string)
            #expect(second.hasPrefix("2-"))
            let gone = try await workspace.send("GET", workspace.path(id))
            #expect(gone.outcome == .refused(404, "not_found", "deleted"))
            let tombstone = try await workspace.send("GET", "\(workspace.path(id))?rev=\(second)")
            #expect(tombstone.status == 200)
            #expect(tombstone["_deleted"]?.bool == true)
            #expect(tombstone["_rev"]?.string == second)
            #expect(tombstone["n"] == nil)
        }
    }

    @Test func deletedDocumentCanBeCreatedAgain() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            try await workspace.delete(id, try await workspace.put(id, #"{"n":1}"#))
            let reply = try await workspace.send("PUT", workspace.path(id), #"{"n":2}"#)
            #expect(reply.status == 201)
            #expect(reply["rev"]?.string?.hasPrefix("3-") == true)
            #expect(try await workspace.send("GET", workspace.path(id))["n"]?.integer == 2)
        }
    }

    @Test func documentWithoutAnIDGetsOne() async throws {
        try await Workspace.with { workspace in
            let reply = try await workspace.send("POST", "/", #"{"n":1}"#)
            #expect(reply.status == KnownDifferences.postedDocument[workspace.kind])
            let id = try #require(reply["id"]?.string)
            workspace.note(id)
            #expect(id.count == 32)
            #expect(reply.headers["Location"]?.hasSuffix(id) == true)
            #expect(try await workspace.send("GET", workspace.path(id))["n"]?.integer == 1)
        }
    }

    @Test func oneOfSeveralWritersOfARevisionWins() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let first = try await workspace.put(id, #"{"n":0}"#)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { writers in
                for number in 1...8 {
                    writers.addTask {
                        let body = #"{"_rev":"\#(first)","n":\#(number)}"#
                        return try await workspace.send("PUT", workspace.path(id), body).status
                    }
                }
                return try await writers.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201] + Array(repeating: 409, count: 7))
        }
    }
}
