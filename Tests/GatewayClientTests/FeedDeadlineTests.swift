import Glibc
import TestKit
import Testing

@testable import GatewayClient

/// No feed that waits for changes stays open forever, whatever its server sends.
@Suite(.limitedParallelism) struct FeedDeadlineTests {
    private static let head = "HTTP/1.1 200 OK\r\nServer: Couchbase Sync Gateway/4.1.1 CE\r\n\r\n"
    private static let start = "{\"results\":[\r\n"
    private static let row = "{\"seq\":7,\"id\":\"a\",\"changes\":[{\"rev\":\"1-a\"}]}\n"

    /// Writes `beginning`, then `drop` repeatedly until the client disconnects.
    private static func trickle(
        _ beginning: String, _ drop: String, _ deadlines: GatewaySettings.Deadlines
    ) throws -> ScriptedGateway {
        var settings = GatewaySettings()
        settings.deadlines = deadlines
        return try ScriptedGateway(settings: settings) { connection, _ in
            try connection.write(head + beginning)
            while true {
                try connection.write(drop)
                usleep(10_000)
            }
        }
    }

    private static func deadlines(grace: Duration, feed: Duration) -> GatewaySettings.Deadlines {
        var deadlines = GatewaySettings.Deadlines()
        (deadlines.longpollGrace, deadlines.feed) = (grace, feed)
        return deadlines
    }

    /// Heartbeats and half a row, byte by byte, both before the first row.
    @Test(arguments: [(start, "\n"), (start + "{\"seq\":1,\"id\":\"", "x"), ("", "\n")])
    func longpollWithoutRowsTimesOut(beginning: String, drop: String) async throws {
        let deadlines = Self.deadlines(grace: .seconds(3), feed: .seconds(3600))
        let scripted = try Self.trickle(beginning, drop, deadlines)
        let feed = ChangesRequest.Feed.longpoll(timeout: .milliseconds(100))
        let began = ContinuousClock.now
        var answer = try await scripted.gateway.changes(ChangesRequest(feed: feed))
        let error = await #expect(throws: GatewayError.self) { try await answer.next() }
        #expect(error?.code == .timedOut && error?.isRetryable == true)
        #expect(ContinuousClock.now - began >= .milliseconds(3100))
        #expect(answer.lastSequence == nil)
        await scripted.server.closed.wait(for: 1)
    }

    @Test func longpollWithRowsGetsMoreTime() async throws {
        let deadlines = Self.deadlines(grace: .seconds(3), feed: .seconds(5))
        let scripted = try Self.trickle(Self.start + Self.row, ",{\"seq\":8,\"id\":\"b\",\"changes\":[]}\n", deadlines)
        let feed = ChangesRequest.Feed.longpoll(timeout: .milliseconds(100))
        let began = ContinuousClock.now
        var answer = try await scripted.gateway.changes(ChangesRequest(feed: feed))
        var count = 0
        while let batch = try await answer.next() { count += batch.count }
        #expect(ContinuousClock.now - began >= .seconds(5))
        #expect(count > 1)
        #expect(answer.lastSequence?.description == "8")
    }

    @Test func completedLongpollHasItsLastSequence() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target.hasSuffix("feed=longpoll&timeout=1500"))
            try connection.answer(headers: syncGateway, body: Self.start + Self.row + "],\n\"last_seq\":\"9\"}\n")
        }
        let feed = ChangesRequest.Feed.longpoll(timeout: .milliseconds(1500))
        var answer = try await scripted.gateway.changes(ChangesRequest(feed: feed))
        while try await answer.next() != nil {}
        #expect(answer.lastSequence?.description == "\"9\"")
    }

    @Test(arguments: [Duration.seconds(3), .seconds(3600)])
    func continuousFeedEndsDespiteHeartbeats(duration: Duration) async throws {
        let deadlines = Self.deadlines(grace: .seconds(15), feed: .seconds(4))
        let scripted = try Self.trickle(Self.row, "\n", deadlines)
        let feed = ChangesRequest.Feed.continuous(duration: duration)
        var answer = try await scripted.gateway.changes(ChangesRequest(feed: feed))
        while try await answer.next() != nil {}
        #expect(answer.lastSequence?.description == "7")
        await scripted.server.closed.wait(for: 1)
    }

    @Test func timedOutCatchUpIsIncomplete() async throws {
        var deadlines = GatewaySettings.Deadlines()
        deadlines.stream = .seconds(3)
        let scripted = try Self.trickle(Self.start + Self.row, "\n", deadlines)
        var answer = try await scripted.gateway.changes(ChangesRequest())
        let error = await #expect(throws: GatewayError.self) { while try await answer.next() != nil {} }
        #expect(error?.code == .timedOut)
        #expect(answer.lastSequence == nil)
    }

    /// Regression: it was read for a day.
    @Test(arguments: [start, "", start + row + ","]) func answersWithOnlyBlankLinesTimeOut(beginning: String)
        async throws
    {
        var deadlines = GatewaySettings.Deadlines()
        deadlines.silence = .seconds(1)
        let scripted = try Self.trickle(beginning, " \r\n", deadlines)
        var answer = try await scripted.gateway.changes(ChangesRequest())
        let error = await #expect(throws: GatewayError.self) { while try await answer.next() != nil {} }
        #expect(error?.code == .timedOut && error?.isRetryable == true)
        #expect(error?.description.contains("blank lines") == true)
        let list = try Self.trickle(#"{"rows":["#, "\n", deadlines)
        var documents = try await list.gateway.documents(limit: 10)
        let other = await #expect(throws: GatewayError.self) { while try await documents.next() != nil {} }
        #expect(other?.code == .timedOut)
    }

    /// A row without a sequence is an error with its place; the rows before it are valid.
    @Test(arguments: [("{}", "{"), ("null", "'n'"), (#"{"id":"b"}"#, "{"), ("5", "'5'")])
    func malformedRowIsReportedWithPosition(row: String, found: String) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(
                headers: syncGateway, body: Self.start + Self.row + "," + row + "],\n\"last_seq\":9}\n")
        }
        var answer = try await scripted.gateway.changes(ChangesRequest())
        #expect(try await answer.next()?.map(\.id) == ["a"])
        let error = await #expect(throws: GatewayError.self) { try await answer.next() }
        #expect(error?.code == .malformedAnswer)
        #expect(error?.description.contains("after 1 row: expected a row with its sequence or id") == true)
        #expect(error?.description.contains(found) == true, "\(error?.description ?? "")")
    }

    /// Regression: a hanging connection was detected only after four minutes.
    @Test func hangingRequestIsDetectedWithinOneMinute() {
        let deadlines = GatewaySettings.Deadlines()
        #expect(ChangesRequest.defaultLongpollTimeout + deadlines.longpollGrace < .seconds(60))
        #expect(ChangesRequest.heartbeat * 2 + deadlines.longpollGrace < .seconds(60))
        #expect(max(deadlines.silence, deadlines.small) < .seconds(60))
        #expect(deadlines.feed == .seconds(300))
    }

    /// Regression: bulk writes, lookups and single documents had five minutes.
    @Test func silentServerTimesOutForEveryRequest() async throws {
        var settings = GatewaySettings()
        settings.deadlines.silence = .milliseconds(200)
        settings.deadlines.small = .milliseconds(200)
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in connection.waitForClose() }
        let gateway = scripted.gateway
        let requests: [@Sendable () async throws -> Void] = [
            { _ = try await gateway.databaseInfo() },
            { _ = try await gateway.bulkDocs([BulkDocument(id: "a", segments: [Array(#"{"_id":"a"}"#.utf8)])]) },
            { _ = try await gateway.allDocs(keys: ["a"]) },
            { _ = try await gateway.document("a") },
            { _ = try await gateway.localDocument("a") },
            { _ = try await gateway.documents(limit: 10) },
            { _ = try await gateway.changes(ChangesRequest()) },
            { _ = try await gateway.openRevisions(of: "a") },
            { _ = try await gateway.bulkGet([BulkGetKey(id: "a", revision: RevisionID("1-a"))]) },
        ]
        for request in requests {
            let error = await #expect(throws: GatewayError.self) { try await request() }
            #expect(error?.code == .timedOut, "\(error as Any)")
        }
    }
}
