import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// The changes feed, as the client returns it.
@Suite(.limitedParallelism) struct ClientFeedTests {
    @Test func changesAreOfKinds() async throws {
        try await Workspace.with { workspace in
            let (kept, gone) = (workspace.id("kept"), workspace.id("gone"))
            let revision = try await workspace.put(kept, #"{"n":1}"#)
            let tombstone = try await workspace.delete(gone, try await workspace.put(gone))
            _ = try await workspace.changes(until: [kept, gone])
            let changes = try await workspace.read(ChangesRequest())
            #expect(changes.own.count == 2)
            let document = try #require(changes.own.first { $0.id.text == kept })
            #expect(document.kind == .document)
            #expect(document.revision?.text == revision)
            #expect(document.document?["n"]?.integer == 1)
            let deletion = try #require(changes.own.first { $0.id.text == gone })
            #expect(deletion.kind == .tombstone)
            #expect(deletion.revision?.text == tombstone)
        }
    }

    @Test func feedContinuesWhereItEnded() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            var request = ChangesRequest(includesDocuments: false, limit: 2)
            request.since = try #require(SequenceID(workspace.start))
            var seen: [String] = []
            for _ in 0..<1000 where seen.count < 4 {
                let page = try await workspace.read(request, fromStart: false)
                seen += page.own.map(\.id.text)
                request.since = try #require(page.last)
            }
            #expect(seen.sorted() == ids)
            request.limit = nil
            #expect(try await workspace.read(request, fromStart: false).own.isEmpty)
        }
    }

    @Test func idsFilterTheFeed() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.changes(until: ids)
            let wanted = [DocumentID(ids[0]), DocumentID(ids[2])]
            let changes = try await workspace.read(ChangesRequest(filter: .documents(wanted)))
            #expect(changes.all.map(\.id.text).sorted() == [ids[0], ids[2]])
            #expect(changes.all.allSatisfy { $0.kind == .document })
        }
    }

    @Test func leavesAreListedOnRequest() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let revisions = try await workspace.writeGenerations(2, of: id)
            _ = try await workspace.changes(until: [id])
            var request = ChangesRequest()
            request.listsAllLeaves = true
            #expect(try await workspace.read(request).own.map(\.revisions) == [[RevisionID(revisions[1])]])
        }
    }

    @Test func longpollReturnsConcurrentWrites() async throws {
        try await Workspace.with { workspace in
            let (before, id) = (workspace.id("before"), workspace.id("awaited"))
            try await workspace.put(before)
            let since = try #require(try await workspace.changes(until: [before]).last)
            async let awaited = workspace.awaitChange(of: id, since: since)
            // Usually, the request waits by then. If it has not been sent yet, the answer is the same.
            try await Task.sleep(for: .milliseconds(100))
            let revision = try await workspace.put(id, #"{"n":1}"#)
            let change = try #require(try await awaited)
            #expect(change.kind == .document)
            #expect(change.revision?.text == revision)
        }
    }

    @Test func continuousFeedHasExistingAndNewChanges() async throws {
        try await Workspace.with { workspace in
            let (early, late) = (workspace.id("early"), workspace.id("late"))
            try await workspace.put(early)
            var request = ChangesRequest(feed: .continuous(duration: Workspace.timeLimit))
            request.since = try #require(SequenceID(workspace.start))
            var answer = try await workspace.gateway.changes(request)
            var (seen, revision): ([Change], String?) = ([], nil)
            while !seen.contains(where: { $0.id.text == late }), let batch = try await answer.next() {
                seen += batch.filter { workspace.isOwn($0.id.text) }
                if revision == nil, !seen.isEmpty { revision = try await workspace.put(late) }
            }
            #expect(seen.map(\.id.text) == [early, late])
            #expect(seen.last?.revision?.text == revision)
            #expect(seen.last?.sequence == answer.lastSequence || !workspace.ownsDatabase)
        }
    }

    @Test func continuousFeedTimesOutWithoutAnError() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            try await workspace.put(id)
            _ = try await workspace.changes(until: [id])
            // A busy server may not even have begun to answer: then it gets more time.
            for seconds in [2, 8, 32] {
                let request = ChangesRequest(feed: .continuous(duration: .seconds(seconds)))
                guard let changes = await workspace.readIfBegun(request), !changes.own.isEmpty else { continue }
                #expect(changes.own.map(\.id.text) == [id])
                #expect(changes.last != nil)
                return
            }
            Issue.record("no continuous feed ended by its time with the change that there is")
        }
    }

    @Test func invalidSequenceIsABadRequest() async throws {
        try await Workspace.with { workspace in
            var request = ChangesRequest()
            request.since = try #require(SequenceID("abc"))
            let error = await #expect(throws: GatewayError.self) { try await workspace.gateway.changes(request) }
            #expect(error?.code == .badRequest)
            #expect(error?.cause == .badSequence)
            #expect(error?.isRetryable == false)
        }
    }
}

extension Workspace {
    /// Reads a feed to its end: all changes of the case, and the last sequence.
    fileprivate func read(
        _ request: ChangesRequest, fromStart: Bool = true
    ) async throws -> (own: [Change], all: [Change], last: SequenceID?) {
        var request = request
        if fromStart { request.since = try #require(SequenceID(start)) }
        var answer = try await gateway.changes(request)
        var all: [Change] = []
        while let batch = try await answer.next() { all += Array(batch) }
        return (all.filter { isOwn($0.id.text) }, all, answer.lastSequence)
    }

    /// Reads the feed from the start of the case; nil if the answer did not begin in time.
    fileprivate func readIfBegun(_ request: ChangesRequest) async -> (own: [Change], last: SequenceID?)? {
        do {
            let changes = try await read(request)
            return (changes.own, changes.last)
        } catch {
            #expect((error as? GatewayError)?.code == .timedOut)
            return nil
        }
    }

    /// Sends longpolls until a change of the document arrives; nil if none does.
    fileprivate func awaitChange(of id: String, since: String) async throws -> Change? {
        let deadline = ContinuousClock.now + Workspace.timeLimit
        var request = ChangesRequest(feed: .longpoll(timeout: Self.longpollTimeout))
        request.since = try #require(SequenceID(since))
        while ContinuousClock.now < deadline {
            let asked = ContinuousClock.now
            let page = try await read(request, fromStart: false)
            expectWaited(since: asked, hasRows: !page.all.isEmpty)
            if let change = page.own.first(where: { $0.id.text == id }) { return change }
            request.since = page.last ?? request.since
        }
        return nil
    }
}
