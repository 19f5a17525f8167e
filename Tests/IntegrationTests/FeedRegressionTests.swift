import Bots
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Logging
import LosslessJSON
import TestKit
import Testing

/// Bugs that users of other changes feed clients report, and what happens here: reading.
///
/// Each test names its sources. ``WriteRegressionTests`` and ``OperationRegressionTests`` have the others.
@Suite(.limitedParallelism) struct FeedRegressionTests {
    /// The first training bot, concurrent-couch-follower#2, pouchdb#8037, ibm-cloud-sdk-common#49: the loop ended at
    /// the first error, the pipe broke after a timeout, or a request never returned.
    ///
    /// Deadlines step by step: `FeedDeadlineTests`, `DeadlineTests`.
    @Test(arguments: [
        #""status":500"#, #""status":{"code":503,"retry_after":0}"#, #""status":{"code":429,"retry_after":0}"#,
        #""status":{"code":200,"body":"<html>sign in</html>"}"#, #""status":301"#, #""status":404"#,
        #""status":401"#, #""drop":"before""#, #""drop":"after""#, #""cut":1"#, #""cut":14"#,
        #""hang":true"#, #""heartbeats_only":"20ms""#, #""session_expired":true"#,
    ])
    func feedNeverStopsSilently(error: String) async throws {
        var settings = GatewaySettings()
        if error.contains("hang") || error.contains("heartbeats") {
            // A request without an answer ends after one second instead of the default 65 seconds.
            settings.deadlines.longpollGrace = .seconds(1) - ChangesRequest.defaultLongpollTimeout
        }
        try await BotTestBed.withTrouble(settings: settings) { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.following(rules) {
                try await bed.load(BotTestBed.tasks(0..<1))
                try await bed.wait(until: "t0") { $0["done"]?.bool == true }
                try gateway.injectFaults(#"{"on":"_changes",\#(error),"times":1}"#)
                // Ends the request that was already open.
                try await bed.load([("other", #"{"_id":"other"}"#)])
                while gateway.faultCounts.values.reduce(0, +) == 0 { try await Task.sleep(for: .milliseconds(10)) }
                try await bed.load(BotTestBed.tasks(1..<2))
                try await bed.wait(until: "t1") { $0["done"]?.bool == true }
            }
            try await bed.expectDoneOnce(0..<2)
        }
    }

    /// cradle#85, node-couchdb-api#11, envoy#90, coax#1, changes-stream-rust#16: a piece contained half an object, two
    /// objects, or only a comma.
    ///
    /// All cuts and all sizes: `ChangesParserTests`, `ContinuousFeedTests`.
    @Test
    func oneByteChunksMakeNoDifference() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            try await bed.load(BotTestBed.tasks(0..<5))
            try gateway.injectFaults(#"{"slice":1}"#)
            #expect(try await bed.runOnce(try bed.rules(BotTestBed.doneRules)).written == 5)
            #expect(gateway.faultCounts["slice"] ?? 0 > 2)
            gateway.stopFaults()
            try await bed.expectDoneOnce(0..<5)
        }
    }

    /// couchbase-lite-ios#541, and the first training bot: a row `_user/…` without a document ended the parser.
    @Test
    func rowsOfPrincipalsMoveTheSequence() async throws {
        try await BotTestBed.withTrouble(user: ("amy", "letmein")) { bed, _ in
            var answer = try await bed.phone.changes(ChangesRequest())
            var kinds: [Change.Kind] = []
            while let batch = try await answer.next() { kinds += batch.map(\.kind) }
            #expect(kinds == [.principal])
            let rules = try bed.rules(BotTestBed.doneRules)
            let counters = try await bed.runOnce(rules)
            #expect(counters.changes == 1)
            #expect(counters.deadLetters == 0)
            try await bed.load(BotTestBed.tasks(0..<3))
            let next = try await bed.runOnce(rules)
            #expect(next.written == 3)
            #expect(next.changes >= 3)
        }
    }

    /// iriscouch/follow#91, cloudant-follow PR#2, nodejs-cloudant#59: a `last_seq` in the middle of the stream was
    /// treated as the deletion of the database.
    @Test(arguments: [1, 3, 7])
    func lastSequenceInMidStreamIsNotTheEnd(rows: Int) async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            try await bed.load(BotTestBed.tasks(0..<20))
            try gateway.injectFaults(#"{"last_seq_early":\#(rows)}"#)
            let counters = try await bed.runOnce(try bed.rules(BotTestBed.doneRules))
            #expect(counters.written == 20)
            #expect(counters.traffic.retries == 0)
            #expect(gateway.faultCounts["last_seq_early"] ?? 0 > 1)
            gateway.stopFaults()
            try await bed.expectDoneOnce(0..<20)
        }
    }

    /// sync_gateway#1529, #1475, logstash couchdb_changes#26: sequences that are not integers were refused or changed.
    @Test(arguments: [
        ("7", "7"), ("\"7\"", "7"), ("\"0.0\"", "0.0"), ("\"388.1\"", "388.1"), ("\"12:34\"", "12%3A34"),
        ("\"5::34\"", "5%3A%3A34"), ("\"5:12:34\"", "5%3A12%3A34"),
        ("18446744073709551616", "18446744073709551616"),
        ("1.50", "1.50"), ("\"3-g1AAAACLeJzLYWBgYM_5a+/=\"", "3-g1AAAACLeJzLYWBgYM_5a%2B%2F%3D"),
        ("\"g1AAAA\\u0026x=1\"", "g1AAAA%26x%3D1"),
    ])
    func sequencesAreReturnedUnchanged(json: String, query: String) async throws {
        try await withDirectory { directory in
            let row = ScriptedServer.row(1).replacingOccurrences(of: #""seq":1"#, with: #""seq":\#(json)"#)
            let server = try ScriptedServer { request, number in
                guard request.path == "/todo/_changes" else { return ScriptedServer.written(request) }
                var answer = ScriptedServer.feed([row, ScriptedServer.row(2)], last: 1000)
                if number > 0 { return ScriptedServer.feed([ScriptedServer.row(2)], last: 1000) }
                answer.cutAfter = answer.body.utf8.count - 60
                return answer
            }
            #expect(try await server.runOnce(directory).counters.written == 2)
            let asked = server.requests("/todo/_changes").map(\.target)
            #expect(asked.dropFirst().first?.contains("since=\(query)&") == true, "\(asked)")
        }
    }

    /// pouchdb#4604, sync_gateway#1309: the client requested the same page forever.
    @Test
    func feedWithoutProgressDoesNotLoop() async throws {
        let answered = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { request in
                answered.increment()
                let page = ScriptedServer.feed([ScriptedServer.row(1), ScriptedServer.row(2)], last: 2).body
                try connection.answer(headers: ScriptedServer.syncGateway, body: page)
            }
        }
        // A reader is at the end if the gateway returns the same page again, also after waiting for all writes.
        let reader = FeedReader(
            gateway: Gateway(try GatewayURL(server.url("/todo"))), end: .caughtUp(with: SequenceID("1000")),
            retries: .init(), logger: BotTestBed.logger, noteRetry: {})
        try await reader.read(from: .start) { _, _ in }
        #expect(answered.count == 3)
    }

    /// A reader that follows the feed keeps requesting it, but logs a warning and slows down.
    @Test
    func repeatedPageIsReported() async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in
                let page = ScriptedServer.feed([ScriptedServer.row(1), ScriptedServer.row(2)], last: 2).body
                try connection.answer(headers: ScriptedServer.syncGateway, body: page)
            }
        }
        let logged = EventCounter()
        let reader = FeedReader(
            gateway: Gateway(try GatewayURL(server.url("/todo"))), end: .never, retries: .init(),
            logger: Logger(label: "test") { _ in Witness(words: "makes no progress", seen: logged) }, noteRetry: {})
        await withThrowingTaskGroup { tasks in
            tasks.addTask { try await reader.read(from: .start) { _, _ in } }
            await logged.wait(for: 1)
            tasks.cancelAll()
            await #expect(throws: CancellationError.self) { try await tasks.waitForAll() }
        }
    }

    /// A busy gateway answered each longpoll with a single change, and had less time for the resulting writes.
    @Test
    func readerWaitsForWorkBeforeTheNextRequest() async throws {
        let (asked, working) = (EventCounter(), EventCounter())
        let server = try TestServer { connection in
            try connection.serve { _ in
                asked.increment()
                let number = asked.count
                let page = ScriptedServer.feed([ScriptedServer.row(number)], last: number).body
                try connection.answer(headers: ScriptedServer.syncGateway, body: page)
            }
        }
        var reader = FeedReader(
            gateway: Gateway(try GatewayURL(server.url("/todo"))), end: .never, retries: .init(),
            logger: BotTestBed.logger, noteRetry: {})
        let mayGoOn = EventCounter()
        reader.listener.delayNextRequest = {
            #expect(asked.count == working.count + 1)
            working.increment()
            await mayGoOn.wait(for: working.count)
        }
        await withThrowingTaskGroup { [reader] tasks in
            tasks.addTask { try await reader.read(from: .start) { _, _ in } }
            for number in 1...5 {
                await working.wait(for: number)
                #expect(asked.count == number)
                mayGoOn.increment()
            }
            await working.wait(for: 6)
            tasks.cancelAll()
            mayGoOn.increment()
            await #expect(throws: CancellationError.self) { try await tasks.waitForAll() }
        }
    }

    /// Regression: if sequences alternated between two values, the feed was requested 4,200 times a second.
    @Test(arguments: [(2, FeedReader.FeedMode.longpoll), (3, .longpoll), (2, .continuous)])
    func cyclicFeedIsSlowedDown(cycle: Int, following: FeedReader.FeedMode) async throws {
        let answered = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { request in
                answered.increment()
                let number = answered.count % cycle + 5
                guard request.target.contains("feed=continuous") else {
                    let page = ScriptedServer.feed([ScriptedServer.row(number)], last: number).body
                    return try connection.answer(headers: ScriptedServer.syncGateway, body: page)
                }
                try connection.write("HTTP/1.1 200 OK\r\n\r\n" + ScriptedServer.row(number) + "\n")
                throw CancellationError()
            }
        }
        let logged = EventCounter()
        var reader = FeedReader(
            gateway: Gateway(try GatewayURL(server.url("/todo"))), end: .never, retries: .init(),
            logger: Logger(label: "test") { _ in Witness(words: "makes no progress", seen: logged) }, noteRetry: {})
        reader.following = following
        await withThrowingTaskGroup { [reader] tasks in
            tasks.addTask { try await reader.read(from: .start) { _, _ in } }
            await logged.wait(for: 1)
            #expect(answered.count <= cycle + 5)
            await answered.wait(for: cycle + 6)
            tasks.cancelAll()
            await #expect(throws: CancellationError.self) { try await tasks.waitForAll() }
        }
        #expect(logged.count == 1)
    }

    @Test
    func oneShotRunEndsOnACyclicFeed() async throws {
        let answered = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { _ in
                answered.increment()
                let number = answered.count % 2 + 5
                let page = ScriptedServer.feed([ScriptedServer.row(number)], last: number).body
                try connection.answer(headers: ScriptedServer.syncGateway, body: page)
            }
        }
        var reader = FeedReader(
            gateway: Gateway(try GatewayURL(server.url("/todo"))), end: .caughtUp(with: SequenceID("1000")),
            retries: .init(), logger: BotTestBed.logger, noteRetry: {})
        // `FeedPaceTests` test the length of the pauses.
        reader.waits.maxPause = .milliseconds(10)
        try await reader.read(from: .start) { _, _ in }
        #expect(answered.count < 20)
    }

    /// The log says that the errors have ended, and that the feed has been read to its end.
    @Test
    func recoveryIsLogged() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            try await bed.load(BotTestBed.tasks(0..<3))
            try gateway.injectFaults(#"{"on":"_changes","status":500,"times":2}"#)
            let (recovered, caughtUp) = (EventCounter(), EventCounter())
            var retries = RetryPolicy.Settings()
            retries.isDaemon = true
            let reader = FeedReader(
                gateway: Gateway(bed.url), end: .never, retries: retries,
                logger: Logger(label: "test") { _ in
                    MultiplexLogHandler([
                        Witness(words: "reached the gateway again after", seen: recovered),
                        Witness(words: "caught up", seen: caughtUp),
                    ])
                }, noteRetry: {})
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { try await reader.read(from: .start) { _, _ in } }
                await caughtUp.wait(for: 1)
                #expect(recovered.count == 1)
                try gateway.injectFaults(#"{"on":"_changes","status":500,"times":2}"#)
                // Ends the longpoll that is open.
                try await bed.load(BotTestBed.tasks(3..<4))
                await caughtUp.wait(for: 2)
                #expect(recovered.count == 2)
                tasks.cancelAll()
                await #expect(throws: CancellationError.self) { try await tasks.waitForAll() }
            }
            #expect(caughtUp.count == 2)
        }
    }

    /// Regression: the client reacted only to the third such request, after four minutes.
    @Test
    func hangingLongpollIsReportedAtOnce() async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                guard !request.target.contains("feed=longpoll") else { return connection.waitForClose() }
                let page = ScriptedServer.feed([], last: 7).body
                try connection.answer(headers: ScriptedServer.syncGateway, body: page)
            }
        }
        var settings = GatewaySettings()
        settings.deadlines.longpollGrace = .seconds(1) - ChangesRequest.defaultLongpollTimeout
        let logged = EventCounter()
        var reader = FeedReader(
            gateway: Gateway(try GatewayURL(server.url("/todo")), settings: settings), end: .never, retries: .init(),
            logger: Logger(label: "test") { _ in Witness(words: "the changes feed was interrupted", seen: logged) },
            noteRetry: {})
        reader.waits.idleAfter = .zero
        await withThrowingTaskGroup { [reader] tasks in
            tasks.addTask { try await reader.read(from: .start) { _, _ in } }
            await logged.wait(for: 1)
            tasks.cancelAll()
            await #expect(throws: CancellationError.self) { try await tasks.waitForAll() }
        }
        // The request that lists the existing changes, and the one that hung.
        #expect(server.accepted.count <= 2)
    }

    /// sync_gateway#3721, #4825: documents were missing after a compound `since`.
    ///
    /// `changebot fix` finds documents that Sync Gateway itself leaves out: `FixTests`.
    @Test
    func lateChangesAreProcessed() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            try await bed.load(BotTestBed.tasks(0..<60))
            try gateway.injectFaults(#"{"reorder":8},{"on":"_changes","cut":[300,9000],"times":4}"#)
            #expect(try await bed.runOnce(try bed.rules(BotTestBed.doneRules)).written == 60)
            #expect(gateway.faultCounts["cut"] ?? 0 > 0)
            gateway.stopFaults()
            try await bed.expectDoneOnce(0..<60)
        }
    }

    /// The newest sequence comes before the others, so a run that ends with the changes that existed at its start does
    /// not end there.
    @Test
    func changesBehindTheNewestAreProcessed() async throws {
        try await withDirectory { directory in
            // Long enough to arrive in a later piece than the row before it.
            let text = String(repeating: "x", count: 2 << 20)
            let long = ScriptedServer.row(4).replacing(#""n":1.10"#, with: #""n":"\#(text)""#)
            let newest = ScriptedServer.row(6).replacing(#""seq":6"#, with: #""seq":"3::6""#)
            let rows = [newest, long, ScriptedServer.row(5)]
            let server = try ScriptedServer(
                information: #"{"db_name":"todo","update_seq":6,"state":"Online"}"#
            ) { request, _ in
                request.path == "/todo/_changes" ? ScriptedServer.feed(rows, last: 6) : ScriptedServer.written(request)
            }
            #expect(try await server.runOnce(directory).counters.written == 3)
        }
    }

    /// couchdb#3885, #3788, #748: the feed restarts from the beginning when shards move.
    @Test
    func rewoundFeedCausesNoSecondWrite() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.load(BotTestBed.tasks(0..<40))
            try gateway.injectFaults(#"{"duplicate":0.5},{"rewind":1000,"times":3},{"last_seq_early":15,"times":2}"#)
            #expect(try await bed.runOnce(rules).written == 40)
            try gateway.injectFaults(#"{"rewind":1000,"times":3},{"duplicate":1}"#)
            let again = try await bed.runOnce(rules)
            #expect(again.changes >= 40)
            #expect(again.written == 0)
            #expect(gateway.faultCounts["rewind"] ?? 0 > 0)
            gateway.stopFaults()
            try await bed.expectDoneOnce(0..<40)
        }
    }
}
