import BotState
import Bots
import Delivery
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Rules with `changed`, `enter` and `leave`, compared with the edits of a script.
@Suite(.limitedParallelism) struct EdgeTests {
    private static func rules(_ receiver: TestReceiver) -> String {
        func webhook(_ rule: String) -> String {
            """
            webhook: { url: \(receiver.url), body: { jq: '[ "\(rule)", ._id, $changed, $before.done, .done ]' } }
            """
        }
        return """
            version: 1
            rules:
              - name: changed
                when: { type: task }
                changed: [done]
                then: [ \(webhook("changed")) ]
              - name: finished
                when: { type: task, done: true }
                on: [enter]
                then: [ \(webhook("finished")) ]
              - name: reopened
                when: { type: task, done: true }
                on: [leave]
                remember: [done]
                then: [ \(webhook("reopened")) ]
            """
    }

    /// A document as the script last wrote it. Nil: deleted.
    private typealias Task = (type: String, done: Int?)

    private static func body(_ id: String, _ revision: String?, _ task: Task?, _ number: Int) -> String {
        let rev = revision.map { #""_rev":"\#($0)","# } ?? ""
        guard let task else { return #"{"_id":"\#(id)",\#(rev)"_deleted":true}"# }
        let done = task.done.map { #""done":\#($0 == 1 ? "true" : $0 == 0 ? "false" : "\"later\""),"# } ?? ""
        return #"{"_id":"\#(id)",\#(rev)\#(done)"type":"\#(task.type)","number":\#(number)}"#
    }

    /// Writes one document, whatever its revision is.
    private func write(_ bed: BotTestBed, _ id: String, _ task: Task?, _ number: Int) async throws {
        let stored = try await bed.stored(DocumentID(id))
        if stored == nil, task == nil { return }
        let body = Self.body(id, stored?.root["_rev"]?.string, task, number)
        let outcomes = try await bed.phone.bulkDocs([BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])])
        guard case .written? = outcomes.first else {
            Issue.record("not written: \(outcomes)")
            return
        }
    }

    /// The events that the receiver got, without their ids.
    private func events(_ receiver: TestReceiver, from start: Int) -> [String] {
        receiver.requests.dropFirst(start).map { String(decoding: $0.body, as: UTF8.self) }.sorted()
    }

    @Test func eachEdgeBetweenTwoReadsFiresOnce() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules(receiver))
            var random = SplitMix64(seed: 7)
            let ids = (0..<40).map { "t\($0)" }
            var now: [String: Task?] = [:]
            var seen: [String: Task] = [:]
            var matched: Set<String> = []
            for round in 0..<8 {
                for _ in 0..<60 {
                    guard let id = ids.randomElement(using: &random) else { continue }
                    let kind = Int.random(in: 0..<10, using: &random)
                    let task: Task? =
                        kind == 0
                        ? nil : (kind == 1 ? "note" : "task", [nil, 0, 1, 2].randomElement(using: &random) ?? nil)
                    let isKnown = now[id].map { $0 != nil } ?? false
                    if task == nil, !isKnown { continue }
                    try await write(bed, id, task, round)
                    now[id] = .some(task)
                }
                let start = receiver.requests.count
                try await bed.runOnce(rules)
                var expected: [String] = []
                func text(_ done: Int?) -> String {
                    done.map { $0 == 1 ? "true" : $0 == 0 ? "false" : #""later""# } ?? "null"
                }
                for (id, task) in now {
                    let isDone = task.map { $0.type == "task" && $0.done == 1 } ?? false
                    let done = text(task?.done)
                    if isDone, !matched.contains(id) { expected.append(#"["finished","\#(id)",[],null,\#(done)]"#) }
                    if !isDone, matched.contains(id) { expected.append(#"["reopened","\#(id)",[],true,\#(done)]"#) }
                    if isDone { matched.insert(id) } else { matched.remove(id) }
                    guard let task, task.type == "task" else { continue }
                    if let before = seen[id], before.done != task.done {
                        expected.append(#"["changed","\#(id)",["done"],\#(text(before.done)),\#(done)]"#)
                    }
                    seen[id] = task
                }
                #expect(events(receiver, from: start) == expected.sorted(), "round \(round)")
            }
            #expect(Set(receiver.requests.map(\.eventID)).count == receiver.requests.count)
        }
    }

    /// Restoring a state is like a kill before anything was recorded.
    @Test func edgesAreRepeatedUnderTheSameIDs() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            guard !TestEngine.isUsedByAllTests else { return }
            let rules = try bed.rules(Self.rules(receiver))
            for number in 0..<20 { try await write(bed, "t\(number)", ("task", 0), 0) }
            try await bed.runOnce(rules)
            let (state, copy) = (bed.directory + "/state", bed.directory + "/copy")
            try FileManager.default.copyItem(atPath: state, toPath: copy)
            for number in 0..<20 { try await write(bed, "t\(number)", ("task", 1), 1) }
            try await bed.runOnce(rules)
            let first = receiver.requests.compactMap(\.eventID)
            #expect(Set(first).count == 40)
            try FileManager.default.removeItem(atPath: state)
            try FileManager.default.moveItem(atPath: copy, toPath: state)
            // Other members of the document may have changed.
            for number in 0..<10 { try await write(bed, "t\(number)", ("task", 1), 2) }
            try await bed.runOnce(rules)
            let again = receiver.requests.dropFirst(first.count).compactMap(\.eventID)
            #expect(again.count == 40 && Set(again) == Set(first))
        }
    }

    @Test func learningFillsTheMemoryWithoutActing() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules(receiver))
            for number in 0..<5 { try await write(bed, "t\(number)", ("task", number % 2), 0) }
            let counters = try await bed.fix(rules, state: "state", mode: .learn)
            #expect(counters.changes >= 5 && counters.written == 0 && counters.outside.accepted == 0)
            #expect(receiver.requests.isEmpty)
            try await bed.runOnce(rules)
            #expect(receiver.requests.isEmpty)
            try await write(bed, "t0", ("task", 1), 1)
            try await bed.runOnce(rules)
            #expect(
                events(receiver, from: 0) == [
                    #"["changed","t0",["done"],false,true]"#, #"["finished","t0",[],null,true]"#,
                ])
        }
    }

    /// A pass inside the run makes a new rule learn all documents, so that it does not fire for them.
    @Test func newRuleLearnsWhileTheRunFollows() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let plain = "version: 1\nrules:\n  - { name: plain, when: { type: note }, then: [] }\n"
            try await bed.runOnce(bed.rules(plain))
            for number in 0..<5 { try await write(bed, "t\(number)", ("task", number % 2), 0) }
            try await bed.runOnce(bed.rules(plain))
            let yaml = Self.rules(receiver)
            let rules = try bed.rules(yaml)
            let passes = try bed.passes([yaml], catchesUp: true)
            let (bot, report) = try bed.bot(rules, once: false) { $0.passes = passes }
            try await EngineTestBed.running([bot]) {
                let all = ["changed": 5, "finished": 2, "reopened": 2]
                while true {
                    let shown = await report.remembered()
                    if shown.counts == all, shown.learning.isEmpty { break }
                    try await _Concurrency.Task.sleep(for: .milliseconds(20))
                }
                try await write(bed, "t0", ("task", 1), 1)
                while receiver.requests.count < 2 { try await _Concurrency.Task.sleep(for: .milliseconds(5)) }
            }
            #expect(
                events(receiver, from: 0) == [
                    #"["changed","t0",["done"],false,true]"#, #"["finished","t0",[],null,true]"#,
                ])
        }
    }

    @Test func editedRuleStartsAnewAndOthersDoNot() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let rules = Self.rules(receiver)
            try await write(bed, "t", ("task", 1), 0)
            try await bed.runOnce(bed.rules(rules))
            #expect(events(receiver, from: 0) == [#"["finished","t",[],null,true]"#])
            let edited = rules.replacing(
                "when: { type: task, done: true }\n    on: [enter]", with: "when: { done: true }\n    on: [enter]")
            #expect(edited != rules)
            try await write(bed, "t", ("task", 1), 1)
            try await bed.runOnce(bed.rules(edited))
            #expect(events(receiver, from: 1) == [#"["finished","t",[],null,true]"#])
            try await write(bed, "t", ("task", 0), 2)
            try await bed.runOnce(bed.rules(edited))
            #expect(
                events(receiver, from: 2) == [
                    #"["changed","t",["done"],true,false]"#, #"["reopened","t",[],true,false]"#,
                ])
        }
    }

    @Test func dryRunRecordsNothing() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.rules(receiver))
            try await write(bed, "t", ("task", 0), 0)
            try await bed.runOnce(rules)
            try await write(bed, "t", ("task", 1), 1)
            for _ in 0..<2 {
                let counters = try await bed.runOnce(rules) { $0.delivery.preview = Preview { _ in } }
                #expect(counters.rules.fired == ["changed": 1, "finished": 1])
            }
            try await bed.runOnce(rules)
            #expect(receiver.requests.count == 2)
        }
    }

    /// A dry run shows the documents that the run then writes.
    @Test func dryRunShowsTheEdgeOfTheRun() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: log
                    when: { type: task }
                    changed: [done]
                    then: [ put: { id: { jq: '"log." + $change.edge' }, document: { was: { jq: $before.done } } } ]
                """)
            try await write(bed, "t", ("task", 0), 0)
            try await bed.runOnce(rules)
            for round in 1...2 {
                try await write(bed, "t", ("task", round % 2), round)
                let shown = Locked<[String]>([])
                try await bed.runOnce(rules) { settings in
                    settings.delivery.preview = Preview { report in
                        let line = String(decoding: report.line(withRevision: true), as: UTF8.self)
                        shown.withLock { $0 += line.matches(of: /"id":"(log\.[0-9a-f]{24})"/).map { String($0.1) } }
                    }
                }
                let id = try #require(shown.withLock { $0 }.first)
                #expect(try await bed.stored(DocumentID(id)) == nil)
                try await bed.runOnce(rules)
                #expect(try await bed.stored(DocumentID(id))?.root["was"]?.bool == (round == 2))
            }
        }
    }

    @Test func deadLetteredEdgeFiresOnRetry() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: finished
                    when: { type: task, done: true }
                    on: [enter]
                    then: [ put: { id: { jq: '"log-" + ._id' }, document: { name: { jq: '.name | ascii_downcase' } } } ]
                """)
            try await bed.load([("t", #"{"_id":"t","type":"task","done":true,"name":1}"#)])
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 1)
            let stored = try #require(try await bed.stored("t"))
            let mended = String(decoding: stored.bytes, as: UTF8.self).replacing(#""name":1"#, with: #""name":"Amy""#)
            _ = try await bed.phone.bulkDocs([BulkDocument(id: "t", segments: [Array(mended.utf8)])])
            try await bed.runOnce(rules)
            #expect(try await bed.stored("log-t")?.root["name"]?.string == "amy")
        }
    }

    /// CouchDB has other digests for the attachments than the rules, but they are no difference.
    @Test func ownAttachmentIsOneEdge() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: files
                    when: { type: task }
                    changed: [_attachments]
                    first: fire
                    then:
                      - webhook: { url: \(receiver.url), body: { jq: '[ .n, (._attachments // {} | keys) ]' } }
                      - attach: { name: picture, file: picture.png, content_type: text/plain }
                  - name: all
                    when: { type: task }
                    then: [ webhook: { url: \(receiver.url), body: { jq: '[ "all", .n, $change.edge ]' } } ]
                """)
            func write(_ number: Int) async throws {
                let stored = try await bed.stored("t")
                let head = #"{"_id":"t","type":"task","n":\#(number)"#
                let members = ["_rev", "_attachments"].compactMap { name in
                    stored?.root[name].map { #","\#(name)":\#(String(decoding: $0.bytes, as: UTF8.self))"# }
                }
                let body = head + members.joined() + "}"
                let outcomes = try await bed.phone.bulkDocs([BulkDocument(id: "t", segments: [Array(body.utf8)])])
                guard case .written? = outcomes.first else {
                    Issue.record("not written: \(outcomes)")
                    return
                }
                for _ in 0..<3 { try await bed.runOnce(rules) }
            }
            try await write(0)
            #expect(events(receiver, from: 0) == [#"["all",0,null]"#, #"[0,["picture"]]"#])
            try await write(1)
            #expect(events(receiver, from: 2) == [#"["all",1,null]"#])
        }
    }

    /// A branch wins for a while. Then the revision that the bot wrote wins again.
    @Test func ownRevisionThatWinsAgainIsAnEdge() async throws {
        let receiver = try TestReceiver()
        try await withDirectory { directory in
            var configuration = EmbeddedGateway.Configuration(storage: .memory, logger: BotTestBed.logger)
            configuration.allowsConflicts = true
            try await BotTestBed.serve(configuration, in: directory) { bed in
                let rules = try bed.rules(
                    Self.rules(receiver) + """

                          - name: mark
                            when: { type: task, done: true, marked: { $exists: false } }
                            then: [ merge: { marked: true } ]
                        """)
                func store(_ members: String, _ digests: [String]) async throws {
                    let list = digests.map { #""\#($0)""# }.joined(separator: ",")
                    let rev = "\(digests.count)-\(digests[0])"
                    let body =
                        #"{"_id":"t","_rev":"\#(rev)",\#(members),"#
                        + #""_revisions":{"start":\#(digests.count),"ids":[\#(list)]}}"#
                    let document = BulkDocument(id: "t", segments: [Array(body.utf8)])
                    let revision = RevisionToStore(document, revision: RevisionID(rev))
                    #expect(try await bed.phone.storeRevisions([revision]) == [.written(RevisionID(rev))])
                    try await bed.runOnce(rules)
                }
                try await store(#""type":"task","done":true"#, ["a"])
                #expect(try await bed.stored("t")?.root["marked"]?.bool == true)
                try await store(#""type":"task","done":false"#, ["d", "c", "b"])
                try await store(#""_deleted":true"#, ["e", "d", "c", "b"])
                #expect(try await bed.stored("t")?.root["marked"]?.bool == true)
                let events = try receiver.requests.map { Array(try JSONText($0.body).root.elements) }
                let names = events.map { $0.first?.string ?? "" }
                #expect(names == ["finished", "changed", "reopened", "changed", "finished"])
                #expect(Set(receiver.requests.map(\.eventID)).count == 5)
                try await bed.runOnce(rules)
                #expect(receiver.requests.count == 5)
            }
        }
    }
}
