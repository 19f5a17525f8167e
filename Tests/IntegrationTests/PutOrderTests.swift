import BotState
import Bots
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

/// A document that a rule puts is treated like any other, and is never older than its trigger.
@Suite(.limitedParallelism) struct PutOrderTests {
    /// Regression: the put was remembered as an own revision, so the change that it merged with was never decided.
    @Test(arguments: ["run", "fix"])
    func changeConcurrentWithAPutIsDecided(command: String) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: stamp
                    when: { type: task, seen: { $exists: false } }
                    then: [{ merge: { seen: true } }]
                  - name: link
                    when: { type: list }
                    then: [{ put: { id: { jq: .task }, document: { inList: { jq: ._id } }, if_exists: merge } }]
                """)
            try await bed.load([
                task("t1", "tea"), ("l1", #"{"_id":"l1","type":"list","task":"t1"}"#),
            ])
            let counters = command == "run" ? try await bed.runOnce(rules) : try await bed.fix(rules)
            #expect(counters.deadLetters == 0)
            let stored = try #require(try await bed.stored("t1"))
            #expect(stored.root["seen"]?.bool == true)
            #expect(stored.root["inList"]?.string == "l1")
        }
    }

    @Test func documentsThatPutEachOtherGetTheirOwnEffects() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: mark
                    when: { type: pair, marked: { $exists: false } }
                    then:
                      - merge: { marked: true }
                      - put: { id: { jq: .other }, document: { by: { jq: ._id } }, if_exists: merge }
                """)
            let count = 200
            try await bed.load(
                (0..<count).map { number in
                    let other = number.isMultiple(of: 2) ? number + 1 : number - 1
                    return (
                        DocumentID("p\(number)"), #"{"_id":"p\#(number)","type":"pair","other":"p\#(other)"}"#
                    )
                })
            #expect(try await bed.runOnce(rules).deadLetters == 0)
            let lookups = try await bed.phone.allDocs(keys: (0..<count).map { DocumentID("p\($0)") })
            for case .found(_, let document) in lookups {
                #expect(document.root["marked"]?.bool == true)
                #expect(document.root["by"]?.string == document.root["other"]?.string)
            }
            #expect(lookups.count == count)
        }
    }

    /// The invoice that one rule puts gets its number from the next rule, in the same run.
    @Test(arguments: ["run", "fix"])
    func putDocumentIsDecidedInTheSameRun(command: String) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: invoice
                    when: { type: order }
                    then: [{ put: { id: { jq: '"invoice." + ._id' }, document: { type: invoice, of: { jq: ._id } } } }]
                  - name: number
                    when: { type: invoice, number: { $exists: false } }
                    then: [{ merge: { number: { jq: '"N-" + .of' } } }]
                """)
            try await bed.load((0..<30).map { (DocumentID("o\($0)"), #"{"_id":"o\#($0)","type":"order"}"#) })
            let shown = try await bed.preview(rules, state: "none")
            #expect(shown.count == 60)
            let counters = command == "run" ? try await bed.runOnce(rules) : try await bed.fix(rules)
            #expect(counters.written == 60)
            for number in 0..<30 {
                let invoice = try await bed.stored(DocumentID("invoice.o\(number)"))
                #expect(invoice?.root["number"]?.string == "N-o\(number)")
            }
            #expect(try await bed.fix(rules, state: "another").written == 0)
        }
    }

    private static let summaries = """
        version: 1
        rules:
          - name: summary
            if: .stamped != .edit
            then:
              - put: { id: { jq: '"summary." + ._id' }, document: { edit: { jq: .edit } }, if_exists: replace }
              - merge: { stamped: { jq: .edit } }
        """

    /// Regression: a queued row was decided with its old content after a newer revision had been put, so the summary
    /// stayed outdated.
    @Test func summaryIsNeverOlderThanItsCause() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                Self.summaries.replacingOccurrences(of: "if: .stamped", with: "when: { type: doc }\n    if: .stamped"))
            let count = 60
            let ids = (0..<count).map { DocumentID("d\($0)") }
            try await bed.load(ids.map { ($0, #"{"_id":"\#($0)","type":"doc","edit":0}"#) })
            try await bed.following(rules) {
                for edit in 1...4 {
                    for (id, lookup) in zip(ids, try await bed.phone.allDocs(keys: ids)) {
                        guard case .found(let revision, _) = lookup else { continue }
                        // The later writer reads again, because the bot writes these documents, too.
                        _ = try await bed.phone.bulkDocs([
                            BulkDocument(
                                id: id,
                                segments: [
                                    Array(
                                        #"{"_id":"\#(id)","_rev":"\#(revision)","type":"doc","edit":\#(edit)}"#.utf8)
                                ])
                        ])
                    }
                }
            }
            try await bed.runOnce(rules)
            for id in ids {
                let document = try #require(try await bed.stored(id))
                let summary = try #require(try await bed.stored(DocumentID("summary.\(id)")))
                #expect(summary.root["edit"]?.integer == document.root["edit"]?.integer, "\(id)")
            }
        }
    }

    /// Regression: two bots that triggered each other wrote 793 revisions in ten seconds.
    @Test func twoBotsThatTriggerEachOtherSlowDown() async throws {
        try await BotTestBed.with { bed in
            func rule(_ from: String, _ to: String) throws -> RuleSet {
                try bed.rules(
                    """
                    version: 1
                    rules:
                      - name: \(from)
                        when: { type: \(from) }
                        then: [{ put: { id: \(to), document: { type: \(to), n: { jq: .n + 1 } }, if_exists: replace } }]
                    """)
            }
            let rules = [try rule("ping", "pong"), try rule("pong", "ping")]
            var bots: [(bot: Bot, report: RunReport)] = []
            for (number, ruleSet) in rules.enumerated() {
                bots.append(try bed.bot(ruleSet, state: "machine\(number)", once: false) { $0.name = "bot\(number)" })
            }
            try await withThrowingTaskGroup { group in
                for bot in bots { group.addTask { [bot = bot.bot] in try await bot.run() } }
                try await bed.load([("ping", #"{"_id":"ping","type":"ping","n":0}"#)])
                // Once both buckets are empty, there is one write every two seconds.
                try await bed.wait(until: "ping") { ($0["n"]?.integer ?? 0) >= 61 }
                group.cancelAll()
                while let result = await group.nextResult() { _ = result }
            }
            let written = await bots[0].report.counters().written
            #expect(30...33 ~= written)
        }
    }

    /// A write that is undone each time ends, even if the undone document is the one that is put.
    @Test func putThatIsAlwaysUndoneEnds() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: open
                    when: { type: door }
                    then: [{ put: { id: sign, document: { open: true }, if_exists: replace } }]
                """)
            var written = 0
            for _ in 0..<25 {
                try await bed.load([("door", try await body("door", #""type":"door""#, bed))])
                try await bed.load([("sign", try await body("sign", #""open":false"#, bed))])
                written += try await bed.runOnce(rules).written
            }
            #expect(written == 19)
            let ledger = try bed.ledger(rules)
            let deadLetter = try #require(try ledger.deadLetters().first)
            ledger.close()
            #expect(deadLetter.rule == "open")
            #expect(deadLetter.reason.contains("another bot or an app undoes it"))
            // When the content changes, the loop ends and the dead letter is removed.
            try await bed.load([("door", try await body("door", #""type":"door","painted":true"#, bed))])
            #expect(try await bed.runOnce(rules).written == 1)
            let healed = try bed.ledger(rules)
            defer { healed.close() }
            #expect(try healed.deadLetterCount() == 0)
        }
    }

    private func body(_ id: DocumentID, _ members: String, _ bed: BotTestBed) async throws -> String {
        let revision = try await bed.stored(id)?.root["_rev"]?.string.map { #","_rev":"\#($0)""# } ?? ""
        return #"{"_id":"\#(id)"\#(revision),\#(members)}"#
    }
}
