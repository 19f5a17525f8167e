import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient

/// Feeds with one row per line, as sent by both servers.
@Suite(.limitedParallelism) struct ContinuousFeedTests {
    private static let syncGatewayLines =
        "\n\n{\"seq\":27,\"id\":\"t1\",\"doc\":{\"n\":1.10,\"_id\":\"t1\"},\"changes\":[{\"rev\":\"1-e0\"}]}\n\n"
        + "{\"seq\":\"30:12\",\"id\":\"L2\",\"changes\":[{\"rev\":\"1-47\"}]}\n"
        + "{\"seq\":31,\"id\":\"m1\",\"removed\":[\"A\",\"B\"],\"changes\":[{\"rev\":\"2-a1\"}]}\n"
        + "{\"seq\":\"32:15\",\"id\":\"L3\",\"changes\":[{\"rev\":\"1-b9\"}],\"revoked\":true}\n\n\n"
    private static let couchDBLines =
        "{\"seq\":\"2-g1AA\",\"id\":\"c1\",\"changes\":[{\"rev\":\"2-cc\"},{\"rev\":\"2-bb\"}]}\r\n"
        + "{\"last_seq\":\"5-g1AB\",\"pending\":0}\n"

    private func changes(_ pieces: [[UInt8]]) throws -> (ids: [DocumentID], parser: ChangesParser) {
        var parser = ChangesParser(isContinuous: true)
        var ids: [DocumentID] = []
        for piece in pieces {
            parser.append(piece)
            while let batch = try parser.nextBatch() { ids += batch.map(\.id) }
        }
        return (ids, parser)
    }

    @Test func linesMaySplitAnywhere() throws {
        let bytes = Array(Self.syncGatewayLines.utf8)
        for cut in bytes.indices {
            let (ids, parser) = try changes([Array(bytes[..<cut]), Array(bytes[cut...])])
            #expect(ids == ["t1", "L2", "m1", "L3"], "cut at \(cut)")
            #expect(parser.isComplete)
            #expect(parser.lastSequence?.description == "\"32:15\"")
        }
        #expect(try changes(bytes.map { [$0] }).ids == ["t1", "L2", "m1", "L3"])
    }

    @Test func rowsContinueAfterLastSequenceLine() throws {
        let first = try changes([Array(Self.couchDBLines.utf8)])
        #expect(first.parser.lastSequence?.description == "\"5-g1AB\"")
        let both = try changes([Array((Self.couchDBLines + Self.syncGatewayLines).utf8)])
        #expect(both.ids == ["c1", "t1", "L2", "m1", "L3"])
        #expect(both.parser.lastSequence?.description == "\"32:15\"")
    }

    @Test func partialLineIsNotTheEnd() throws {
        let parser = try changes([Array("{\"seq\":1,\"id\":\"a\",\"changes\":[]}\n{\"seq\":2".utf8)]).parser
        #expect(!parser.isComplete)
        #expect(parser.lastSequence?.description == "1")
    }

    @Test(arguments: [
        "<html>\n", "[]\n", "{\"seq\":1}{\"seq\":2}\n", "{\"id\":\"no sequence\"}\n", "{\"seq\":1\n", "5\n",
        "{\"last_seq\":true}\n", "{\"error\":\"Unauthorized\",\"reason\":\"Login required\"}\n",
    ])
    func invalidRowsAreRefused(text: String) {
        #expect(throws: JSONError.self) { try changes([Array(text.utf8)]) }
    }

    @Test func invalidDocumentDoesNotStopFeed() throws {
        let bad = "{\"seq\":1,\"id\":\"bad\",\"doc\":{\"a\":01},\"changes\":[{\"rev\":\"1-a\"}]}\n"
        #expect(try changes([Array((bad + Self.syncGatewayLines).utf8)]).ids == ["bad", "t1", "L2", "m1", "L3"])
    }

    @Test func serverCanEndFeed() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/_changes?since=20&include_docs=true&feed=continuous&heartbeat=25000")
            try connection.answer(headers: syncGateway, body: Self.syncGatewayLines)
        }
        let since = try #require(SequenceID("20"))
        let request = ChangesRequest(since: since, feed: .continuous(duration: .seconds(60)))
        var answer = try await scripted.gateway.changes(request)
        var changes: [Change] = []
        while let batch = try await answer.next() { changes += batch }
        #expect(changes.map(\.kind) == [.document, .withoutBody, .removed, .revoked])
        #expect(changes[2].leftChannels == ["A", "B"])
        #expect(answer.lastSequence?.description == "\"32:15\"")
    }

    /// An open feed with only heartbeats: Sync Gateway 4.1 after its database was offline.
    @Test func endlessFeedEndsAtItsTimeLimit() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nServer: Couchbase Sync Gateway/4.1.1 CE\r\n\r\n")
            try connection.write(Self.syncGatewayLines + "{\"seq\":33,")
            connection.waitForClose()
        }
        let feed = ChangesRequest.Feed.continuous(duration: .seconds(3))
        var answer = try await scripted.gateway.changes(ChangesRequest(feed: feed))
        var count = 0
        while let batch = try await answer.next() { count += batch.count }
        #expect(count == 4)
        #expect(answer.lastSequence?.description == "\"32:15\"")
        await scripted.server.closed.wait(for: 1)
    }

    @Test func truncatedLineIsConnectionLost() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\n{\"seq\":33,")
            throw EndOfScript()
        }
        let feed = ChangesRequest.Feed.continuous(duration: .seconds(60))
        var answer = try await scripted.gateway.changes(ChangesRequest(feed: feed))
        let error = await #expect(throws: GatewayError.self) { try await answer.next() }
        #expect(error?.code == .connectionLost)
    }
}

@Suite(.limitedParallelism) struct ChangesQueryTests {
    @Test func optionsAreSentInQuery() throws {
        var request = ChangesRequest(since: try #require(SequenceID("10:12:14")), includesDocuments: false, limit: 5)
        request.listsAllLeaves = true
        request.isActiveOnly = true
        request.includesRevocations = true
        request.filter = .channels(["task-list.user1.L2", "b"])
        #expect(
            request.query.map { "\($0.name)=\($0.value)" } == [
                "since=10:12:14", "limit=5", "style=all_docs", "active_only=true", "revocations=true",
                "filter=sync_gateway/bychannel", "channels=task-list.user1.L2,b",
            ])
        #expect(request.body == nil)
    }

    @Test(arguments: ["1::5", "5:6:7", "29:11", "7-g1AAAA"])
    func sequencesAreSentBackUnchanged(sequence: String) async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/_changes?since=\(sequence.percentEncoded)")
            let row = #"{"seq":"\#(sequence)","id":"a","changes":[{"rev":"1-a"},{"rev":"1-b"}]}"#
            try connection.answer(headers: syncGateway, body: #"{"results":[\#(row)],"last_seq":"\#(sequence)"}"#)
        }
        let since = try #require(SequenceID(sequence))
        var answer = try await scripted.gateway.changes(ChangesRequest(since: since, includesDocuments: false))
        let change = try #require(try await answer.next()?.first)
        #expect(change.sequence == since)
        #expect(change.revisions.map(\.text) == ["1-a", "1-b"])
        #expect(try await answer.next() == nil)
        #expect(answer.lastSequence == since)
    }

    @Test func documentFilterIsSentInBody() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.method == "POST")
            #expect(request.target == "/todo/_changes?since=7&include_docs=true&filter=_doc_ids")
            #expect(
                request.text == #"{"filter":"_doc_ids","since":7,"include_docs":true,"doc_ids":["user1.L1","a\"b"]}"#)
            try connection.answer(headers: syncGateway, body: #"{"results":[],"last_seq":"7"}"#)
        }
        let request = ChangesRequest(
            since: try #require(SequenceID("7")), filter: .documents(["user1.L1", "a\"b"]))
        var answer = try await scripted.gateway.changes(request)
        #expect(try await answer.next() == nil)
    }
}
