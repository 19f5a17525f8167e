import LosslessJSON
import TestKit
import Testing

/// `_changes` with `feed=normal`.
@Suite(.limitedParallelism) struct ChangesTests {
    @Test func eachDocumentIsReportedOnceWithItsNewestRevision() async throws {
        try await Workspace.with { workspace in
            let (changed, gone, plain) = (workspace.id("changed"), workspace.id("gone"), workspace.id("plain"))
            let revisions = try await workspace.writeGenerations(3, of: changed)
            let tombstone = try await workspace.delete(gone, try await workspace.put(gone))
            let only = try await workspace.put(plain)
            let page = try await workspace.changes(until: [changed, gone, plain])
            #expect(page.own(workspace).count == 3)
            #expect(page.row(changed)?.revisions == [revisions[2]])
            #expect(page.row(gone)?.revisions == [tombstone])
            #expect(page.row(plain)?.revisions == [only])
            #expect(page.own(workspace).filter(\.isDeleted).map(\.id) == [gone])
            #expect(page.own(workspace).allSatisfy { $0.document == nil })
        }
    }

    @Test func changesAreOrderedIfTheDialectOrdersThem() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let page = try await workspace.changes(until: ids)
            let reported = page.own(workspace).map(\.id)
            if KnownDifferences.feedIsOrdered[workspace.kind] {
                #expect(reported == ids)
            } else {
                #expect(reported.sorted() == ids)
            }
        }
    }

    @Test func answerHasItsForm() async throws {
        try await Workspace.with { workspace in
            try await workspace.put(workspace.id("doc"))
            let reply = try await workspace.send("GET", workspace.changesPath())
            #expect(reply.status == 200)
            #expect(reply.contentType.hasPrefix("application/json"))
            #expect(reply["results"]?.kind == .array)
            #expect(reply["last_seq"]?.kind == .string)
            #expect((reply["pending"] != nil) == KnownDifferences.feedHasPending[workspace.kind])
        }
    }

    @Test func documentsAreIncludedOnRequest() async throws {
        try await Workspace.with { workspace in
            let (kept, gone) = (workspace.id("kept"), workspace.id("gone"))
            let revision = try await workspace.put(kept, #"{"n":[1.5,"x"]}"#)
            try await workspace.delete(gone, try await workspace.put(gone, #"{"n":1}"#))
            let page = try await workspace.changes("include_docs=true", until: [kept, gone])
            let document = page.row(kept)?.document
            #expect(document?["_id"]?.string == kept)
            #expect(document?["_rev"]?.string == revision)
            #expect(document?["n"]?.spelling == #"[1.5,"x"]"#)
            let tombstone = page.row(gone)?.document
            #expect(tombstone?["_deleted"]?.bool == true)
            #expect(tombstone?["_id"]?.string == gone)
            #expect(tombstone?["n"] == nil)
        }
    }

    @Test func limitPagesTheFeedWithoutLoss() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            var (seen, since): ([String], String?) = ([], nil)
            // In a shared database, there are changes of others in between.
            for _ in 0..<1000 where Set(seen) != Set(ids) {
                let page = try await workspace.changes("limit=2", since: since)
                try #require(!page.rows.isEmpty && page.rows.count <= 2)
                if seen.isEmpty { #expect(page.rows.count == 2) }
                seen += page.own(workspace).map(\.id)
                #expect(page.last != nil && page.last != since)
                since = page.last
            }
            #expect(seen.sorted() == ids)
        }
    }

    @Test func feedContinuesAfterAnyRow() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let rows = try await workspace.changes(until: ids).own(workspace)
            for (index, row) in rows.enumerated() {
                let rest = try await workspace.changes(since: row.sequence).own(workspace).map(\.id)
                #expect(Set(rest) == Set(rows.dropFirst(index + 1).map(\.id)))
            }
        }
    }

    @Test func noChangeIsReportedTwice() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            let page = try await workspace.changes(until: ids)
            let last = try #require(page.last)
            let next = try await workspace.changes(since: last)
            #expect(next.own(workspace).isEmpty)
            // In a shared database, others may have written in the meantime.
            if next.rows.isEmpty, KnownDifferences.emptyFeedEchoesSince[workspace.kind] { #expect(next.last == last) }
        }
    }

    @Test(arguments: ["main_only", "all_docs"]) func documentWithoutConflictsHasOneLeaf(_ style: String) async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revisions = try await workspace.writeGenerations(2, of: id)
            let page = try await workspace.changes("style=\(style)", until: [id])
            #expect(page.row(id)?.revisions == [revisions[1]])
        }
    }

    @Test func tombstonesAreOmittedWhereSupported() async throws {
        try await Workspace.with { workspace in
            let (gone, later) = (workspace.id("gone"), workspace.id("later"))
            try await workspace.delete(gone, try await workspace.put(gone))
            try await workspace.put(later)
            let reported = try await workspace.changes("active_only=true", until: [later]).own(workspace).map(\.id)
            let expected = KnownDifferences.supportsActiveOnly[workspace.kind] ? [later] : [gone, later]
            #expect(reported.sorted() == expected)
        }
    }

    @Test func idsFilterTheFeed() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            let wanted = [ids[1], ids[3], workspace.id("none")]
            let body = #"{"filter":"_doc_ids","doc_ids":[\#(wanted.map(\.json).joined(separator: ","))]}"#
            let reply = try await workspace.send("POST", "/_changes?filter=_doc_ids", body)
            #expect(try FeedPage(reply).rows.map(\.id).sorted() == [ids[1], ids[3]])
        }
    }

    @Test func zeroIsALimitOrNoLimit() async throws {
        try await Workspace.with { workspace in
            let ids = Array(try await workspace.putFour().prefix(3))
            _ = try await workspace.changes(until: ids)
            let reported = try await workspace.changes("limit=0").own(workspace).map(\.id).filter(ids.contains)
            #expect(reported.count == KnownDifferences.limitZero[workspace.kind])
        }
    }

    @Test func optionsMayBeInTheBody() async throws {
        try await Workspace.with { workspace in
            // If the body is ignored, the answer is the whole feed.
            guard !workspace.kind.isCouchDB || workspace.ownsDatabase else {
                try Test.cancel("needs a database of its own")
            }
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            let since = workspace.start.json
            let reply = try await workspace.send("POST", "/_changes", "{\"since\":\(since),\"limit\":1}")
            let expected = KnownDifferences.limitInBody[workspace.kind]
            #expect(try FeedPage(reply).rows.count == expected)
        }
    }
}
