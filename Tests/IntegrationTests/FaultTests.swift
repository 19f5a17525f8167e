import BotState
import Bots
import DocumentFlow
import Foundation
import GatewayClient
import ServiceLifecycle
import TestKit
import Testing

@Suite(.limitedParallelism) struct FaultTests {
    private static let fourRows = ScriptedServer.feed((1...4).map(ScriptedServer.row), last: 4)

    @Test func writtenBytesDifferOnlyInTheEdit() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                request.path == "/todo/_changes"
                    ? ScriptedServer.feed([ScriptedServer.row(1)], last: 1) : ScriptedServer.written(request)
            }
            #expect(try await server.runOnce(directory).counters.written == 1)
            // `_cv` is left out, because `_rev` already guards the write.
            #expect(
                server.requests("/todo/_bulk_docs").map(\.text)
                    == [#"{"docs":[{"type":"task","n":1.10,"_id":"t1","_rev":"1-a","done":true}]}"#])
        }
    }

    /// The gateway could not read the document at that moment, and sends no other row for it.
    @Test func rowWithoutItsBodyIsRead() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                if request.path == "/todo/_changes" {
                    return ScriptedServer.feed([#"{"seq":1,"id":"t1","changes":[{"rev":"1-a"}]}"#], last: 1)
                }
                guard request.path == "/todo/_all_docs" else { return ScriptedServer.written(request) }
                return .init(
                    body:
                        #"{"rows":[{"key":"t1","id":"t1","value":{"rev":"1-a"},"doc":{"_id":"t1","_rev":"1-a","type":"task"}}],"total_rows":1}"#
                )
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.written == 1)
            #expect(deadLetters.isEmpty)
            #expect(server.requests("/todo/_all_docs").count == 1)
        }
    }

    /// A job must not wait forever for a feed that keeps reporting an internal error of the gateway.
    @Test func permanentlyFailingFeedEndsAJob() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { _, _ in
                ScriptedServer.feed([#"{"id":"","changes":null,"err":{}}"#], last: 9)
            }
            let failure = await #expect(throws: RunError.self) {
                try await server.runOnce(directory, retryFor: .milliseconds(300))
            }
            #expect(failure?.code == .gaveUp)
        }
    }

    @Test func oversizedRequestIsHalvedUntilItPasses() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                if request.path == "/todo/_changes" { return Self.fourRows }
                guard ScriptedServer.ids(in: request).count == 1 else {
                    return .init(status: 413, body: #"{"error":"Request Entity Too Large","reason":"too large"}"#)
                }
                return ScriptedServer.written(request)
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.written == 4)
            #expect(deadLetters.isEmpty)
        }
    }

    /// CouchDB refuses the whole request because of one document.
    @Test func badDocumentDoesNotBlockOthers() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                if request.path == "/todo/_changes" { return Self.fourRows }
                guard !ScriptedServer.ids(in: request).contains("t3") else {
                    return .init(
                        status: 400, body: #"{"error":"doc_validation","reason":"Bad special document member"}"#)
                }
                return ScriptedServer.written(request)
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.written == 3)
            #expect(counters.rejected == 1)
            #expect(deadLetters.map(\.id) == ["t3"])
            #expect(deadLetters.first?.reason.contains("Bad special document member") == true)
            #expect(deadLetters.first?.sequence?.description == "3")
        }
    }

    /// The answers of CouchDB and Sync Gateway if the validation function fails on a document.
    ///
    /// Regression: a job waited for that to end, gave up, and did the same in the next run.
    @Test(
        arguments: [[3], [1, 2, 3, 4]],
        [
            #""error":"unknown_error","reason":"no fives""#,
            #""error":"Internal Server Error","reason":"Exception in JS sync function","status":500"#,
        ])
    func documentThatTheGatewayFailsOnIsDeadLettered(rows: [Int], failure: String) async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                switch request.path {
                case "/todo/_changes": return ScriptedServer.feed(rows.map(ScriptedServer.row), last: 4)
                case "/todo/_all_docs":
                    let document = #"{"_id":"t3","_rev":"1-a","type":"task"}"#
                    return .init(body: #"{"rows":[{"key":"t3","id":"t3","value":{"rev":"1-a"},"doc":\#(document)}]}"#)
                default:
                    let answers = ScriptedServer.ids(in: request).map { id in
                        id == "t3"
                            ? #"{"id":"t3",\#(failure)}"#
                            : #"{"ok":true,"id":"\#(id)","rev":"2-b"}"#
                    }
                    return .init(status: 201, body: "[" + answers.joined(separator: ",") + "]")
                }
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.written == rows.count - 1)
            #expect(deadLetters.map(\.id) == ["t3"])
            #expect(deadLetters.first?.reason.contains("the gateway refused it (500)") == true)
            #expect(deadLetters.first?.rule?.isEmpty == false)
        }
    }

    /// Documents that failed in a batch in which others were written are sent again alone. Then the failure is an
    /// outage.
    @Test func outageWithinAnAnswerLosesNoDocument() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, number in
                switch request.path {
                case "/todo/_changes": return Self.fourRows
                case "/todo/_all_docs":
                    let rows = (2...4).map { id in
                        #"{"key":"t\#(id)","id":"t\#(id)","value":{"rev":"1-a"},"#
                            + #""doc":{"_id":"t\#(id)","_rev":"1-a","type":"task"}}"#
                    }
                    return .init(body: #"{"rows":[\#(rows.joined(separator: ","))]}"#)
                default:
                    let answers = ScriptedServer.ids(in: request).map { id in
                        number > 3 || number == 0 && id == "t1"
                            ? #"{"id":"\#(id)","rev":"2-b"}"#
                            : #"{"id":"\#(id)","error":"Internal Server Error","reason":"kv","status":500}"#
                    }
                    return .init(status: 201, body: "[" + answers.joined(separator: ",") + "]")
                }
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.written == 4)
            #expect(deadLetters.isEmpty)
        }
    }

    @Test func cutFeedContinuesAfterItsLastRow() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, number in
                guard request.path == "/todo/_changes" else { return ScriptedServer.written(request) }
                if number == 0 {
                    var answer = Self.fourRows
                    answer.cutAfter = answer.body.utf8.count * 2 / 3
                    return answer
                }
                return ScriptedServer.feed((3...4).map(ScriptedServer.row), last: 4)
            }
            let counters = try await server.runOnce(directory).counters
            #expect(counters.written == 4)
            #expect(counters.traffic.retries == 1)
            let asked = server.requests("/todo/_changes").map(\.target)
            #expect(asked.count == 4)
            #expect(asked.dropFirst().first?.hasPrefix("/todo/_changes?since=2&") == true)
            // The last request waits for writes that the feed lacks.
            #expect(asked.map { $0.contains("request_plus=true") } == [false, false, false, true])
        }
    }

    @Test func errorRowIsRequestedAgainFromTheRowBefore() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, number in
                guard request.path == "/todo/_changes" else { return ScriptedServer.written(request) }
                return number == 0
                    ? ScriptedServer.feed([ScriptedServer.row(1), #"{"id":"","changes":null,"err":{}}"#], last: 9)
                    : ScriptedServer.feed([ScriptedServer.row(2)], last: 2)
            }
            #expect(try await server.runOnce(directory).counters.written == 2)
            #expect(server.requests("/todo/_changes")[1].target.contains("since=1&"))
        }
    }

    /// The write was accepted, but its answer got lost. The repeated write gets a conflict, and nothing is left to do.
    @Test func lostAnswerCausesNoSecondWrite() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, number in
                switch request.path {
                case "/todo/_changes": ScriptedServer.feed([ScriptedServer.row(1)], last: 1)
                case "/todo/_all_docs":
                    .init(
                        body:
                            #"{"rows":[{"key":"t1","id":"t1","value":{"rev":"2-b"},"doc":{"type":"task","done":true,"_id":"t1","_rev":"2-b"}}]}"#
                    )
                default:
                    number == 0
                        ? nil
                        : .init(
                            status: 201,
                            body:
                                #"[{"error":"conflict","id":"t1","reason":"Document revision conflict","status":409}]"#)
                }
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.conflicts == 1)
            #expect(counters.matched == 1)
            #expect(counters.written == 0)
            #expect(deadLetters.isEmpty)
            #expect(server.requests("/todo/_bulk_docs").count == 2)
        }
    }

    @Test func undecidedDocumentIsSentAgain() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, number in
                switch request.path {
                case "/todo/_changes": ScriptedServer.feed([ScriptedServer.row(1)], last: 1)
                case "/todo/_all_docs":
                    .init(
                        body:
                            #"{"rows":[{"key":"t1","id":"t1","value":{"rev":"1-a"},"doc":{"type":"task","_id":"t1","_rev":"1-a"}}]}"#
                    )
                default:
                    number == 0
                        ? .init(
                            status: 201,
                            body: #"[{"error":"Service Unavailable","id":"t1","reason":"busy","status":503}]"#)
                        : ScriptedServer.written(request)
                }
            }
            #expect(try await server.runOnce(directory).counters.written == 1)
        }
    }

    @Test func busyGatewayIsRetried() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, number in
                if number == 0 {
                    return .init(
                        status: 503, body: #"{"error":"Service Unavailable","reason":"Replication limit exceeded"}"#)
                }
                return request.path == "/todo/_changes" ? Self.fourRows : ScriptedServer.written(request)
            }
            let counters = try await server.runOnce(directory).counters
            #expect(counters.written == 4)
            #expect(counters.traffic.retries == 2)
        }
    }

    /// The gateway refuses permanently: the change becomes a dead letter, and the checkpoint advances.
    @Test func forbiddenWriteIsADeadLetter() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                if request.path == "/todo/_changes" { return ScriptedServer.feed([ScriptedServer.row(1)], last: 1) }
                return .init(
                    status: 201,
                    body: #"[{"error":"forbidden","id":"t1","reason":"sg missing role","status":403}]"#)
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.rejected == 1)
            #expect(deadLetters.first?.reason.contains("sg missing role") == true)
            #expect(deadLetters.first?.attempts == 1)
        }
    }

    /// A start sequence that the gateway refuses must not become the checkpoint.
    @Test func refusedStartSequenceIsNotSaved() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { _, _ in
                .init(status: 400, body: #"{"error":"Bad Request","reason":"Invalid sequence"}"#)
            }
            let failure = await #expect(throws: RunError.self) { try await server.runOnce(directory) }
            #expect(failure?.code == .sequenceRefused)
            #expect(try server.checkpoint(directory) == nil)
        }
    }

    @Test func missingCollectionEndsTheRun() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { _, _ in
                .init(status: 404, body: #"{"error":"not_found","reason":"keyspace todo.x not found"}"#)
            }
            let failure = await #expect(throws: RunError.self) { try await server.runOnce(directory) }
            #expect(failure?.code == .databaseMissing)
        }
    }

    /// A proxy's error page with status 400 says nothing about the documents, so they do not become dead letters.
    @Test func refusalOfAProxyIsNotTakenForTheGateways() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, number in
                if request.path == "/todo/_changes" { return Self.fourRows }
                guard number > 0 else { return .init(status: 400, headers: [], body: "<html>Bad Request</html>") }
                return ScriptedServer.written(request)
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.written == 4)
            #expect(deadLetters.isEmpty)
        }
    }

    /// The gateway always fails on one document. Halving the batch finds it, and the others are written.
    @Test func documentThatTheGatewayFailsOnIsFound() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                if request.path == "/todo/_changes" { return Self.fourRows }
                let ids = ScriptedServer.ids(in: request)
                // Fail only once; otherwise this test would last as long as a daemon tolerates refusals.
                guard !(ids.contains("t3") && ids.count > 1) else {
                    return .init(status: 500, body: #"{"error":"Internal Server Error","reason":"Internal error"}"#)
                }
                return ScriptedServer.written(request)
            }
            let counters = try await server.runOnce(directory).counters
            #expect(counters.written == 4)
        }
    }

    /// `update_seq` is 0 while Sync Gateway is offline, so it does not show where the feed ends.
    @Test func offlineDatabaseDoesNotEndTheRunEarly() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer(
                information: #"{"db_name":"todo","update_seq":0,"state":"Starting"}"#
            ) { request, number in
                guard request.path == "/todo/_changes" else { return ScriptedServer.written(request) }
                var answer = Self.fourRows
                if number == 0 { answer.cutAfter = answer.body.utf8.count / 2 }
                return answer
            }
            #expect(try await server.runOnce(directory).counters.written >= 4)
        }
    }

    /// A bot that is stopped while a gateway refuses it ends at once, cleanly.
    @Test func botInBackOffStopsOnRequest() async throws {
        try await withDirectory { directory in
            let refused = EventCounter()
            let server = try ScriptedServer { _, _ in
                refused.increment()
                return .init(
                    status: 503, headers: ["Retry-After: 3000", "Content-Type: application/json"],
                    body: #"{"error":"Service Unavailable","reason":"busy"}"#)
            }
            let group = try server.daemon(directory)
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { try await group.run() }
                await refused.wait(for: 1)
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }

    /// So does a bot whose writes are refused. The next run decides the unwritten documents again.
    @Test func botWithWaitingWritesStopsOnRequest() async throws {
        try await withDirectory { directory in
            let refused = EventCounter()
            let server = try ScriptedServer { request, _ in
                if request.path == "/todo/_changes" { return Self.fourRows }
                refused.increment()
                return .init(
                    status: 429, headers: ["Retry-After: 3000", "Content-Type: application/json"],
                    body: #"{"error":"too_many_requests","reason":"busy"}"#)
            }
            let group = try server.daemon(directory)
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { try await group.run() }
                await refused.wait(for: 1)
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
            #expect(try server.checkpoint(directory) == nil)
        }
    }

    /// A proxy ends idle requests. That is not a failure of the gateway.
    @Test(arguments: [408, 502, 504, 524])
    func idleRequestEndedByAProxyIsNoError(status: Int) async throws {
        let answered = EventCounter()
        let server = try ScriptedServer { request, _ in
            guard request.target.contains("feed=longpoll") else { return ScriptedServer.feed([], last: 1) }
            answered.increment()
            return .init(status: status, headers: ["Content-Type: text/html"], body: "<html>Gateway Timeout</html>")
        }
        let retries = EventCounter()
        var reader = FeedReader(
            gateway: Gateway(try GatewayURL(server.server.url("/todo"))), end: .never, retries: .init(),
            logger: BotTestBed.logger, noteRetry: { retries.increment() })
        reader.waits.idleAfter = .zero
        await withThrowingTaskGroup { [reader] tasks in
            tasks.addTask { try await reader.read(from: .start) { _, _ in } }
            await answered.wait(for: 3)
            tasks.cancelAll()
            await #expect(throws: CancellationError.self) { try await tasks.waitForAll() }
        }
        #expect(retries.count == 0)
    }

    /// A document written without its id would become a new document in each attempt.
    @Test(arguments: [#"{"type":"task","_rev":"1-a"}"#, #"{"_id":7,"type":"task"}"#, #"{"_id":"t2","type":"task"}"#])
    func documentWithAnotherIDThanItsChangeIsDeadLettered(document: String) async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                guard request.path == "/todo/_changes" else { return ScriptedServer.written(request) }
                return ScriptedServer.feed(
                    [#"{"seq":1,"id":"t1","doc":\#(document),"changes":[{"rev":"1-a"}]}"#], last: 1)
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.written == 0)
            #expect(deadLetters.map(\.id) == ["t1"])
            #expect(server.requests("/todo/_bulk_docs").isEmpty)
        }
    }
}
