import LosslessJSON
import TestKit
import Testing

/// `_local` documents: neither in the feed nor in the list.
@Suite(.limitedParallelism) struct LocalDocumentTests {
    @Test func localDocumentIsKeptAndCounted() async throws {
        try await Workspace.with { workspace in
            let name = workspace.local("checkpoint")
            let path = "/_local/\(name)"
            let missing = try await workspace.send("GET", path)
            #expect(missing.outcome == .refused(404, "not_found", "missing"))
            let first = try await workspace.send("PUT", path, #"{"last":"29:13"}"#)
            #expect(first.status == 201)
            #expect(first["id"]?.string == "_local/\(name)")
            #expect(first["ok"]?.bool == true)
            #expect(first["rev"]?.string == "0-1")
            let read = try await workspace.send("GET", path)
            #expect(read.status == 200)
            #expect(read["_id"]?.string == "_local/\(name)")
            #expect(read["_rev"]?.string == "0-1")
            #expect(read["last"]?.string == "29:13")
            let second = try await workspace.send("PUT", path, #"{"_rev":"0-1","last":"30"}"#)
            #expect(second["rev"]?.string == "0-2")
            #expect(try await workspace.send("GET", path)["last"]?.string == "30")
        }
    }

    @Test func updateMustNameTheRevision() async throws {
        try await Workspace.with { workspace in
            let path = "/_local/\(workspace.local("checkpoint"))"
            _ = try await workspace.send("PUT", path, #"{"n":1}"#)
            try expect(
                KnownDifferences.localWithoutRevision[workspace.kind],
                try await workspace.send("PUT", path, #"{"n":2}"#))
            try expect(
                KnownDifferences.localStale[workspace.kind],
                try await workspace.send("PUT", path, #"{"_rev":"0-99","n":2}"#))
        }
    }

    private func expect(_ revision: String?, _ reply: Reply) throws {
        if let revision {
            #expect(reply.status == 201)
            #expect(reply["rev"]?.string == revision)
        } else {
            #expect(reply.outcome == .refused(409, "conflict", "Document update conflict"))
        }
    }

    @Test func deletedLocalDocumentIsGone() async throws {
        try await Workspace.with { workspace in
            let path = "/_local/\(workspace.local("checkpoint"))"
            _ = try await workspace.send("PUT", path, #"{"n":1}"#)
            if let expected = KnownDifferences.localDeletion[workspace.kind] {
                #expect(try await workspace.send("DELETE", path).outcome == expected)
            }
            #expect(try await workspace.send("DELETE", "\(path)?rev=0-1").status == 200)
            #expect(try await workspace.send("GET", path).status == 404)
        }
    }

    @Test func onlyObjectsAreAccepted() async throws {
        try await Workspace.with { workspace in
            let reply = try await workspace.send("PUT", "/_local/\(workspace.local("array"))", "[]")
            let expected = KnownDifferences.localArray[workspace.kind]
            #expect(reply.outcome.fits(expected), "\(reply.outcome) instead of \(expected)")
        }
    }

    @Test func localDocumentsAreNotInTheFeed() async throws {
        try await Workspace.with { workspace in
            let name = workspace.local("checkpoint")
            _ = try await workspace.send("PUT", "/_local/\(name)", #"{"n":1}"#)
            // A later write is in the feed; by then, the change would be, too.
            let later = workspace.id("later")
            try await workspace.put(later)
            let page = try await workspace.changes(until: [later])
            #expect(page.own(workspace).map(\.id) == [later])
            let list = try await workspace.list(from: "", to: "z", count: 1)
            #expect(list.elements("rows").map { $0["id"]?.string } == [later])
        }
    }
}
