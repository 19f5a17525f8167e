import BotState
import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

/// Rules that write other documents.
@Suite(.limitedParallelism) struct PutTests {
    private func summaries(_ more: String = "") -> String {
        """
        version: 1
        rules:
          - name: summary
            when: { type: task-list }
            then:
              - merge: { hasSummary: true }
              - put:
                  id: { jq: '"summary." + ._id' }
                  document: { type: summary, name: { jq: .name } }
                  \(more)
        """
    }

    private func list(_ id: String, _ name: String) -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"task-list","name":"\#(name)","owner":"amy"}"#)
    }

    @Test func derivedDocumentIsWrittenOnce() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(summaries())
            try await bed.load([list("amy.a", "A"), list("amy.b", "B")])
            #expect(try await bed.runOnce(rules).written == 4)
            let summary = try #require(try await bed.stored("summary.amy.a"))
            #expect(summary.root["name"]?.string == "A")
            #expect(summary.root["_rev"]?.string?.hasPrefix("1-") == true)
            #expect(try await bed.runOnce(rules, state: "another").written == 0)
        }
    }

    @Test(arguments: [("keep", "A"), ("replace", "New"), ("merge", "New")])
    func existingDocumentIsKeptReplacedOrMerged(existing: String, name: String) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(summaries("if_exists: \(existing)"))
            try await bed.load([
                list("amy.a", "New"),
                (
                    "summary.amy.a",
                    #"{"_id":"summary.amy.a","type":"summary","name":"A","extra":1.10,"_attachments":{"n":{"content_type":"text/plain","data":"aGk="}}}"#
                ),
            ])
            #expect(try await bed.runOnce(rules).written == (existing == "keep" ? 1 : 2))
            let summary = try #require(try await bed.stored("summary.amy.a"))
            #expect(summary.root["name"]?.string == name)
            #expect((summary.root["extra"] == nil) == (existing == "replace"))
            #expect(try await bed.phone.attachment("n", of: "summary.amy.a") == Array("hi".utf8))
            #expect(try await bed.runOnce(rules, state: "another").written == 0)
        }
    }

    /// Regression: the writers of one run conflicted with each other until some gave up.
    @Test func putsOfManyDocumentsIntoOneAreSerialized() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: last
                    when: { type: task, seen: { $exists: false } }
                    then:
                      - merge: { seen: true }
                      - put: { id: last, document: { task: { jq: ._id } }, if_exists: merge }
                """)
            try await bed.load((0..<300).map { task("t\($0)", "tea") })
            let counters = try await bed.runOnce(rules) { $0.delivery.limits.documents = 20 }
            #expect(counters.deadLetters == 0)
            #expect(counters.conflicts == 0)
            // One write covers all tasks of a batch.
            #expect(300 < counters.written && counters.written < 400)
            #expect(try await bed.stored("last")?.root["task"]?.string?.hasPrefix("t") == true)
        }
    }

    /// An id may be computed from a document's content; it must not overwrite the bot's own mark.
    @Test func localDocumentsAreNotWritten() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: local
                    when: { type: task }
                    then: [{ put: { id: { jq: .task }, document: { a: 1 }, if_exists: replace } }]
                """)
            try await bed.load([task("t1", "_local/changebot.changebot"), task("t2", "fine")])
            let counters = try await bed.runOnce(rules)
            #expect(counters.written == 1)
            #expect(counters.deadLetters == 1)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let reason = try ledger.deadLetters().first?.reason
            #expect(reason?.contains("_local/changebot.changebot") == true)
        }
    }

    @Test func deletedDocumentIsCreatedAgain() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(summaries())
            try await bed.load([list("amy.a", "A"), ("summary.amy.a", #"{"_id":"summary.amy.a"}"#)])
            let revision = try #require(try await bed.stored("summary.amy.a")?.root["_rev"]?.string)
            try await bed.phone.put("summary.amy.a", body: Array(#"{"_deleted":true,"_rev":"\#(revision)"}"#.utf8))
            #expect(try await bed.runOnce(rules).written == 2)
            #expect(try await bed.stored("summary.amy.a")?.root["name"]?.string == "A")
        }
    }

    private static let echo = """
        version: 1
        rules:
          - name: echo
            when: {}
            then: [{ put: { id: { jq: '"z" + ._id' }, document: { echo: true } } }]
        """

    /// Each document leads to another, endlessly. A document that a rule puts is decided like any other, up to ten
    /// times.
    @Test func chainOfPutsEnds() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.echo)
            try await bed.load([task("t1", "apple"), task("t2", "tea")])
            #expect(try await bed.runOnce(rules).written == 20)
            #expect(try await bed.runOnce(rules).written == 0)
            let tenth = DocumentID(String(repeating: "z", count: 10) + "t1")
            #expect(try await bed.stored(tenth) != nil)
            #expect(try await bed.stored(DocumentID("z" + tenth.text)) == nil)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let deadLetters = try ledger.deadLetters()
            #expect(deadLetters.count == 2)
            #expect(deadLetters.allSatisfy { $0.rule == "echo" && $0.reason == "rule chain: echo → echo" })
        }
    }

    /// The feed may show a put before the state records which rules led to it.
    @Test func chainOfPutsEndsOnALiveFeed() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.echo)
            let tenth = String(repeating: "z", count: 10)
            try await bed.following(rules) {
                for number in 0..<5 {
                    try await bed.load([task("t\(number)", "tea")])
                    try await bed.wait(until: DocumentID("\(tenth)t\(number)")) { _ in true }
                }
            }
            try await bed.runOnce(rules)
            for number in 0..<5 { #expect(try await bed.stored(DocumentID("z\(tenth)t\(number)")) == nil) }
        }
    }

    @Test func limitCountsOnlyWrites() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: card
                    when: { type: task-list }
                    then: [{ put: { id: { jq: '"card." + ._id' }, document: { of: { jq: ._id } } } }]
                """)
            try await bed.load((1...4).map { list("l\($0)", "L") })
            for _ in 1...2 { #expect(try await bed.fix(rules) { $0.changeLimit = 2 }.written == 2) }
            #expect(try await bed.stored("card.l4") != nil)
            #expect(try await bed.fix(rules) { $0.changeLimit = 2 }.written == 0)
        }
    }

    @Test func documentsOfOneBatchMayShareAnother() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: gather
                    when: { type: task }
                    then:
                      - put:
                          id: all
                          if_exists: merge
                          document: { jq: '{seen: {(._id): true}}' }
                """)
            try await bed.load((0..<40).map { task("t\($0)", "tea") })
            try await bed.runOnce(rules) { $0.delivery.capacity.writers = 3 }
            #expect(try await bed.stored("all")?.root["seen"]?.childCount == 40)
        }
    }

    /// The changed document is written last, and only if the other documents that it leads to could be written.
    @Test func refusedPutDeadLettersTheChangeWithTheRuleThatPut() async throws {
        try await withDirectory { directory in
            let server = try ScriptedServer { request, _ in
                switch request.path {
                case "/todo/_changes":
                    return ScriptedServer.feed((1...2).map(ScriptedServer.row), last: 2)
                case "/todo/_all_docs":
                    let keys = (try? JSONText(request.body).root["keys"]?.elements.compactMap { $0.string }) ?? []
                    let rows = keys.map { key in
                        key.hasPrefix("other.")
                            ? #"{"key":"\#(key)","error":"not_found","status":404}"#
                            : #"{"key":"\#(key)","id":"\#(key)","value":{"rev":"1-a"}}"#
                    }
                    return .init(body: #"{"rows":[\#(rows.joined(separator: ","))]}"#)
                default:
                    let rows = ScriptedServer.ids(in: request).map { id in
                        id == "other.t1"
                            ? #"{"id":"\#(id)","error":"Forbidden","reason":"no","status":403}"#
                            : #"{"id":"\#(id)","rev":"2-b"}"#
                    }
                    return .init(status: 201, body: "[\(rows.joined(separator: ","))]")
                }
            }
            let (counters, deadLetters) = try await server.runOnce(
                directory,
                then: #"[{"put":{"id":{"jq":"\"other.\" + ._id"},"document":{}}},{"merge":{"done":true}}]"#,
                laterRule: #"{"name":"later","when":{"seen":{"$exists":false}},"then":[{"merge":{"seen":true}}]}"#)
            #expect(counters.written == 2)
            #expect(deadLetters.map(\.id) == ["t1"])
            // The rule that fired last is not the cause.
            #expect(deadLetters.map(\.rule) == ["done"])
            #expect(
                deadLetters.first?.reason.contains(
                    "document 'other.t1', put by rule 'done': the gateway refused it (403)") == true)
            let written = server.requests("/todo/_bulk_docs").map { ScriptedServer.ids(in: $0) }
            #expect(written == [["other.t1", "other.t2"], ["t2"]])
        }
    }

    @Test func invalidKeyspaceIsBadConfiguration() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(summaries("keyspace: a..b"))
            let failure = await #expect(throws: RunError.self) { try await bed.runOnce(rules) }
            #expect(failure?.code == .badConfiguration)
        }
    }
}
