import HTTPTransport
import Locking
import LosslessJSON
import TestKit
import Testing

/// `_changes` with `feed=continuous`.
@Suite(.limitedParallelism) struct ContinuousTests {
    @Test func existingChangesComeFirst() async throws {
        try await Workspace.with { workspace in
            let (early, late) = (workspace.id("early"), workspace.id("late"))
            try await workspace.put(early)
            let response = try await workspace.open("feed=continuous&include_docs=true")
            #expect(response.status == 200)
            #expect(response.headers["Content-Type"] == KnownDifferences.contentTypeOfContinuousFeed[workspace.kind])
            var lines: [UInt8] = []
            try await workspace.read(response, into: &lines, until: early)
            #expect(FeedPage(lines: lines).row(late) == nil)
            let revision = try await workspace.put(late, #"{"n":2}"#)
            try await workspace.read(response, into: &lines, until: late)
            response.body.cancel()
            let rows = FeedPage(lines: lines).own(workspace)
            #expect(rows.map(\.id) == [early, late])
            #expect(rows.last?.revisions == [revision])
            #expect(rows.last?.document?["n"]?.integer == 2)
        }
    }

    @Test func limitEndsTheFeed() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            let response = try await workspace.open("feed=continuous&limit=2")
            let page = FeedPage(lines: try await response.body.collect(upTo: 1 << 20))
            #expect(page.rows.count == 2)
            #expect((page.last != nil) == KnownDifferences.continuousFeedEndsWithLastSequence[workspace.kind])
        }
    }

    @Test func timeoutEndsTheFeed() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            let deadline = ContinuousClock.now + Workspace.timeLimit
            var page: FeedPage
            // On a busy server, the time may be over before anything was sent.
            repeat {
                let response = try await workspace.open("feed=continuous&timeout=300")
                page = FeedPage(lines: try await response.body.collect(upTo: 64 << 20))
            } while page.own(workspace).count < ids.count && ContinuousClock.now < deadline
            // A feed that lags behind writes may return them twice.
            #expect(Set(page.own(workspace).map(\.id)) == Set(ids))
            #expect((page.last != nil) == KnownDifferences.continuousFeedEndsWithLastSequence[workspace.kind])
        }
    }

    @Test func deletionsAreReported() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revision = try await workspace.put(id)
            let since = try #require(try await workspace.changes(until: [id]).last)
            // CouchDB does not begin its answer before there is a change.
            let isOver = Locked(false)
            async let row = {
                defer { isOver.withLock { $0 = true } }
                return try await workspace.awaitRow(of: id, since: since)
            }()
            try await Task.sleep(for: .milliseconds(100))
            #expect(!isOver.withLock { $0 }, "the feed did not wait")
            let tombstone = try await workspace.delete(id, revision)
            let reported = try await row
            #expect(reported?.isDeleted == true)
            #expect(reported?.revisions == [tombstone])
        }
    }
}

extension Workspace {
    /// Opens a feed; the body has not been read yet.
    fileprivate func open(_ query: String, since: String? = nil) async throws -> HTTPResponse {
        var request = request("GET", changesPath(query, since: since))
        request.deadline = Self.timeLimit
        return try await server.http.send(request)
    }

    /// The row of the next change of this document.
    fileprivate func awaitRow(of id: String, since: String) async throws -> FeedRow? {
        let response = try await open("feed=continuous", since: since)
        var lines: [UInt8] = []
        try await read(response, into: &lines, until: id)
        response.body.cancel()
        return FeedPage(lines: lines).row(id)
    }

    /// Reads until the whole row of this document has arrived.
    ///
    /// - Throws: `HTTPTransportError` if the feed's deadline passes before.
    fileprivate func read(_ response: HTTPResponse, into lines: inout [UInt8], until id: String) async throws {
        while true {
            let whole = lines.lastIndex(of: UInt8(ascii: "\n")).map { Array(lines[...$0]) } ?? []
            if FeedPage(lines: whole).rows.contains(where: { $0.id == id }) { return }
            guard let part = try await response.body.next() else { return }
            lines += part
        }
    }
}
