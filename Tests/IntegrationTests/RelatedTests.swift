import BotState
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Rules that act on the documents that a selector matches.
@Suite(.limitedParallelism(minutes: 10)) struct RelatedTests {
    private func rules(_ bed: BotTestBed, _ rules: String...) throws -> RuleSet {
        try bed.rules("version: 1\nrules:\n" + rules.joined(separator: "\n"))
    }

    /// Deletes the tasks of a deleted list.
    private static let deleteTasks = """
          - name: delete-tasks
            on: [delete]
            when: {}
            then:
              - related: { selector: { type: task, taskList.id: { jq: ._id } }, then: [delete: {}] }
        """

    /// Copies the name of a list to its tasks.
    private static let copyName = """
          - name: copy-name
            when: { type: task-list }
            then:
              - related:
                  selector: { type: task, taskList.id: { jq: ._id } }
                  then: [{ merge: { listName: { jq: $source.name } } }]
        """

    private func list(_ id: String, _ members: String = #""name":"A""#) -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"task-list",\#(members)}"#)
    }

    private func task(
        _ id: String, of list: String, _ more: String = ""
    ) -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"task","taskList":{"id":"\#(list)"}\#(more)}"#)
    }

    private func delete(_ id: DocumentID, _ bed: BotTestBed) async throws {
        let revision = try #require(try await bed.stored(id)?.root["_rev"]?.string)
        try await bed.load([(id, #"{"_id":"\#(id)","_rev":"\#(revision)","_deleted":true}"#)])
    }

    private func countExisting(_ ids: [String], _ bed: BotTestBed) async throws -> Int {
        var count = 0
        for start in stride(from: 0, to: ids.count, by: 1000) {
            let part = ids[start..<min(start + 1000, ids.count)]
            for lookup in try await bed.phone.allDocs(keys: part.map { DocumentID($0) }, includesBodies: false) {
                if case .found = lookup { count += 1 }
            }
        }
        return count
    }

    private func deadLetters(_ bed: BotTestBed, _ rules: RuleSet) throws -> [DeadLetter] {
        let ledger = try bed.ledger(rules)
        defer { ledger.close() }
        return try ledger.deadLetters()
    }

    // MARK: - What is done

    @Test func tasksOfADeletedListAreDeleted() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(bed, Self.deleteTasks)
            try await bed.load([list("l1"), list("l2")])
            try await bed.load((0..<700).map { task("t\($0)", of: "l1") } + (0..<50).map { task("o\($0)", of: "l2") })
            try await bed.runOnce(rules)
            try await delete("l1", bed)
            let counters = try await bed.runOnce(rules)
            #expect(counters.written == 700)
            #expect(counters.deleted == 700)
            #expect(try await countExisting((0..<700).map { "t\($0)" }, bed) == 0)
            #expect(try await countExisting((0..<50).map { "o\($0)" }, bed) == 50)
            #expect(try await bed.runOnce(rules).written == 0)
            #expect(try deadLetters(bed, rules).isEmpty)
        }
    }

    @Test func nameIsCopiedOnceAndOnlyWhereItDiffers() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try rules(bed, Self.copyName)
            try await bed.load([list("l1"), list("l2", #""name":"B""#)])
            try await bed.load([
                task("t1", of: "l1", #","n":12345678901234567890"#), task("t2", of: "l1", #","listName":"A""#),
                task("t3", of: "l2"), task("t4", of: "l3"),
            ])
            #expect(try await bed.runOnce(rules).written == 2)
            #expect(try await bed.stored("t1")?.root["listName"]?.string == "A")
            #expect(
                try await bed.stored("t1")?.root["n"].map { String(decoding: $0.bytes, as: UTF8.self) }
                    == "12345678901234567890")
            #expect(try await bed.stored("t2")?.root["_rev"]?.string?.hasPrefix("1-") == true)
            #expect(try await bed.stored("t3")?.root["listName"]?.string == "B")
            #expect(try await bed.stored("t4")?.root["listName"] == nil)
            #expect(try await bed.fix(rules).written == 0)
        }
    }

    /// Related documents are decided themselves, and their rule sees the new content.
    @Test func relatedDocumentIsDecided() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(
                bed, Self.copyName,
                """
                  - name: shout
                    when: { type: task, listName: { $exists: true }, loud: { $exists: false } }
                    then: [{ merge: { loud: { jq: .listName | ascii_upcase } } }]
                """)
            try await bed.load([list("l1", #""name":"tea""#), task("t1", of: "l1"), task("t2", of: "l1")])
            try await bed.runOnce(rules)
            for id in ["t1", "t2"] as [DocumentID] {
                #expect(try await bed.stored(id)?.root["loud"]?.string == "TEA")
            }
        }
    }

    @Test func deletingOneDeletesTheNextLevel() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(
                bed,
                """
                  - name: below
                    on: [delete]
                    when: {}
                    then: [{ related: { selector: { parent: { jq: ._id } }, then: [delete: {}] } }]
                """)
            let chain = (0..<5).map { (DocumentID("d\($0)"), #"{"_id":"d\#($0)","parent":"d\#($0 - 1)"}"#) }
            try await bed.load(chain)
            try await delete("d0", bed)
            try await bed.runOnce(rules)
            try await bed.runOnce(rules)
            #expect(try await countExisting((0..<5).map { "d\($0)" }, bed) == 0)
        }
    }

    @Test func documentIsNotRelatedToItself() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(
                bed,
                """
                  - name: same-kind
                    when: { type: pair, first: true }
                    then: [{ related: { selector: { type: pair }, then: [{ merge: { seen: true } }] } }]
                """)
            try await bed.load([
                ("a", #"{"_id":"a","type":"pair","first":true}"#), ("b", #"{"_id":"b","type":"pair"}"#),
            ])
            #expect(try await bed.runOnce(rules).written == 1)
            #expect(try await bed.stored("a")?.root["seen"] == nil)
            #expect(try await bed.stored("b")?.root["seen"]?.bool == true)
        }
    }

    @Test func changedDocumentIsWrittenAfterRelatedOnes() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try rules(
                bed,
                """
                  - name: move
                    when: { type: task-list, newOwner: { $exists: true } }
                    then:
                      - related:
                          selector: { type: task, taskList.id: { jq: ._id }, owner: { $ne: { jq: .newOwner } } }
                          then:
                            - merge: { owner: { jq: $source.newOwner } }
                            - put: { id: { jq: '"log." + ._id' }, document: { from: { jq: $source.owner } } }
                      - merge: { owner: { jq: .newOwner }, newOwner: null }
                """)
            try await bed.load([list("l1", #""owner":"amy","newOwner":"bob""#)])
            try await bed.load((0..<30).map { task("t\($0)", of: "l1", #","owner":"amy""#) })
            try await bed.runOnce(rules)
            #expect(try await bed.stored("l1")?.root["owner"]?.string == "bob")
            for number in 0..<30 {
                #expect(try await bed.stored(DocumentID("t\(number)"))?.root["owner"]?.string == "bob")
            }
            #expect(try await bed.stored("log.t0")?.root["_rev"]?.string?.hasPrefix("1-") == true)
            #expect(try await bed.runOnce(rules, state: "another").written == 0)
        }
    }

    // MARK: - Limits and refusals

    @Test func relatedDocumentsBeyondTheLimitAreNotChanged() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(
                bed,
                """
                  - name: few
                    when: { type: task-list }
                    then:
                      - related:
                          selector: { type: task, taskList.id: { jq: ._id } }
                          limit: 3
                          then: [delete: {}]
                      - merge: { done: true }
                """)
            try await bed.load([list("l1"), list("l2")])
            try await bed.load((0..<4).map { task("t\($0)", of: "l1") } + (0..<3).map { task("o\($0)", of: "l2") })
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 1)
            #expect(try await countExisting((0..<4).map { "t\($0)" }, bed) == 4)
            #expect(try await countExisting((0..<3).map { "o\($0)" }, bed) == 0)
            #expect(try await bed.stored("l1")?.root["done"] == nil)
            #expect(try await bed.stored("l2")?.root["done"]?.bool == true)
            let letter = try #require(try deadLetters(bed, rules).first)
            #expect(letter.id == "l1" && letter.rule == "few")
            #expect(letter.reason.contains("than the limit of 3 allows"))
            #expect(letter.reason.contains("raise 'limit'"))
        }
    }

    @Test func failingActionIsADeadLetterOfTheChange() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(
                bed,
                """
                  - name: fails
                    when: { type: task-list }
                    then:
                      - related:
                          selector: { type: task, taskList.id: { jq: ._id } }
                          then: [{ patch: [{ op: replace, path: /title, value: x }] }]
                  - name: counts
                    when: { type: task-list }
                    then: []
                """)
            try await bed.load([list("l1"), task("t1", of: "l1"), list("l2"), task("t2", of: "l2", #","title":"y""#)])
            try await bed.runOnce(rules)
            let letters = try deadLetters(bed, rules)
            #expect(letters.map(\.id) == ["l1"])
            #expect(letters.first?.rule == "fails")
            #expect(letters.first?.reason.hasPrefix("the related document 't1': ") == true)
            #expect(try await bed.stored("t2")?.root["title"]?.string == "x")
        }
    }

    /// Each document changes the next one, endlessly.
    @Test func chainOfRelatedChangesEnds() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(
                bed,
                """
                  - name: next
                    when: { n: { $exists: true }, hit: true }
                    then: [{ related: { selector: { n: { jq: .n + 1 } }, then: [{ merge: { hit: true } }] } }]
                """)
            try await bed.load(
                (0..<20).map {
                    (DocumentID("d\($0)"), #"{"_id":"d\#($0)","n":\#($0)\#($0 == 0 ? #","hit":true"# : "")}"#)
                })
            for _ in 0..<12 { try await bed.runOnce(rules) }
            #expect(try await bed.stored("d10")?.root["hit"]?.bool == true)
            #expect(try await bed.stored("d11")?.root["hit"] == nil)
            let letters = try deadLetters(bed, rules)
            #expect(letters.map(\.id) == ["d10"])
            #expect(letters.first?.reason == "rule chain: next → next")
        }
    }

    // MARK: - While others write

    /// Another writer keeps changing the documents: none of its edits is lost, and all documents are deleted.
    @Test func conflictsAreDecidedAgain() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(bed, Self.copyName)
            try await bed.load((0..<200).map { task("t\($0)", of: "l1", #","edits":0"#) })
            try await bed.following(rules) {
                try await bed.load([list("l1", #""name":"A""#)])
                for round in 1...3 {
                    for number in 0..<40 {
                        let id = DocumentID("t\(number * 5)")
                        var isWritten = false
                        while !isWritten {
                            guard let now = try await bed.stored(id) else { break }
                            let edited = try now.merging(JSONText(#"{"edits":\#(round)}"#).root)
                            let outcome = try await bed.phone.bulkDocs([BulkDocument(id: id, segments: [edited.bytes])])
                            if case .written = outcome[0] { isWritten = true }
                        }
                    }
                }
                try await bed.wait(until: (0..<200).map { DocumentID("t\($0)") }) { $0["listName"]?.string == "A" }
            }
            for number in 0..<40 {
                let document = try #require(try await bed.stored(DocumentID("t\(number * 5)")))
                #expect(document.root["edits"]?.integer == 3)
                #expect(document.root["listName"]?.string == "A")
            }
        }
    }

    /// A document that stops matching after it was found is left alone.
    @Test func documentThatNoLongerMatchesIsNotChanged() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(bed, Self.deleteTasks)
            try await bed.load([list("l1")])
            try await bed.load((0..<300).map { task("t\($0)", of: "l1") })
            try await delete("l1", bed)
            let isMoved = Locked(false)
            try await CrashPoint.$observer.withValue({ place in
                guard place == .relatedWritten else { return }
                isMoved.withLock { $0 = true }
            }) { try await bed.runOnce(rules) }
            #expect(isMoved.withLock { $0 })
            #expect(try await countExisting((0..<300).map { "t\($0)" }, bed) == 0)
        }
    }

    // MARK: - Without writing

    @Test func dryRunShowsRelatedDocumentsAndWritesNothing() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(bed, Self.copyName)
            try await bed.load([
                list("l1"), task("t1", of: "l1"), task("t2", of: "l1", #","listName":"A""#), list("l2", #""name":"B""#),
            ])
            let lines = try await bed.preview(rules)
            #expect(lines.count == 1)
            let effect = try #require(try JSONText(lines[0]).root["effects"].flatMap { Array($0.elements).first })
            #expect(effect["action"]?.string == "related")
            #expect(effect["rule"]?.string == "copy-name")
            #expect(effect["found"]?.integer == 2)
            #expect(effect["changed"]?.integer == 1)
            #expect(effect["documents"].flatMap { Array($0.elements).first }?["id"]?.string == "t1")
            #expect(try await bed.stored("t1")?.root["listName"] == nil)
        }
    }

    @Test func limitCountsOnlyChangedDocuments() async throws {
        try await BotTestBed.with { bed in
            let rules = try rules(bed, Self.copyName)
            try await bed.load((1...4).map { list("l\($0)") })
            try await bed.load((1...4).map { task("t\($0)", of: "l\($0)") })
            for _ in 1...2 { #expect(try await bed.fix(rules) { $0.changeLimit = 2 }.written == 2) }
            #expect(try await bed.fix(rules) { $0.changeLimit = 2 }.written == 0)
        }
    }
}
