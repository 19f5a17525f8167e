import BotState
import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// What an unattended bot must not do.
@Suite(.limitedParallelism) struct TrustTests {
    private static let total = """
        version: 1
        rules:
          - name: total
            when: { type: cart }
            if: '.total != (.lines | add)'
            then: [{ merge: { total: { jq: '.lines | add' } } }]
        """

    /// Regression: a cart that got a line every few seconds lost its total after the fifth.
    @Test func busyDocumentIsNeverDeadLettered() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.total)
            try await bed.load([("cart", #"{"_id":"cart","type":"cart","lines":[1]}"#)])
            let counters = try await bed.following(rules) {
                for line in 1...24 {
                    try await bed.wait(until: "cart") { $0["total"]?.integer == line }
                    let revision = try #require(try await bed.stored("cart")?.root["_rev"]?.string)
                    let lines = Array(repeating: "1", count: line + 1).joined(separator: ",")
                    try await bed.load([
                        (
                            "cart",
                            #"{"_id":"cart","_rev":"\#(revision)","type":"cart","lines":[\#(lines)],"total":\#(line)}"#
                        )
                    ])
                }
                try await bed.wait(until: "cart") { $0["total"]?.integer == 25 }
            }
            #expect(counters.deadLetters == 0)
            #expect(counters.written == 25)
        }
    }

    @Test func skippedRuleDoesNotSkipOthers() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: bad
                    on_error: skip
                    when: { type: task }
                    then: [{ merge: { upper: { jq: '.task | if . == "tea" then error("no tea") else ascii_upcase end' } } }]
                  - name: good
                    when: { type: task }
                    then: [{ merge: { good: true } }]
                """)
            try await bed.load([task("t1", "tea"), task("t2", "milk")])
            let counters = try await bed.runOnce(rules)
            #expect(counters.written == 2)
            #expect(counters.deadLetters == 1)
            #expect(try await bed.stored("t1")?.root["good"]?.bool == true)
            #expect(try await bed.stored("t1")?.root["upper"] == nil)
            // The bot's own write neither removes the dead letter nor adds a second one.
            #expect(try await bed.runOnce(rules).deadLetters == 0)
            try await expectDeadLetters(["bad"], of: rules, bed)
            // The document is corrected.
            let revision = try #require(try await bed.stored("t1")?.root["_rev"]?.string)
            try await bed.load([("t1", #"{"_id":"t1","_rev":"\#(revision)","type":"task","task":"milk"}"#)])
            #expect(try await bed.runOnce(rules).written == 1)
            try await expectDeadLetters([], of: rules, bed)
        }
    }

    private func expectDeadLetters(_ expected: [String], of rules: RuleSet, _ bed: BotTestBed) async throws {
        let ledger = try bed.ledger(rules)
        defer { ledger.close() }
        #expect(try ledger.deadLetters().map(\.rule) == expected)
    }

    /// Regression: a dead letter stayed forever, whatever happened to its document.
    @Test(arguments: [#""type":"task","list":"a""#, #""type":"other""#, #""_deleted":true"#])
    func deadLetterIsDroppedWhenItsDocumentIsFinished(members: String) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: move
                    when: { type: task }
                    then: [{ patch: [{ op: copy, from: /list, path: /was }] }]
                """)
            try await bed.load([("t1", #"{"_id":"t1","type":"task"}"#)])
            #expect(try await bed.runOnce(rules).deadLetters == 1)
            let revision = try #require(try await bed.stored("t1")?.root["_rev"]?.string)
            try await bed.load([("t1", #"{"_id":"t1","_rev":"\#(revision)",\#(members)}"#)])
            try await bed.runOnce(rules)
            try await expectDeadLetters([], of: rules, bed)
        }
    }

    @Test func errorLimitIsExactAndNothingUndecidedIsPassed() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: move
                    when: { type: task }
                    then: [{ patch: [{ op: copy, from: /list, path: /was }] }]
                """)
            let bodies = (0..<900).map { number in
                let list = number.isMultiple(of: 3) ? "" : #","list":"a""#
                return (DocumentID("t\(number)"), #"{"_id":"t\#(number)","type":"task"\#(list)}"#)
            }
            try await bed.load(bodies)
            var dead = 0
            for limit in [7, 20] {
                let (bot, report) = try bed.bot(rules) {
                    $0.delivery.errorLimit = .count(limit)
                    $0.delivery.limits.documents = 40
                }
                let failure = await #expect(throws: RunError.self) { try await bot.run() }
                #expect(failure?.code == .tooManyErrors)
                #expect(await report.counters().deadLetters == limit + 1)
                let ledger = try bed.ledger(rules)
                dead = try ledger.deadLetterCount()
                ledger.close()
            }
            #expect(dead >= 21)
            let last = try await bed.runOnce(rules)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.deadLetterCount() == 300)
            #expect(last.deadLetters <= 300)
            for (id, _) in bodies where (Int(id.text.dropFirst()) ?? 0) % 3 != 0 {
                #expect(try await bed.stored(id)?.root["was"]?.string == "a")
            }
        }
    }

    /// The document of the dead letter waits for its receiver, and all other changes are finished.
    @Test func runEndsAtItsErrorLimitWhileDocumentsWait() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: move
                    when: { type: task }
                    on_error: skip
                    then: [{ patch: [{ op: copy, from: /list, path: /was }] }]
                  - name: tell
                    when: { type: task }
                    then: [{ webhook: { url: "http://127.0.0.1:1/" } }]
                """)
            try await bed.load([("a", #"{"_id":"a","type":"task"}"#), ("b", #"{"_id":"b","type":"task"}"#)])
            let (bot, _) = try bed.bot(rules, once: false) { $0.delivery.errorLimit = .count(0) }
            let failure = await #expect(throws: RunError.self) { try await bot.run() }
            #expect(failure?.code == .tooManyErrors)
        }
    }

    @Test func dryRunCountsAsTheRunDoes() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: list
                    when: { type: task, gone: { $exists: false } }
                    then: [{ put: { id: { jq: '"list." + .list' }, document: { seen: true }, if_exists: merge } }]
                  - name: gone
                    when: { type: task, gone: true }
                    then: [{ delete: {} }]
                """)
            try await bed.load(
                (0..<60).map { number in
                    let gone = number.isMultiple(of: 4) ? #","gone":true"# : ""
                    return (
                        DocumentID("t\(number)"),
                        #"{"_id":"t\#(number)","type":"task","list":"\#(number % 7)"\#(gone)}"#
                    )
                })
            let shown = Locked(0)
            let dry = try await bed.fix(rules, state: "dry") {
                $0.preview = Preview { _ in shown.withLock { $0 += 1 } }
            }
            let done = try await bed.fix(rules)
            #expect(done.written == 15 + 7)
            #expect(done.deleted == 15)
            #expect(dry.preview.written == done.written)
            #expect(dry.preview.deleted == done.deleted)
        }
    }

    @Test func limitCountsOnlyChanges() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.load(BotTestBed.tasks(0..<40))
            let counters = try await bed.fix(rules) { $0.changeLimit = 4 }
            #expect(counters.written == 4)
            #expect(counters.matched == 4)
            #expect(counters.rules.fired == ["done": 4])
        }
    }

    // MARK: - Answers

    /// Regression: with a full disk, CouchDB answers for each document, and a job from cron never ended.
    @Test(arguments: [429, 502, 503, 504, 507])
    func jobGivesUpOnUndecidedDocuments(status: Int) async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                switch request.path {
                case "/todo/_changes": return ScriptedServer.feed([ScriptedServer.row(1)], last: 1)
                case "/todo/_all_docs":
                    let document = #"{"type":"task","_id":"t1","_rev":"1-a"}"#
                    return .init(
                        body: #"{"rows":[{"key":"t1","id":"t1","value":{"rev":"1-a"},"doc":\#(document)}]}"#)
                default:
                    return .init(
                        status: 201, body: #"[{"id":"t1","error":"no","reason":"not now","status":\#(status)}]"#)
                }
            }
            let failure = await #expect(throws: RunError.self) {
                _ = try await server.runOnce(directory, retryFor: .milliseconds(300))
            }
            #expect(failure?.code == .gaveUp)
        }
    }

    /// Regression: for a user who may not list documents, tombstones were decided, and documents that an earlier pass
    /// wrote were never decided.
    @Test func passOverTheFeedReadsLiveDocumentsOnly() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                switch request.path {
                case "/todo/_changes":
                    let tombstone =
                        #"{"seq":2,"id":"t2","deleted":true,"doc":{"_id":"t2","_rev":"2-b","_deleted":true},"changes":[{"rev":"2-b"}]}"#
                    return ScriptedServer.feed([ScriptedServer.row(1), tombstone], last: 2)
                case "/todo/_all_docs":
                    return .init(status: 403, body: #"{"error":"Forbidden","reason":"admin only"}"#)
                default: return ScriptedServer.written(request)
                }
            }
            let rules = """
                version: 1
                rules:
                  - name: any
                    on: [change, delete]
                    when: {}
                    then: [{ merge: { fixed: true } }]
                """
            let counters = try await server.fix(directory, rules: rules)
            #expect(counters.changes == 2)
            #expect(counters.written == 1)
            #expect(server.requests("/todo/_bulk_docs").map { ScriptedServer.ids(in: $0) } == [["t1"]])
        }
    }

    /// Regression: a firewall that refuses a whole request because of one document ended each run with 77.
    @Test func documentRefusedByAFirewallIsFound() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                guard request.path != "/todo/_changes" else {
                    return ScriptedServer.feed((1...9).map(ScriptedServer.row), last: 9)
                }
                let ids = ScriptedServer.ids(in: request)
                guard !ids.contains("t5") else {
                    return .init(status: 403, body: #"{"error":"forbidden","reason":"blocked by policy"}"#)
                }
                return ScriptedServer.written(request)
            }
            let (counters, deadLetters) = try await server.runOnce(directory)
            #expect(counters.written == 8)
            #expect(deadLetters.map(\.id) == ["t5"])
        }
    }

    /// A user who may read but not write gets an error that says so when the retries are used up.
    @Test func readOnlyUserEndsTheRunAfterItsRetries() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                guard request.path != "/todo/_changes" else {
                    return ScriptedServer.feed((1...9).map(ScriptedServer.row), last: 9)
                }
                return .init(status: 403, body: #"{"error":"forbidden","reason":"read only"}"#)
            }
            let failure = await #expect(throws: RunError.self) {
                _ = try await server.runOnce(directory, retryFor: .milliseconds(200))
            }
            #expect(failure?.code == .gaveUp)
            #expect(failure?.description.contains("give the user the right to write") == true)
        }
    }
}
