import Bots
import Delivery
import DocumentFlow
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import changebot

/// The order of the steps of each kind of rule, compared with golden files. See ``Trace`` and ``GoldenFile``.
@Suite(.limitedParallelism, .disabled(if: TestEngine.isUsedByAllTests)) struct TraceTests {
    private func yaml(_ rules: String...) -> String { "version: 1\nrules:\n" + rules.joined(separator: "\n") }

    private func document(_ id: String, _ members: String) -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)",\#(members)}"#)
    }

    private var order: (id: DocumentID, body: String) { document("o1", #""type":"order","n":1"#) }

    // MARK: - The document's own write

    @Test func ownWrite() async throws {
        try await TraceTestBed.with { bed in
            try await bed.expect(
                "own-write",
                rules: yaml(
                    "  - { name: done, when: { type: order, done: { $exists: false } }, then: [{ merge: { done: true } }] }",
                    "  - { name: picture, when: { type: order }, then: [{ attach: { name: p, file: picture.png } }] }"),
                [order])
        }
    }

    @Test func nothingToDo() async throws {
        try await TraceTestBed.with { bed in
            try await bed.expect(
                "nothing-to-do", rules: yaml("  - { name: n, when: { type: order }, then: [{ merge: { n: 1 } }] }"),
                [order, document("other", #""type":"other""#)])
        }
    }

    @Test func deletion() async throws {
        try await TraceTestBed.with { bed in
            try await bed.expect(
                "delete", rules: yaml("  - { name: sweep, when: { type: order }, then: [{ delete: {} }] }"), [order])
        }
    }

    @Test func conflictOnWrite() async throws {
        try await TraceTestBed.with { bed in
            let rules = try await bed.start(
                yaml("  - { name: done, when: { type: order }, then: [{ merge: { done: { jq: .n } } }] }"))
            try await bed.direct.load([order])
            let revision = try #require(try await bed.direct.stored("o1")?.root["_rev"]?.string)
            let rival = BulkDocument(
                id: "o1", segments: [Array(#"{"_id":"o1","_rev":"\#(revision)","type":"order","n":2}"#.utf8)])
            bed.beforeFirst("_bulk_docs") { [phone = bed.direct.phone] in _ = try? await phone.bulkDocs([rival]) }
            try await bed.runOnce("a change, and another one before the write", rules)
            try GoldenFile(name: "conflict-on-write").expect(bed.trace.text)
            #expect(try await bed.direct.stored("o1")?.root["done"]?.integer == 2)
        }
    }

    @Test func resolvedConflict() async throws {
        try await TraceTestBed.with(keepsConflicts: true) { bed in
            let rules = try await bed.start(
                yaml(
                    "  - { name: mark, when: { type: task, seen: { $exists: false } }, then: [{ merge: { seen: true } }] }",
                    "  - { name: one-revision, when: { type: task }, then: [{ resolve: merge }] }"))
            try await bed.direct.store("t", "a", #","type":"task","n":0,"m":0"#)
            try await bed.direct.store("t", "b a", #","type":"task","n":0,"m":1"#)
            try await bed.direct.store("t", "c a", #","type":"task","n":1,"m":0"#)
            try await bed.runOnce("a conflict", rules)
            try GoldenFile(name: "resolve").expect(bed.trace.text)
        }
    }

    // MARK: - Other documents

    @Test func put() async throws {
        try await TraceTestBed.with { bed in
            try await bed.expect(
                "put",
                rules: yaml(
                    """
                      - name: copy
                        when: { type: order }
                        then:
                          - put: { id: { jq: '"copy." + ._id' }, document: { type: copy, n: { jq: .n } }, if_exists: replace }
                          - merge: { copied: { jq: .n } }
                      - { name: chain, when: { type: copy }, then: [{ put: { id: last, document: { type: last } } }] }
                    """), [order])
        }
    }

    @Test func related() async throws {
        try await TraceTestBed.with { bed in
            let rules = try await bed.start(
                yaml(
                    """
                      - name: copy-name
                        when: { type: list }
                        then:
                          - related: { selector: { type: task, list: { jq: ._id } }, then: [{ merge: { name: { jq: $source.name } } }] }
                          - merge: { copied: { jq: .name } }
                    """))
            try await bed.direct.load([
                document("t1", #""type":"task","list":"l1""#), document("t2", #""type":"task","list":"l2""#),
            ])
            try await bed.traced.runOnce(rules, configure: TraceTestBed.steady)
            try await bed.direct.load([document("l1", #""type":"list","name":"A""#)])
            try await bed.runOnce("a change", rules)
            try GoldenFile(name: "related").expect(bed.trace.text)
        }
    }

    // MARK: - Outside the database

    @Test func webhook() async throws {
        try await TraceTestBed.with { bed in
            let receiver = try bed.receiver()
            try await bed.expect(
                "webhook",
                rules: yaml("  - { name: tell, when: { type: order }, then: [{ webhook: { url: \(receiver.url) } }] }"),
                [order])
        }
    }

    @Test func webhookWithAnswer() async throws {
        try await TraceTestBed.with { bed in
            let receiver = try bed.receiver { _, _ in .answer(200, body: #"{"id":"p"}"#) }
            try await bed.expect(
                "webhook-answer",
                rules: yaml(
                    """
                      - name: tell
                        when: { type: order, payment: { $exists: false } }
                        then:
                          - webhook:
                              url: \(receiver.url)
                              response: { merge: { payment: { jq: $response.body.id } } }
                      - { name: paid, when: { payment: { $exists: true }, paid: { $exists: false } }, then: [{ merge: { paid: true } }] }
                    """), [order])
        }
    }

    @Test func webhookThatFailsOnce() async throws {
        try await TraceTestBed.with { bed in
            let receiver = try bed.receiver { _, number in .answer(number == 0 ? 503 : 204) }
            try await bed.expect(
                "webhook-retry",
                rules: yaml("  - { name: tell, when: { type: order }, then: [{ webhook: { url: \(receiver.url) } }] }"),
                [order]
            ) { settings in
                settings.delivery.outside.backoff.base = .milliseconds(20)
                settings.delivery.outside.backoff.cap = .milliseconds(50)
            }
        }
    }

    @Test func emittedLines() async throws {
        try await TraceTestBed.with { bed in
            try await bed.expect(
                "emit",
                rules: yaml(
                    "  - { name: tell, when: { type: order }, then: [{ emit: { file: orders.ndjson } }, { merge: { told: true } }] }"
                ), [order])
        }
    }

    /// Effects outside the gateway are recorded before the next request, which may take long.
    @Test func emittedLinesBesideAWrite() async throws {
        try await TraceTestBed.with { bed in
            try await bed.expect(
                "emit-beside-write",
                rules: yaml(
                    "  - { name: tell, when: { type: order }, then: [{ emit: { file: orders.ndjson } }] }",
                    "  - { name: done, when: { type: task }, then: [{ merge: { done: true } }] }"),
                [order, document("t1", #""type":"task""#)])
        }
    }

    @Test func download() async throws {
        try await TraceTestBed.with { bed in
            let server = try bed.receiver { _, _ in
                .answer(200, headers: ["Content-Type: image/png"], body: "a picture")
            }
            try await bed.expect(
                "download",
                rules: yaml(
                    #"  - { name: picture, when: { type: order }, then: [{ attach: { name: p, url: "\#(server.server.url(""))", path: { jq: .path } } }] }"#
                ), [document("o1", #""type":"order","path":"/p.png""#)])
        }
    }

    // MARK: - Counts and times

    @Test func counts() async throws {
        try await TraceTestBed.with { bed in
            let rules = try await bed.start(
                yaml(
                    """
                      - name: counts
                        when: { type: order }
                        then:
                          - aggregate:
                              into: { jq: '"counts:" + .list' }
                              document: { type: counts }
                              count: { all: true }
                              sum: { n: { jq: .n } }
                      - { name: counted, when: { type: order }, then: [{ merge: { counted: true } }] }
                    """))
            try await bed.direct.load([document("o1", #""type":"order","list":"a","n":1"#)])
            try await bed.runOnce("a new document", rules)
            let revision = try #require(try await bed.direct.stored("o1")?.root["_rev"]?.string)
            try await bed.direct.load([document("o1", #""_rev":"\#(revision)","type":"order","list":"b","n":1"#)])
            try await bed.runOnce("it moves to another total", rules)
            try GoldenFile(name: "count").expect(bed.trace.text)
        }
    }

    @Test func timer() async throws {
        try await TraceTestBed.with { bed in
            let clock = SetClock()
            let rules = try await bed.start(
                yaml(
                    "  - { name: remind, when: { type: order }, at: .dueAt, then: [{ merge: { reminded: true } }] }"),
                configure: clock.set)
            try await bed.direct.load([document("o1", #""type":"order","dueAt":\#(clock.now + 1000)"#)])
            try await bed.runOnce("a document with a time", rules, configure: clock.set)
            clock.move(by: 1000)
            try await bed.runOnce("its time has come", rules, configure: clock.set)
            try GoldenFile(name: "timer").expect(bed.trace.text)
        }
    }

    @Test func scheduledPass() async throws {
        try await TraceTestBed.with { bed in
            let clock = SetClock()
            let other = yaml("  - { name: other, when: { type: other }, then: [{ merge: { n: 1 } }] }")
            let sweep = yaml("  - { name: sweep, when: { type: order }, then: [{ merge: { swept: { jq: $now } } }] }")
            let passes = try bed.traced.passes([other, "every: \"0 0 * * *\"\n" + sweep])
            let configure = { @Sendable (settings: inout BotSettings) in
                clock.set(&settings)
                settings.passes = passes
            }
            let rules = try await bed.start(other, configure: configure)
            let run = {
                try await bed.traced.runOnce(rules) { settings in
                    TraceTestBed.steady(&settings)
                    configure(&settings)
                }
            }
            // After a first pass, its own state and mark exist.
            clock.move(by: 86_400)
            _ = try await run()
            try await bed.direct.load([order])
            _ = try await run()
            clock.move(by: 86_400)
            try await bed.runOnce("the time of a pass has come", rules, fromStart: true, configure: configure)
            try GoldenFile(name: "scheduled-pass").expect(bed.trace.text)
        }
    }

    /// What a rule has seen of a document is recorded together with the effects.
    @Test func edges() async throws {
        try await TraceTestBed.with { bed in
            let receiver = try bed.receiver()
            let rules = try await bed.start(
                yaml(
                    """
                      - name: finished
                        when: { type: task, done: true }
                        on: [enter, leave]
                        remember: [name]
                        then: [{ webhook: { url: \(receiver.url), body: { jq: '[._id, $before.name]' } } }]
                      - name: renamed
                        when: { type: task }
                        changed: [name]
                        then: [{ put: { id: { jq: '"name." + $change.edge' }, document: { was: { jq: $before.name } } } }]
                    """))
            var revision = ""
            for (title, members) in [
                ("it is seen for the first time", #""type":"task","name":"a","done":false"#),
                ("it enters", #""type":"task","name":"a","done":true"#),
                ("a member changes", #""type":"task","name":"b","done":true"#),
                ("nothing that counts changes", #""type":"task","name":"b","done":true,"n":1"#),
                ("it leaves", #""type":"task","name":"b","done":false"#),
                ("it is deleted", #""_deleted":true"#),
            ] {
                try await bed.direct.load([document("t1", revision + members)])
                try await bed.runOnce(title, rules)
                guard let stored = try await bed.direct.stored("t1")?.root["_rev"]?.string else { continue }
                revision = #""_rev":"\#(stored)","#
            }
            try GoldenFile(name: "edges").expect(bed.trace.text)
        }
    }

    // MARK: - Failures

    @Test func deadLetter() async throws {
        try await TraceTestBed.with { bed in
            try await bed.expect(
                "dead-letter",
                rules: yaml(
                    """
                      - { name: before, when: { type: order }, then: [{ put: { id: before, document: { type: x } } }] }
                      - { name: broken, when: { type: order }, then: [{ merge: { x: { jq: error } } }] }
                    """), [order])
        }
    }

    @Test func skippedRule() async throws {
        try await TraceTestBed.with { bed in
            try await bed.expect(
                "skipped-rule",
                rules: yaml(
                    """
                      - { name: good, when: { type: order }, then: [{ merge: { good: true } }] }
                      - { name: bad, on_error: skip, when: { type: order }, then: [{ merge: { x: { jq: error } } }] }
                    """), [order])
        }
    }

    // MARK: - All together, and other jobs

    /// Rules with an effect of each kind on one document: the order of the stages.
    private func allStages(_ receiver: TestReceiver) -> String {
        yaml(
            """
              - name: outside
                when: { type: order }
                then:
                  - emit: { file: orders.ndjson }
                  - webhook: { url: \(receiver.url) }
              - name: counts
                when: { type: order }
                then: [{ aggregate: { into: totals, document: { type: totals }, count: { orders: true } } }]
              - name: inside
                when: { type: order }
                then:
                  - merge: { done: true }
                  - related: { selector: { type: task, order: { jq: ._id } }, then: [{ merge: { name: { jq: $source.n } } }] }
                  - put: { id: { jq: '"copy." + ._id' }, document: { type: copy } }
            """)
    }

    /// The receiver is slow, so documents that the rules have put are decided before it answers.
    @Test func allStages() async throws {
        try await TraceTestBed.with { bed in
            let receiver = try bed.receiver(hold: { [trace = bed.trace] in trace.block(until: "copy.o1 t1 -> 200") })
            let rules = try await bed.start(allStages(receiver))
            try await bed.direct.load([document("t1", #""type":"task","order":"o1""#)])
            try await bed.traced.runOnce(rules, configure: TraceTestBed.steady)
            try await bed.direct.load([order])
            try await bed.runOnce("a change", rules)
            try GoldenFile(name: "all-stages").expect(bed.trace.text)
        }
    }

    @Test func dryRun() async throws {
        try await TraceTestBed.with { bed in
            let receiver = try bed.receiver()
            let rules = try await bed.start(allStages(receiver))
            try await bed.direct.load([document("t1", #""type":"task","order":"o1""#), order])
            try await bed.runOnce("a dry run", rules) { $0.delivery.preview = Preview { _ in } }
            try GoldenFile(name: "dry-run").expect(bed.trace.text)
        }
    }

    @Test func fix() async throws {
        try await TraceTestBed.with { bed in
            let receiver = try bed.receiver()
            let rules = try bed.traced.rules(allStages(receiver))
            // Its state and mark exist.
            try await bed.traced.fix(rules)
            try await bed.direct.load([document("t1", #""type":"task","order":"o1""#), order])
            bed.trace.begin("a pass over all documents")
            try await bed.observing { _ = try await bed.traced.fix(rules) { $0.capacity.writers = 1 } }
            bed.trace.end()
            try GoldenFile(name: "fix").expect(bed.trace.text)
        }
    }
}
