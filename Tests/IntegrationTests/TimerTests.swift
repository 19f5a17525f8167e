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

/// A clock that moves only on request.
final class SetClock: Sendable {
    private let seconds: Locked<Int>

    init(_ seconds: Int = 1_795_168_800) { self.seconds = Locked(seconds) }

    var now: Int { seconds.withLock { $0 } }
    func move(by span: Int) { seconds.withLock { $0 += span } }

    func set(_ settings: inout BotSettings) {
        settings.delivery.now = { self.now }
        settings.fleet.usesEngineTime = false
        settings.delivery.intervals.maxSleep = .milliseconds(5)
    }
}

/// Rules that fire at a time in the document.
@Suite(.limitedParallelism) struct TimerTests {
    /// The rule's effects are counted, so that a second one is noticed.
    private static let reminders = """
        version: 1
        rules:
          - name: remind
            when: { type: task }
            at: .dueAt
            if: .done | not
            then:
              - merge: { reminders: { jq: .reminders + 1 } }
        """

    private func task(_ id: String, due: Int, _ more: String = "") -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"task","dueAt":\#(due)\#(more)}"#)
    }

    private func change(_ bed: BotTestBed, _ id: DocumentID, _ edit: (JSONText) throws -> JSONText?) async throws {
        let document = try #require(try await bed.stored(id))
        let revision = try #require(document.root["_rev"]?.string)
        let body = try edit(document)?.bytes ?? Array(#"{"_id":"\#(id)","_rev":"\#(revision)","_deleted":true}"#.utf8)
        let outcomes = try await bed.phone.bulkDocs([BulkDocument(id: id, segments: [body])])
        guard case .written? = outcomes.first else {
            Issue.record("not changed: \(outcomes)")
            return
        }
    }

    private func reminders(_ bed: BotTestBed, _ id: DocumentID) async throws -> Int? {
        try await bed.stored(id)?.root["reminders"].flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) }
    }

    private func waiting(_ bed: BotTestBed, _ rules: RuleSet) throws -> [WaitingTimer] {
        let ledger = try bed.ledger(rules)
        defer { ledger.close() }
        return try ledger.waitingTimers(limit: 100).first
    }

    /// Only documents that fit into the memory budget are read, and no more until these are finished.
    @Test func dueDocumentsAreReadAsMemoryAllows() async throws {
        let receiver = try TestReceiver { _, _ in
            usleep(200_000)
            return .answer(204)
        }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: tell
                    when: { type: task }
                    at: .dueAt
                    then: [webhook: { url: "\(receiver.url)" }]
                """)
            let clock = SetClock()
            let text = String(repeating: "y", count: 300_000)
            try await bed.load((0..<12).map { task("t\($0)", due: clock.now + 10, #","text":"\#(text)""#) })
            let configure: (inout BotSettings) -> Void = { settings in
                clock.set(&settings)
                settings.delivery.capacity.memory = MemoryPool(bytes: 1_200_000)
            }
            try await bed.runOnce(rules, configure: configure)
            #expect(receiver.requests.isEmpty)
            clock.move(by: 20)
            let counters = try await bed.runOnce(rules, configure: configure)
            #expect(counters.outside.accepted == 12)
            #expect(Set(receiver.requests.map(\.documentID)).count == 12)
            // Each takes 900 kB. One is requested before the sizes of the others are known.
            #expect(receiver.maxConcurrent <= 3)
        }
    }

    @Test func timerFiresOnceWhenDue() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders)
            let clock = SetClock()
            try await bed.load([task("t1", due: clock.now + 1000), task("t2", due: clock.now - 5)])
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try await reminders(bed, "t1") == nil)
            #expect(try await reminders(bed, "t2") == 1)
            let timers = try waiting(bed, rules)
            #expect(timers.map(\.id) == ["t1"] && timers.map(\.rule) == ["remind"])
            #expect(timers.map(\.due) == [clock.now + 1000])
            clock.move(by: 999)
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try await reminders(bed, "t1") == nil)
            clock.move(by: 1)
            try await bed.following(rules, configure: clock.set) {
                try await bed.wait(until: "t1") { $0["reminders"] != nil }
            }
            // Neither a restart nor a change of another member makes the rule fire again.
            for id in ["t1", "t2"] as [DocumentID] { try await change(bed, id) { try $0.setting("/note", to: "1") } }
            clock.move(by: 1000)
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try await reminders(bed, "t1") == 1)
            #expect(try await reminders(bed, "t2") == 1)
            #expect(try waiting(bed, rules).isEmpty)
            // Another time makes it fire again.
            try await change(bed, "t2") { try $0.setting("/dueAt", to: "\(clock.now - 1)") }
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try await reminders(bed, "t2") == 2)
        }
    }

    @Test func timerIsSetWhileTheBotRuns() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders)
            let clock = SetClock()
            try await bed.following(rules, configure: clock.set) {
                try await bed.load([
                    task("t1", due: clock.now + 1000), (DocumentID("seen"), #"{"_id":"seen","type":"task","dueAt":1}"#),
                ])
                try await bed.wait(until: "seen") { $0["reminders"] != nil }
                clock.move(by: 1000)
                try await bed.wait(until: "t1") { $0["reminders"] != nil }
            }
            #expect(try await reminders(bed, "t1") == 1)
        }
    }

    @Test func ruleThatFiresForATimeAgainSendsItsWebhookAgain() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - { name: remind, when: { open: true }, at: .dueAt, then: [webhook: { url: \(receiver.url) }] }
                  - { name: see, when: { n: { $exists: true } }, if: .seen != .n, then: [merge: { seen: { jq: .n } }] }
                """)
            let clock = SetClock()
            @Sendable func wait(for step: String) async throws {
                try await bed.wait(until: "t") { $0["seen"].map { String(decoding: $0.bytes, as: UTF8.self) } == step }
            }
            try await bed.following(rules, configure: clock.set) {
                try await bed.load([task("t", due: clock.now - 5, #","open":true,"n":1"#)])
                try await wait(for: "1")
                for (step, isOpen) in [("2", "false"), ("3", "true")] {
                    try await change(bed, "t") { try $0.setting("/n", to: step).setting("/open", to: isOpen) }
                    try await wait(for: step)
                }
            }
            #expect(receiver.requests.count == 2)
            #expect(Set(receiver.requests.map(\.eventID)).count == 1)
        }
    }

    @Test func changeMovesOrCancelsATimer() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders)
            let clock = SetClock()
            let names = ["moved", "done", "other", "gone", "without"]
            try await bed.load(names.map { task($0, due: clock.now + 100) })
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try waiting(bed, rules).count == 5)
            try await change(bed, "moved") { try $0.setting("/dueAt", to: "\(clock.now + 200)") }
            try await change(bed, "done") { try $0.setting("/done", to: "true") }
            try await change(bed, "other") { try $0.setting("/type", to: #""list""#) }
            try await change(bed, "without") { try $0.setting("/dueAt", to: "null") }
            try await change(bed, "gone") { _ in nil }
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try waiting(bed, rules).map(\.id) == ["done", "moved"])
            clock.move(by: 100)
            try await bed.runOnce(rules, configure: clock.set)
            // The rule's other conditions are decided when the timer is due.
            #expect(try waiting(bed, rules).map(\.id) == ["moved"])
            clock.move(by: 100)
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try waiting(bed, rules).isEmpty)
            for name in names.dropFirst() { #expect(try await reminders(bed, DocumentID(name)) == nil, "\(name)") }
            #expect(try await reminders(bed, "moved") == 1)
        }
    }

    /// A change that the bot has not yet seen counts, too.
    @Test func firedTimerDecidesTheCurrentDocument() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders)
            let clock = SetClock()
            try await bed.load([task("deleted", due: clock.now + 100), task("moved", due: clock.now + 100)])
            try await bed.runOnce(rules, configure: clock.set)
            try await change(bed, "deleted") { _ in nil }
            try await change(bed, "moved") { try $0.setting("/dueAt", to: "\(clock.now + 500)") }
            clock.move(by: 100)
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try waiting(bed, rules).map(\.due) == [clock.now + 400])
            #expect(try await reminders(bed, "moved") == nil)
        }
    }

    @Test func clockJumpLosesAndRepeatsNoTimer() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders)
            let clock = SetClock()
            try await bed.load((1...20).map { task("t\($0)", due: clock.now + $0 * 3600) })
            try await bed.following(rules, configure: clock.set) {
                try await bed.load([task("seen", due: 1)])
                try await bed.wait(until: "seen") { $0["reminders"] != nil }
                clock.move(by: 5 * 3600)
                try await bed.wait(until: (1...5).map { DocumentID("t\($0)") }) { $0["reminders"] != nil }
                clock.move(by: -86_400)
                clock.move(by: 10 * 86_400)
                try await bed.wait(until: (1...20).map { DocumentID("t\($0)") }) { $0["reminders"] != nil }
                clock.move(by: -10 * 86_400)
            }
            for number in 1...20 {
                try await change(bed, DocumentID("t\(number)")) { try $0.setting("/note", to: "1") }
            }
            try await bed.runOnce(rules, configure: clock.set)
            for number in 1...20 { #expect(try await reminders(bed, DocumentID("t\(number)")) == 1, "\(number)") }
        }
    }

    @Test func tenThousandTimersInOneMinuteLeaveTheFeedItsShare() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders)
            let clock = SetClock()
            try await bed.load((0..<10_000).map { task("t\($0)", due: clock.now + 100 + $0 % 60) })
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try waiting(bed, rules).count == 100)
            let left = Locked(0)
            let counters = try await bed.following(rules, configure: clock.set) {
                clock.move(by: 200)
                try await bed.wait(until: "t0") { $0["reminders"] != nil }
                try await bed.load([task("new", due: 1)])
                try await bed.wait(until: "new") { $0["reminders"] != nil }
                let all = try await bed.phone.allDocs(keys: (0..<10_000).map { DocumentID("t\($0)") })
                left.withLock {
                    $0 = all.count { if case .found(_, let body) = $0 { body.root["reminders"] == nil } else { true } }
                }
                try await bed.wait(until: (0..<10_000).map { DocumentID("t\($0)") }) { $0["reminders"] != nil }
            }
            #expect(left.withLock { $0 } > 0, "the change waited for all timers")
            #expect(counters.deadLetters == 0)
            #expect(counters.rules.fired["remind"] == 10_001)
            #expect(try waiting(bed, rules).isEmpty)
        }
    }

    @Test func failingTimerIsADeadLetter() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders.replacing(".reminders + 1", with: ".reminders | error"))
            let clock = SetClock()
            try await bed.load([task("t1", due: clock.now + 10)])
            try await bed.runOnce(rules, configure: clock.set)
            clock.move(by: 10)
            #expect(try await bed.runOnce(rules, configure: clock.set).deadLetters == 1)
            #expect(try await bed.runOnce(rules, configure: clock.set).deadLetters == 0)
            #expect(try waiting(bed, rules).isEmpty)
        }
    }

    @Test func timerOfADeletedDocumentKeepsTheDeadLetterOfItsTombstone() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(
                Self.reminders + """

                      - name: fail
                        on: [delete]
                        when: {}
                        then: [put: { id: x, document: { a: { jq: error("no") } } }]
                    """)
            let clock = SetClock()
            try await bed.load([task("t1", due: clock.now + 100)])
            try await bed.runOnce(rules, configure: clock.set)
            try await change(bed, "t1") { _ in nil }
            #expect(try await bed.runOnce(rules, configure: clock.set).deadLetters == 1)
            clock.move(by: 100)
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try waiting(bed, rules).isEmpty)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let letters = try ledger.deadLetters()
            #expect(letters.map(\.id) == ["t1"], "\(letters)")
        }
    }

    @Test func timersOfRemovedRulesAreDropped() async throws {
        try await BotTestBed.with { bed in
            let clock = SetClock()
            let rules = try bed.rules(Self.reminders)
            try await bed.load([task("t1", due: clock.now + 10)])
            try await bed.runOnce(rules, configure: clock.set)
            let others = try bed.rules(Self.reminders.replacing("remind\n", with: "renamed\n"))
            try await bed.runOnce(others, configure: clock.set)
            #expect(try waiting(bed, others).isEmpty)
        }
    }

    /// Without a record of what has fired, the rule's conditions decide.
    @Test func passFiresDueRules() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders)
            try await bed.load([task("past", due: 1_795_168_800), task("future", due: 1_795_168_801)])
            #expect(try await bed.fix(rules).written == 1)
            #expect(try await reminders(bed, "past") == 1)
            #expect(try await reminders(bed, "future") == nil)
        }
    }

    /// Existing documents get a new rule's timers when the rule is applied to all documents.
    @Test func catchUpOfChangedRulesSetsTimers() async throws {
        try await BotTestBed.with { bed in
            let clock = SetClock()
            let none = try bed.rules("version: 1\nrules: [{name: other, when: {type: x}, then: []}]\n")
            try await bed.load([task("t1", due: clock.now + 10), task("t2", due: clock.now - 10)])
            try await bed.runOnce(none, configure: clock.set)
            let rules = try bed.rules(Self.reminders)
            let passes = try bed.passes([Self.reminders], catchesUp: true)
            try await bed.runOnce(rules) { settings in
                clock.set(&settings)
                settings.passes = passes
            }
            #expect(try await reminders(bed, "t2") == 1)
            #expect(try waiting(bed, rules).map(\.id) == ["t1"])
            // The bot knows what the pass has fired.
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try await reminders(bed, "t2") == 1)
            clock.move(by: 10)
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try await reminders(bed, "t1") == 1)
        }
    }

    @Test func resetCreatesTimersAgain() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.reminders)
            let clock = SetClock()
            try await bed.load([task("t1", due: clock.now + 10)])
            try await bed.runOnce(rules, configure: clock.set)
            let mark = try await bed.phone.localDocument("changebot.changebot")
            try await bed.phone.saveLocalDocument(
                "changebot.changebot", body: Array(#"{"foreign":true}"#.utf8), revision: mark?.revision)
            try await bed.runOnce(rules, configure: clock.set)
            #expect(try waiting(bed, rules).map(\.id) == ["t1"])
        }
    }
}

/// The bot is killed while timers are set, or while they fire.
@Suite(.limitedParallelism) struct TimerCrashTests {
    private static let rules = """
        version: 1
        rules:
          - name: remind
            when: { type: task, late: { $exists: false } }
            at: .dueAt
            then:
              - put: { id: { jq: '"log." + ._id' }, document: { type: log } }
              - merge: { late: true }
          - name: note
            when: { type: task }
            at: .notedAt
            then:
              - put: { id: { jq: '"note." + ._id' }, document: { type: note } }
        """
    private static let count = 30
    private static let places = CrashPoint.allCases.filter {
        ![
            .databaseMarked, .stateForgotten, .outsideEffectsDone, .passBegun, .passDone, .totalsWritten,
            .countsCompleted,
        ].contains($0)
    }

    private func load(_ bed: BotTestBed, _ clock: SetClock) async throws {
        try await bed.load(
            (0..<Self.count).map { number in
                let id = "t\(number)"
                let body =
                    #"{"_id":"\#(id)","type":"task","dueAt":\#(clock.now + 10),"notedAt":\#(clock.now + 10)}"#
                return (DocumentID(id), body)
            })
    }

    /// Each rule has fired once for each document, and no timer is left.
    private func expectEverythingOnce(_ bed: BotTestBed, _ rules: RuleSet, _ state: String, _ place: Comment)
        async throws
    {
        for number in 0..<Self.count {
            #expect(
                try await bed.stored(DocumentID("t\(number)"))?.root["_rev"]?.string?.hasPrefix("2-") == true, place)
            for name in ["log", "note"] {
                let other = try await bed.stored(DocumentID("\(name).t\(number)"))
                #expect(other?.root["_rev"]?.string?.hasPrefix("1-") == true, place)
            }
        }
        let ledger = try bed.ledger(rules, state: state)
        defer { ledger.close() }
        #expect(try ledger.waitingTimers(limit: 1).count == 0, place)
        #expect(try ledger.deadLetterCount() == 0, place)
    }

    @Test(.disabled(if: TestEngine.isUsedByAllTests, "Death leaves files"), arguments: places)
    func noTimerIsLostWhileTheyFire(place: CrashPoint) async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(Self.rules)
            let clock = SetClock()
            try await load(bed, clock)
            try await bed.runOnce(rules, state: "before", configure: clock.set)
            clock.move(by: 10)
            let death = Death(at: place)
            try await death.run(bed, rules, ("before", "after"), once: true) { settings in
                clock.set(&settings)
                settings.delivery.limits.documents = 10
            }
            try await bed.runOnce(rules, state: "after", configure: clock.set)
            try await expectEverythingOnce(bed, rules, "after", "\(place)")
        }
    }

    @Test(.disabled(if: TestEngine.isUsedByAllTests, "Death leaves files"), arguments: places)
    func noTimerIsLostWhileTheyAreSet(place: CrashPoint) async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(Self.rules)
            let clock = SetClock()
            try await load(bed, clock)
            let death = Death(at: place)
            try await death.run(bed, rules, ("before", "after"), once: true) { settings in
                clock.set(&settings)
                settings.delivery.limits.documents = 10
            }
            try await bed.runOnce(rules, state: "after", configure: clock.set)
            clock.move(by: 10)
            try await bed.runOnce(rules, state: "after", configure: clock.set)
            try await expectEverythingOnce(bed, rules, "after", "\(place)")
        }
    }
}

extension JSONText {
    /// With a top-level member set.
    fileprivate func setting(_ path: String, to json: String) throws -> JSONText {
        try setting(JSONPointer(tokens: [String(path.dropFirst())]), to: json.utf8)
    }
}
