import LosslessJSON
import TestKit
import Testing

/// Histories: `new_edits:false`, `revs`, `open_revs`, `_revs_diff`.
@Suite(.limitedParallelism) struct RevisionTests {
    private static let digests = ["a", "b", "c", "d"].map { String(repeating: $0, count: 32) }

    /// A document stored with a history of three generations.
    private static func stored(_ id: String, leaf: String = digests[2], _ value: Int) -> String {
        let ids = [leaf, digests[1], digests[0]].map(\.json).joined(separator: ",")
        return """
            {"_id":\(id.json),"_rev":"3-\(leaf)","_revisions":{"start":3,"ids":[\(ids)]},"v":\(value)}
            """
    }

    @Test func revisionIsStoredUnchanged() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let reply = try await workspace.bulk([Self.stored(id, 3)], storing: true)
            #expect(reply.status == 201)
            let rows = reply.elements()
            #expect(rows.map { $0["id"]?.string } == (Self.hasRows(workspace) ? [id] : []))
            #expect(rows.allSatisfy { $0["rev"]?.string == "3-\(Self.digests[2])" })
            let document = try await workspace.send("GET", "\(workspace.path(id))?revs=true")
            #expect(document["_rev"]?.string == "3-\(Self.digests[2])")
            #expect(document["_revisions"]?["start"]?.integer == 3)
            #expect(
                document["_revisions"]?["ids"]?.elements.map(\.string)
                    == [Self.digests[2], Self.digests[1], Self.digests[0]])
        }
    }

    @Test func storingARevisionAgainChangesNothing() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            _ = try await workspace.bulk([Self.stored(id, 3)], storing: true)
            let before = try await workspace.changes(until: [id])
            let reply = try await workspace.bulk([Self.stored(id, 3)], storing: true)
            #expect(reply.status == 201)
            #expect(reply.elements().count == (Self.hasRows(workspace) ? 1 : 0))
            #expect(reply.elements().allSatisfy { $0["error"] == nil })
            // A later write comes after it; by then, another change would be in the feed.
            let later = workspace.id("later")
            try await workspace.put(later)
            let since = try #require(before.row(id)?.sequence)
            let after = try await workspace.changes(since: since, until: [later])
            #expect(!after.rows.contains { $0.id == id })
        }
    }

    @Test func secondBranchIsRefusedOrKept() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            _ = try await workspace.bulk([Self.stored(id, 3)], storing: true)
            let other = Self.stored(id, leaf: Self.digests[3], 4)
            let reply = try await workspace.bulk([other], storing: true)
            #expect(reply.status == 201)
            let rows = reply.elements().map(Outcome.init(row:))
            let document = try await workspace.send("GET", "\(workspace.path(id))?conflicts=true")
            let isKept = KnownDifferences.keepsSecondBranch[workspace.kind] ?? (rows == [.done(201)])
            if isKept {
                #expect(rows.allSatisfy { $0 == .done(201) })
                #expect(document["_rev"]?.string == "3-\(Self.digests[3])")
            } else {
                #expect(rows == [.refused(409, "conflict", "Document revision conflict")])
                #expect(document["_rev"]?.string == "3-\(Self.digests[2])")
            }
            let tellsConflicts = KnownDifferences.tellsConflicts[workspace.kind]
            #expect(
                document["_conflicts"]?.elements.map(\.string)
                    == (isKept && tellsConflicts ? ["3-\(Self.digests[2])"] : nil))
            let leaves = try await workspace.send("GET", "\(workspace.path(id))?open_revs=all")
            #expect(Set(leaves.elements().compactMap { $0["ok"]?["_rev"]?.string }).count == (isKept ? 2 : 1))
        }
    }

    @Test func revisionWithoutANameIsNotStored() async throws {
        try await Workspace.with { workspace in
            let reply = try await workspace.bulk([#"{"_id":"\#(workspace.id("doc"))","v":1}"#], storing: true)
            let outcomes = reply.status == 201 ? reply.elements().map(Outcome.init(row:)) : [reply.outcome]
            let expected = KnownDifferences.storedWithoutRevision[workspace.kind]
            #expect(outcomes.count == expected.count && zip(outcomes, expected).allSatisfy { $0.fits($1) })
        }
    }

    @Test func documentHasItsHistory() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revisions = try await workspace.writeGenerations(3, of: id)
            let reply = try await workspace.send("GET", "\(workspace.path(id))?revs=true")
            #expect(reply["_revisions"]?["start"]?.integer == 3)
            let digests = revisions.reversed().map { String($0.dropFirst(2)) }
            #expect(reply["_revisions"]?["ids"]?.elements.map(\.string) == digests)
        }
    }

    @Test func oldRevisionCanBeRead() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revisions = try await workspace.writeGenerations(2, of: id)
            let reply = try await workspace.send("GET", "\(workspace.path(id))?rev=\(revisions[0])")
            #expect(reply.status == 200)
            #expect(reply["_rev"]?.string == revisions[0])
            #expect(reply["n"]?.integer == 1)
        }
    }

    @Test func openRevisionsAreTheLeaves() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revisions = try await workspace.writeGenerations(2, of: id)
            let leaves = try await workspace.send("GET", "\(workspace.path(id))?open_revs=all")
            #expect(leaves.status == 200)
            #expect(leaves.elements().map { $0["ok"]?["_rev"]?.string } == [revisions[1]])
            let tombstone = try await workspace.delete(id, revisions[1])
            let deleted = try await workspace.send("GET", "\(workspace.path(id))?open_revs=all")
            #expect(deleted.elements().map { $0["ok"]?["_rev"]?.string } == [tombstone])
            #expect(deleted.elements().first?["ok"]?["_deleted"]?.bool == true)
        }
    }

    @Test func openRevisionsByNameAreFoundOrMissing() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revisions = try await workspace.writeGenerations(2, of: id)
            let unknown = "7-\(Self.digests[0])"
            let list = "[\(revisions[1].json),\(unknown.json)]".percentEncoded
            let reply = try await workspace.send("GET", "\(workspace.path(id))?open_revs=\(list)")
            #expect(reply.status == 200)
            #expect(reply.elements().count == 2)
            #expect(reply.elements().compactMap { $0["ok"]?["n"]?.integer } == [2])
            #expect(reply.elements().compactMap { $0["missing"]?.string } == [unknown])
        }
    }

    @Test func openRevisionsAreMultipartOnRequest() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revision = try await workspace.put(id)
            let reply = try await workspace.send(
                "GET", "\(workspace.path(id))?open_revs=all", headers: [("Accept", "multipart/mixed")])
            #expect(reply.status == 200)
            #expect(reply.contentType.hasPrefix("multipart/mixed; boundary=\""))
            #expect(reply.text.contains(#""_rev":"\#(revision)""#))
        }
    }

    @Test func revsDiffNamesMissingRevisions() async throws {
        try await Workspace.with { workspace in
            let (id, unknown) = (workspace.id("doc"), workspace.id("unknown"))
            let revision = try await workspace.put(id)
            let missing = "5-\(Self.digests[0])"
            let reply = try await workspace.send(
                "POST", "/_revs_diff",
                #"{"\#(id)":["\#(revision)","\#(missing)"],"\#(unknown)":["1-\#(Self.digests[1])"]}"#)
            #expect(reply.status == 200)
            #expect(reply[id]?["missing"]?.elements.map(\.string) == [missing])
            #expect(reply[unknown]?["missing"]?.elements.map(\.string) == ["1-\(Self.digests[1])"])
            let none = try await workspace.send("POST", "/_revs_diff", #"{"\#(id)":["\#(revision)"]}"#)
            #expect(none.json?.kind == .object && none.json?.childCount == 0)
        }
    }

    private static func hasRows(_ workspace: Workspace) -> Bool {
        KnownDifferences.storedRevisionsHaveRows[workspace.kind]
    }
}

extension Workspace {
    /// Writes `{"n":1}`, `{"n":2}` … and returns the revisions.
    func writeGenerations(_ count: Int, of id: String) async throws -> [String] {
        var revisions: [String] = []
        for number in 1...count {
            let parent = revisions.last.map { "\"_rev\":\"\($0)\"," } ?? ""
            revisions.append(try await put(id, "{\(parent)\"n\":\(number)}"))
        }
        return revisions
    }
}
