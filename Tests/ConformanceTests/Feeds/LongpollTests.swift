import LosslessJSON
import TestKit
import Testing

/// `_changes` with `feed=longpoll`. In a shared database, another client's change may end a longpoll. The case then
/// continues from the last sequence, as every client does.
@Suite(.limitedParallelism) struct LongpollTests {
    @Test func existingChangesAreReturnedAtOnce() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            let page = try await workspace.changes("feed=longpoll&timeout=30000")
            #expect(page.own(workspace).map(\.id).sorted() == ids)
            #expect(page.last != nil)
        }
    }

    @Test(arguments: ["", "&heartbeat=25000", "&limit=100"]) func writeEndsTheLongpoll(_ options: String) async throws {
        try await Workspace.with { workspace in
            let (before, id) = (workspace.id("before"), workspace.id("awaited"))
            try await workspace.put(before)
            let since = try #require(try await workspace.changes(until: [before]).last)
            async let row = workspace.await(id, since: since, "include_docs=true" + options)
            // Usually, the request waits by then. If it has not been sent yet, the answer is the same.
            try await Task.sleep(for: .milliseconds(100))
            let revision = try await workspace.put(id, #"{"n":1}"#)
            let awaited = try await row
            #expect(awaited?.revisions == [revision])
            #expect(awaited?.document?["n"]?.integer == 1)
        }
    }

    @Test func longpollTimesOut() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            try await workspace.put(id)
            var since = try #require(try await workspace.changes(until: [id]).last)
            let deadline = ContinuousClock.now + Workspace.timeLimit
            while ContinuousClock.now < deadline {
                let page = try await workspace.changes("feed=longpoll&timeout=100", since: since)
                let last = try #require(page.last)
                #expect(page.own(workspace).isEmpty)
                if page.rows.isEmpty {
                    if KnownDifferences.emptyFeedEchoesSince[workspace.kind] { #expect(last == since) }
                    return
                }
                since = last
            }
            Issue.record("others write all the time: no longpoll ended by itself")
        }
    }

    /// A recreated database has lower sequences than the client knows, so the client never gets a change.
    @Test(.servers("sequences are opaque") { KnownDifferences.sinceNumber[$0.kind] == .done(200) })
    func futureSequenceIsWaitedFor() async throws {
        try await Workspace.with { workspace in
            let page = try await workspace.changes("feed=longpoll&timeout=200", since: "99999999999")
            #expect(page.rows.isEmpty)
            #expect(page.last == "99999999999")
        }
    }

    @Test(.servers("sequences are opaque") { KnownDifferences.sinceNumber[$0.kind] == .done(200) })
    func longpollOptionsMayBeInTheBody() async throws {
        try await Workspace.with { workspace in
            let reply = try await workspace.send(
                "POST", "/_changes", #"{"feed":"longpoll","since":"99999999999","timeout":100}"#)
            #expect(reply["results"]?.childCount == 0)
            #expect(reply["last_seq"]?.string == "99999999999")
        }
    }

    @Test func deletionEndsTheLongpoll() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revision = try await workspace.put(id)
            let since = try #require(try await workspace.changes(until: [id]).last)
            async let row = workspace.await(id, since: since, "")
            let tombstone = try await workspace.delete(id, revision)
            let awaited = try await row
            #expect(awaited?.isDeleted == true)
            #expect(awaited?.revisions == [tombstone])
        }
    }
}

extension Workspace {
    static let longpollTimeout: Duration = .seconds(20)

    /// Expects that a longpoll without rows has waited for its timeout.
    func expectWaited(since asked: ContinuousClock.Instant, hasRows: Bool) {
        let time = asked.duration(to: .now)
        #expect(hasRows || time > Self.longpollTimeout / 2, "a longpoll ended with nothing after \(time)")
    }

    /// Sends longpolls until a row of the document arrives; nil if none does.
    func await(_ id: String, since: String, _ options: String) async throws -> FeedRow? {
        let deadline = ContinuousClock.now + Self.timeLimit
        var since = since
        while ContinuousClock.now < deadline {
            let asked = ContinuousClock.now
            let timeout = Self.longpollTimeout.components.seconds * 1000
            let page = try await changes("feed=longpoll&timeout=\(timeout)&\(options)", since: since)
            expectWaited(since: asked, hasRows: !page.rows.isEmpty)
            if let row = page.row(id) { return row }
            since = page.last ?? since
        }
        return nil
    }
}
