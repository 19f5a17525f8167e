import HTTPServing
import LosslessJSON
import TestKit
import Testing

@testable import EmbeddedGateway

/// Faults of a feed's rows and of the database.
@Suite(.limitedParallelism) struct FaultFeedTests {
    private func router(documents: Int, _ fault: String, seed: Int = 1) async throws -> Router {
        let gateway = try TestGateway(database: "todo")
        var router = gateway.router
        for number in 0..<documents {
            _ = await router.answer(Request("PUT", "/todo/d\(number)", fields: [.json], body: Array("{}".utf8)))
        }
        router.faults = FaultInjection(try FaultPlan.parse(Array(#"{"seed":\#(seed),"faults":[\#(fault)]}"#.utf8)))
        return router
    }

    private func feed(_ router: Router, _ query: String = "since=1") async throws -> JSONValue {
        let text = try await Collected(await router.answer(Request("GET", "/todo/_changes?\(query)"))).bytes
        return try JSONText(text).root
    }

    private func rows(_ feed: JSONValue) -> [(sequence: String, id: String)] {
        (feed["results"].map { Array($0.elements) } ?? []).map { row in
            let sequence = row["seq"].map { $0.string ?? String(decoding: $0.bytes, as: UTF8.self) }
            return (sequence ?? "", row["id"]?.string ?? "")
        }
    }

    @Test(arguments: ["normal", "longpoll"]) func rowsAreDuplicated(feed kind: String) async throws {
        let router = try await router(documents: 3, #"{"duplicate":1}"#)
        let feed = try await feed(router, "since=1&feed=\(kind)")
        #expect(rows(feed).map(\.id) == ["d0", "d0", "d1", "d1", "d2", "d2"])
        #expect(feed["last_seq"]?.string == "4")
    }

    @Test func shareOfTheRowsIsDuplicated() async throws {
        let router = try await router(documents: 200, #"{"duplicate":0.5}"#)
        let count = rows(try await feed(router)).count
        #expect((250...350).contains(count))
        #expect(rows(try await feed(try await self.router(documents: 200, #"{"duplicate":0.5}"#))).count == count)
    }

    /// A client that resumes from any row, in order of arrival, misses no other row.
    @Test(arguments: 1...20) func reorderedRowsCanBeResumedFrom(seed: Int) async throws {
        let router = try await router(documents: 23, #"{"reorder":6}"#, seed: seed)
        let feed = try await feed(router)
        let rows = rows(feed)
        let sequences = try rows.map { try FeedPosition($0.sequence).sequence }
        let numbers = rows.map { Int($0.id.dropFirst()) ?? 0 }
        #expect(numbers != Array(0..<23))
        #expect(numbers.sorted() == Array(0..<23))
        #expect(feed["last_seq"]?.string == "24")
        for (place, since) in sequences.enumerated() {
            let missing = Set(0..<23).subtracting(numbers[...place])
            #expect(missing.allSatisfy { $0 + 2 > since }, "\(rows)")
        }
        #expect(rows.contains { $0.sequence.contains("::") })
    }

    @Test(arguments: [(1, "2"), (3, "4")]) func lastSeqIsSentEarly(count: Int, last: String) async throws {
        let router = try await router(documents: 5, #"{"last_seq_early":\#(count)}"#)
        for kind in ["normal", "longpoll"] {
            let feed = try await feed(router, "since=1&feed=\(kind)")
            #expect(rows(feed).count == count)
            #expect(feed["last_seq"]?.string == last)
        }
        let continuous = try await Collected(
            await router.answer(Request("GET", "/todo/_changes?since=1&feed=continuous"))
        ).text
        #expect(continuous.hasSuffix("]}\n{\"last_seq\":\"\(last)\"}\n"), "\(continuous)")
    }

    @Test func feedIsRewound() async throws {
        let router = try await router(documents: 9, #"{"rewind":3,"every":2}"#)
        #expect(rows(try await feed(router, "since=9")).map(\.id) == ["d8"])
        #expect(rows(try await feed(router, "since=9")).map(\.id) == ["d5", "d6", "d7", "d8"])
        let posted = Request("POST", "/todo/_changes", fields: [.json], body: Array(#"{"since":"2"}"#.utf8))
        _ = await router.answer(posted)
        let all = try JSONText(try await Collected(await router.answer(posted)).bytes).root
        #expect(rows(all).map(\.id).first == "_user/GUEST")
    }

    @Test func otherRequestsAreUnaffected() async throws {
        let router = try await router(documents: 3, #"{"duplicate":1,"feed":"longpoll"},{"status":500,"on":"_local"}"#)
        #expect(rows(try await feed(router)).count == 3)
        #expect(await router.answer(Request("GET", "/todo/_all_docs")).status == 200)
        #expect(await router.answer(Request("GET", "/todo/_local/a")).status == 500)
        #expect(router.faults.counts == ["duplicate": 0, "status": 1])
    }

    @Test func refusedDocumentsAreNotWritten() async throws {
        let fault = #"{"refuse_documents":{"share":0.5,"status":[403,503],"reason":"no"}}"#
        let router = try await router(documents: 0, fault)
        let documents = (0..<100).map { #"{"_id":"d\#($0)"}"# }.joined(separator: ",")
        let body = Array(#"{"docs":[\#(documents)]}"#.utf8)
        let answer = try await Collected(
            await router.answer(Request("POST", "/todo/_bulk_docs", fields: [.json], body: body)))
        #expect(answer.status == 201)
        let rows = Array(try JSONText(answer.bytes).root.elements)
        #expect(rows.map { $0["id"]?.string } == (0..<100).map { "d\($0)" })
        let written = Set(rows.filter { $0["rev"] != nil }.compactMap { $0["id"]?.string })
        #expect((30...70).contains(written.count))
        #expect(Set(rows.compactMap { $0["status"]?.integer }) == [403, 503])
        #expect(rows.allSatisfy { $0["rev"] != nil || $0["reason"]?.string == "no" })
        #expect(Set(self.rows(try await feed(router)).map(\.id)) == written)
    }

    @Test func resetEmptiesTheDatabase() async throws {
        let router = try await router(documents: 3, #"{"reset":true,"on":"database","after":1}"#)
        _ = await router.answer(Request("PUT", "/todo/_local/mark", fields: [.json], body: Array("{}".utf8)))
        let information = {
            try JSONText(try await Collected(await router.answer(Request("GET", "/todo/"))).bytes).root
        }
        let before = try await information()
        #expect(before["update_seq"]?.integer == 4)
        let after = try await information()
        #expect(after["update_seq"]?.integer == 1)
        #expect(after["instance_start_time"]?.integer != before["instance_start_time"]?.integer)
        #expect(await router.answer(Request("GET", "/todo/_local/mark")).status == 404)
        #expect(rows(try await feed(router, "since=0")).map(\.id) == ["_user/GUEST"])
        _ = await router.answer(Request("PUT", "/todo/d0", fields: [.json], body: Array("{}".utf8)))
        #expect(rows(try await feed(router, "since=1&feed=longpoll")).map(\.sequence) == ["2"])
        #expect(try await information()["update_seq"]?.integer == 2)
        #expect(router.faults.counts == ["reset": 1])
    }

    @Test func resetEndsWaitingFeeds() async throws {
        for kind in ["longpoll&timeout=900000", "longpoll&heartbeat=30000", "continuous&heartbeat=30000"] {
            let router = try await router(documents: 3, "")
            let waiting = Task {
                try await Collected(await router.answer(Request("GET", "/todo/_changes?since=4&feed=\(kind)"))).text
            }
            while router.store.signal.waitingCount == 0 { await Task.yield() }
            try await router.resetDatabase()
            let text = try await waiting.value
            #expect(
                kind.hasPrefix("longpoll") ? text.hasSuffix("],\n\"last_seq\":\"4\"}\n") : text == "\n\n", "\(text)")
        }
    }

    /// A write that is committed before a reset and reported after it must not move the feed's end.
    @Test func resetsDuringWritesKeepFeedAndDatabaseConsistent() async throws {
        let router = try await router(documents: 0, "")
        for round in 0..<20 {
            await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<4 {
                    group.addTask {
                        for number in 0..<10 {
                            let target = "/todo/d\(round)-\(writer)-\(number)"
                            _ = await router.answer(Request("PUT", target, fields: [.json], body: Array("{}".utf8)))
                        }
                    }
                }
                group.addTask { try await router.resetDatabase() }
                group.addTask { try await router.changeDatabase(.offline(.zero)) }
            }
            #expect(try router.store.lastSequence() == router.store.signal.lastSequence)
        }
    }

    @Test func databaseIsOfflineForATime() async throws {
        let router = try await router(documents: 3, #"{"offline":"1h","on":"_all_docs"}"#)
        #expect(await router.answer(Request("GET", "/todo/d0")).status == 200)
        for target in ["_all_docs", "d0", "_changes?feed=longpoll", "_local/a"] {
            let answer = try await Collected(await router.answer(Request("GET", "/todo/\(target)")))
            #expect(answer.status == 503)
            #expect(answer.text == #"{"error":"Service Unavailable","reason":"DB is currently under maintenance"}"#)
        }
        let information = try JSONText(try await Collected(await router.answer(Request("GET", "/todo/"))).bytes).root
        #expect(information["state"]?.string == "Offline")
        #expect(information["update_seq"]?.integer == 0)
        #expect(information["instance_start_time"]?.integer == router.started.time + 1)
        router.faults.follow(nil)
        #expect(await router.answer(Request("GET", "/todo/d0")).status == 200)
    }

    @Test func sessionExpires() async throws {
        let gateway = try TestGateway(database: "todo")
        var router = gateway.router
        let users = #"{"databases":{"todo":{"users":{"a":{"password":"secret","admin_channels":["*"]}}}}}"#
        try await router.accounts.replace(with: EmbeddedGateway.Users.parse(Array(users.utf8), database: "todo"))
        router.faults = FaultInjection(
            try FaultPlan.parse(Array(#"{"faults":[{"session_expired":true,"on":"document","times":2}]}"#.utf8)))
        let id = router.accounts.sessions.begin(for: "a").id
        let request = Request("GET", "/todo/d0", fields: [HTTPField("Cookie", "SyncGatewaySession=\(id)")])
        for _ in 0..<2 {
            let answer = try await Collected(await router.answer(request))
            #expect(answer.status == 401 && answer.text.contains("Session Invalid"))
        }
        // The second request was refused, so the session has ended. A request with a password hits the fault again.
        let named = Request("GET", "/todo/d0", fields: [HTTPField("Authorization", "Basic YTpzZWNyZXQ=")])
        #expect(await router.answer(named).status == 401)
        #expect(await router.answer(named).status == 404)
    }
}
