import DocumentFlow
import Encodings
import Fleet
import GatewayClient
import Locking
import LosslessJSON
import PostgreSQL
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery
@testable import changebot

/// Rules of all kinds, in members that share the work.
@Suite(.limitedParallelism(minutes: 10, isLong: true)) struct SharedRulesTests {
    private static let pause: Duration = .milliseconds(50)

    // MARK: - Counts

    /// The model's rules with another rule that counts, of the same name.
    private static let otherVersion = CountsModel.rules.replacing("hours: { jq: .hours }", with: "days: { jq: .days }")

    private func wait(until model: CountsModel) async throws {
        while try await !model.faults().isEmpty { try await Task.sleep(for: Self.pause) }
    }

    @Test(arguments: [1, 2]) func totalsEqualAFullCount(seed: Int) async throws {
        try await EngineTestBed.with { fleet in
            var random = SplitMix64(seed: UInt64(seed))
            let rules = try fleet.bed.rules(CountsModel.rules)
            let model = CountsModel(phone: fleet.bed.phone, tasks: 60)
            for _ in 0..<60 { try await model.edit(&random) }
            let phones = (0..<3).map { _ in SplitMix64(seed: random.next()) }
            @Sendable func edit(_ phone: Int, _ times: Int) async throws {
                var random = phones[phone]
                for _ in 0..<times { try await model.edit(&random) }
            }
            // While all documents are counted, and while members leave and join.
            try await fleet.sharing(rules) { _ in
                try await edit(0, 60)
                try await wait(until: model)
                try await edit(1, 60)
            }
            try await fleet.sharing(rules, members: 4...5) { _ in
                try await edit(2, 60)
                try await wait(until: model)
            }
            try await model.check("seed \(seed)")
            // A bot that now works alone finds nothing to do.
            let (bot, report) = try fleet.bot(rules, member: 6, once: true)
            try await bot.run()
            #expect(await report.facts().counters.written == 0)
            try await model.check("seed \(seed), alone")
        }
    }

    /// The first member has an older version of the rules, and holds most of the partitions for a while.
    @Test func countsOfNewRulesAreCompleteOnceAllMembersHaveThem() async throws {
        try await EngineTestBed.with { fleet in
            let old = try fleet.bed.rules(EngineTestBed.apples)
            let new = try fleet.bed.rules(CountsModel.rules)
            let model = CountsModel(phone: fleet.bed.phone, tasks: 40)
            var random = SplitMix64(seed: 7)
            for _ in 0..<60 { try await model.edit(&random) }
            let seed = random
            try await fleet.sharing(old, members: 1...1) { _ in
                let (bot, report) = try fleet.bot(new, member: 2) { settings in
                    settings.fleet.sharing = Sharing(role: .worker, partitions: 16)
                }
                try await EngineTestBed.running([bot]) {
                    try await fleet.wait(until: .following, report)
                    var random = seed
                    for _ in 0..<60 { try await model.edit(&random) }
                }
            }
            // Documents that were in the inbox stay there: new rules apply to changes from then on.
            @Sendable func faults() async throws -> [String] {
                try await model.faults().filter { !$0.contains("inbox") }
            }
            try await fleet.sharing(new, members: 3...4) { _ in
                while try await !faults().isEmpty { try await Task.sleep(for: Self.pause) }
            }
            #expect(try await faults().isEmpty)
        }
    }

    /// The previous version is removed while documents are counted for the new one.
    @Test func updateOfCountingRulesCompletes() async throws {
        try await EngineTestBed.with { fleet in
            let new = try fleet.bed.rules(CountsModel.rules)
            let old = try fleet.bed.rules(Self.otherVersion)
            let model = CountsModel(phone: fleet.bed.phone, tasks: 40)
            var random = SplitMix64(seed: 11)
            for _ in 0..<60 { try await model.edit(&random) }
            try await fleet.sharing(old, members: 1...2) { _ in
                try await fleet.wait(until: 1, "SELECT is_complete FROM aggregate_rule")
            }
            try await fleet.sharing(new, members: 3...4) { _ in try await wait(until: model) }
            try await model.check("")
        }
    }

    @Test func noCountsAreStoredWithoutCountingRules() async throws {
        try await EngineTestBed.with { fleet in
            let counting = try fleet.bed.rules(CountsModel.rules)
            let model = CountsModel(phone: fleet.bed.phone, tasks: 20)
            var random = SplitMix64(seed: 3)
            for _ in 0..<30 { try await model.edit(&random) }
            try await fleet.sharing(counting, members: 1...1) { _ in try await wait(until: model) }
            let none = try fleet.bed.rules(EngineTestBed.apples)
            let ids = (0..<30).map { DocumentID("a\($0)") }
            try await fleet.sharing(none, members: 2...3) { _ in
                // Until then, each decided document waits for a member with the counting rules.
                try await fleet.bed.load(ids.map { task($0.text, "apple") })
                try await fleet.bed.wait(until: ids, fleet.isDone)
                try await fleet.wait(until: 0, "SELECT count(*) FROM aggregate_rule")
                try await fleet.wait(until: 0, "SELECT count(*) FROM recount")
            }
            try await fleet.wait(until: 0, "SELECT count(*) FROM contribution")
        }
    }

    /// It joins and leaves, while the others stay.
    @Test func memberWithOtherRulesChangesNoTotals() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(CountsModel.rules)
            let other = try fleet.bed.rules(Self.otherVersion)
            let model = CountsModel(phone: fleet.bed.phone, tasks: 40)
            var random = SplitMix64(seed: 9)
            for _ in 0..<40 { try await model.edit(&random) }
            let seed = random
            try await fleet.sharing(rules, members: 1...2) { _ in
                var random = seed
                try await wait(until: model)
                for (number, rules) in [(3, other), (4, rules)] {
                    let (bot, report) = try fleet.bot(rules, member: number) { settings in
                        settings.fleet.sharing = Sharing(role: .worker, partitions: 16)
                    }
                    let edits = random
                    try await EngineTestBed.running([bot]) {
                        try await fleet.wait(until: .following, report)
                        var random = edits
                        for _ in 0..<40 { try await model.edit(&random) }
                    }
                    for _ in 0..<20 { try await model.edit(&random) }
                }
                try await wait(until: model)
                // The other version is removed.
                try await fleet.wait(until: 1, "SELECT count(*) FROM aggregate_rule")
                // Then no recount is requested.
                try await fleet.wait(until: 0, "SELECT count(*) FROM recount")
                try await wait(until: model)
            }
        }
    }

    // MARK: - Times

    @Test func timerFiresOnceInAFleet() async throws {
        try await EngineTestBed.with(countsRevisions: true) { fleet in
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: remind
                    when: { type: task }
                    at: .dueAt
                    if: .done | not
                    then:
                      - merge: { reminders: { jq: .reminders + 1 } }
                """)
            let clock = SetClock()
            let ids = (1...40).map { DocumentID("t\($0)") }
            @Sendable func isReminded(_ document: JSONValue) -> Bool { document["reminders"]?.integer == 1 }
            try await fleet.bed.load(
                ids.map { ($0, #"{"_id":"\#($0)","type":"task","dueAt":\#(clock.now + 1000)}"#) })
            try await fleet.sharing(rules, configure: clock.set) { _ in
                try await fleet.wait(until: 40, "SELECT count(*) FROM timer WHERE fired = 0")
                for id in ids { #expect(try await fleet.bed.stored(id)?.root["reminders"] == nil) }
                clock.move(by: 1000)
                try await fleet.bed.wait(until: ids.dropLast(), isReminded)
            }
            // Another member continues with the rest; nothing fires again.
            try await fleet.sharing(rules, members: 4...4, configure: clock.set) { _ in
                try await fleet.bed.wait(until: ids, isReminded)
                try await fleet.wait(until: 0, "SELECT count(*) FROM timer WHERE fired = 0")
            }
            for id in ids {
                #expect(try await fleet.bed.stored(id)?.root["_rev"]?.string?.hasPrefix("2-") == true)
            }
        }
    }

    /// More timers than are read at once.
    @Test func timersThatWaitForAReceiverDelayNoOthers() async throws {
        let receiver = try TestReceiver { _, _ in .answer(503) }
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: call
                    when: { type: order }
                    at: .dueAt
                    then: [ { webhook: { url: \(receiver.url) } } ]
                  - name: mark
                    when: { type: task }
                    at: .dueAt
                    then: [ { merge: { marked: true } } ]
                """)
            let clock = SetClock()
            let orders = (0..<1050).map {
                (DocumentID("o\($0)"), #"{"_id":"o\#($0)","type":"order","dueAt":\#(clock.now + 1000)}"#)
            }
            let tasks = (0..<5).map {
                (DocumentID("t\($0)"), #"{"_id":"t\#($0)","type":"task","dueAt":\#(clock.now + 2000)}"#)
            }
            try await fleet.bed.load(orders + tasks)
            try await fleet.sharing(rules, members: 1...2, configure: clock.set) { _ in
                try await fleet.wait(until: 1055, "SELECT count(*) FROM timer WHERE fired = 0")
                clock.move(by: 1000)
                try await fleet.wait(until: 1050, "SELECT count(*) FROM parked")
                clock.move(by: 1000)
                try await fleet.bed.wait(until: tasks.map(\.0)) { $0["marked"]?.bool == true }
            }
        }
    }

    @Test func scheduledPassRunsOnceInAFleet() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            // A pass skips what passes have written since it began: at the real time, so days in the past are used.
            let clock = SetClock(Timestamp.secondsNow - 3 * 86_400)
            let passes = try fleet.bed.passes([
                EngineTestBed.apples,
                """
                version: 1
                every: "0 0 * * *"
                rules: [{ name: count, when: { type: basket }, then: [{ merge: { seen: { jq: $now } } }] }]
                """,
            ])
            try await fleet.bed.load([("basket", #"{"_id":"basket","type":"basket"}"#)])
            try await fleet.sharing(
                rules,
                configure: { settings in
                    clock.set(&settings)
                    settings.passes = passes
                }
            ) { _ in
                try await fleet.wait(until: 1, "SELECT count(*) FROM schedule")
                for count in 1...2 {
                    clock.move(by: 86_400)
                    try await fleet.bed.wait(until: "basket") { $0["seen"]?.integer == clock.now }
                    let pass = "SELECT count(*) FROM schedule WHERE begun IS NULL AND done >= \(clock.now)"
                    try await fleet.wait(until: 1, pass)
                    // A revision that no pass has written.
                    let document = try #require(try await fleet.bed.phone.document("basket")?.root)
                    let revision = try #require(document["_rev"]?.string)
                    try await fleet.bed.load([
                        (
                            "basket",
                            #"{"_id":"basket","_rev":"\#(revision)","type":"basket","edits":\#(count)}"#
                        )
                    ])
                }
            }
            let basket = try await fleet.bed.phone.document("basket")?.root
            #expect(basket?["_rev"]?.string?.hasPrefix("5-") == true)
        }
    }

    // MARK: - Conflicts

    @Test func conflictsAreResolved() async throws {
        try await EngineTestBed.keepingConflicts { fleet in
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: mark
                    when: { type: task, seen: { $exists: false } }
                    then: [ { merge: { seen: true } } ]
                  - name: one-revision
                    when: { type: task }
                    then: [ { resolve: merge } ]
                """)
            let ids = (0..<20).map { DocumentID("t\($0)") }
            for id in ids {
                try await fleet.bed.store(id.text, "a", #","type":"task","n":0,"m":0"#)
                try await fleet.bed.store(id.text, "b a", #","type":"task","n":0,"m":1"#)
                try await fleet.bed.store(id.text, "c a", #","type":"task","n":1,"m":0"#)
            }
            try await fleet.sharing(rules) { _ in
                try await fleet.bed.wait(until: ids) { document in
                    document["n"]?.integer == 1 && document["m"]?.integer == 1 && document["seen"]?.bool == true
                }
            }
            for id in ids { #expect(try await fleet.bed.live(id).count == 1) }
        }
    }

    // MARK: - Waiting

    /// Rules that notify a receiver of orders, and finish tasks.
    private static func tellingOrders(to receiver: TestReceiver, timeout: String = "10s") -> String {
        """
        version: 1
        rules:
          - name: tell
            when: { type: order }
            then: [ { webhook: { url: \(receiver.url), timeout: \(timeout) } } ]
          - name: apples
            when: { type: task, task: apple, done: { $exists: false } }
            then: [ { merge: { done: true } } ]
        """
    }

    /// A receiver refuses the events of some documents. These wait in the log; others of their partition are processed.
    @Test func documentsThatWaitForAReceiverDelayNoOthers() async throws {
        let isUp = Locked(false)
        let receiver = try TestReceiver { _, _ in isUp.withLock { $0 } ? .answer(204) : .answer(503) }
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(Self.tellingOrders(to: receiver))
            try await fleet.sharing(
                rules, members: 1...2, partitions: 2,
                configure: { settings in
                    settings.delivery.outside.backoff.base = .milliseconds(50)
                    settings.delivery.outside.backoff.cap = .milliseconds(500)
                }
            ) { _ in
                try await fleet.bed.load(
                    (0..<200).map { (DocumentID("o\($0)"), #"{"_id":"o\#($0)","type":"order"}"#) })
                try await fleet.wait(until: 200, "SELECT count(*) FROM parked")
                try await fleet.bed.load((0..<300).map { task("a\($0)", "apple") })
                try await fleet.bed.wait(until: (0..<300).map { DocumentID("a\($0)") }, fleet.isDone)
                isUp.withLock { $0 = true }
                try await fleet.wait(until: 0, "SELECT count(*) FROM parked")
            }
        }
    }

    /// Regression: a member whose clock was an hour ahead fired timers an hour early, and one that was behind an hour
    /// late.
    @Test(arguments: [-3600, 3600]) func timersUseTheEnginesClock(lead: Int) async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: remind
                    when: { type: task, done: { $exists: false } }
                    at: .dueAt
                    then: [ { merge: { done: true } } ]
                """)
            let now = Timestamp.secondsNow
            func configure(_ settings: inout BotSettings) {
                settings.delivery.now = { Timestamp.secondsNow + lead }
            }
            try await fleet.sharing(rules, members: 1...1, partitions: 2, configure: configure) { _ in
                let due = ["soon": now + 2, "later": now + 1800]
                try await fleet.bed.load(
                    due.map { (DocumentID($0.key), #"{"_id":"\#($0.key)","type":"task","dueAt":\#($0.value)}"#) })
                try await fleet.bed.wait(until: ["soon"], fleet.isDone)
                try await fleet.wait(until: 1, "SELECT count(*) FROM timer WHERE fired = 0")
                #expect(try await fleet.bed.stored("later")?.root["done"] == nil)
            }
        }
    }

    /// Receivers refuse signatures that seem to be old.
    @Test func signaturesUseTheEnginesClock() async throws {
        let receiver = try TestReceiver()
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(Self.tellingOrders(to: receiver))
            try await fleet.sharing(
                rules, members: 1...1, partitions: 2,
                configure: { $0.delivery.now = { Timestamp.secondsNow - 3600 } }
            ) { _ in
                try await fleet.bed.load([("o", #"{"_id":"o","type":"order"}"#)])
                await receiver.wait(for: 1)
            }
            let time = try #require(receiver.requests.first.flatMap { Int($0.header("webhook-timestamp")) })
            #expect(abs(time - Timestamp.secondsNow) < 1800)
        }
    }

    /// Regression: the first member of a new fleet used its own clock until it had renewed its membership.
    @Test func memberKnowsTheEnginesTimeBeforeItWorks() async throws {
        try await EngineTestBed.with { fleet in
            let engine = try fleet.engine()
            engine.clock.watch {
                0
            } _: { _ in
            }
            let work = SharedWork(engine, Sharing(role: .auto, partitions: 2), logger: BotTestBed.logger)
            defer { work.close() }
            _ = try await work.join()
            #expect(engine.clock.now() > 0)
            await work.leave()
        }
    }

    /// A receiver does not answer for long. Its events wait in the log; other documents of their partition are
    /// processed.
    @Test func slowReceiverDelaysNoOtherDocuments() async throws {
        let mayAnswer = Monitor(false)
        let receiver = try TestReceiver { _, _ in
            mayAnswer.block { $0 }
            return .answer(204)
        }
        try await EngineTestBed.with { fleet in
            defer { mayAnswer.with { $0 = true } }
            let rules = try fleet.bed.rules(Self.tellingOrders(to: receiver, timeout: "5m"))
            try await fleet.sharing(rules, members: 1...1, partitions: 1) { _ in
                // More than a partition decides at once.
                try await fleet.bed.load(
                    (0..<600).map { (DocumentID("o\($0)"), #"{"_id":"o\#($0)","type":"order"}"#) })
                await receiver.wait(for: 8)
                try await fleet.bed.load((0..<100).map { task("a\($0)", "apple") })
                try await fleet.bed.wait(until: (0..<100).map { DocumentID("a\($0)") }, fleet.isDone)
                #expect(receiver.requests.count == 8)
                mayAnswer.with { $0 = true }
                await receiver.wait(for: 600)
                try await fleet.wait(until: 0, "SELECT count(*) FROM parked")
            }
            #expect(Set(receiver.requests.map(\.documentID)).count == 600)
        }
    }

    /// A document's contribution is counted, although the receiver does not accept its event.
    @Test(arguments: [false, true]) func totalsDoNotWaitForAReceiver(isPassFirst: Bool) async throws {
        let receiver = try TestReceiver { _, _ in .answer(503) }
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: tell
                    when: { type: order }
                    then: [ { webhook: { url: \(receiver.url) } } ]
                  - name: count
                    when: { type: order }
                    then:
                      - aggregate:
                          into: { jq: '"orders"' }
                          document: { type: total }
                          count: { orders: {} }
                """)
            @Sendable func load(_ numbers: Range<Int>) async throws {
                try await fleet.bed.load(
                    numbers.map { (DocumentID("o\($0)"), #"{"_id":"o\#($0)","type":"order"}"#) })
            }
            try await load(0..<20)
            try await fleet.sharing(rules, members: 1...2, partitions: 2) { _ in
                if isPassFirst {
                    try await fleet.bed.wait(until: ["orders"]) { $0["orders"]?.integer == 20 }
                }
                try await load(20..<50)
                try await fleet.bed.wait(until: ["orders"]) { $0["orders"]?.integer == 50 }
                #expect(try await fleet.sql("SELECT count(*) FROM parked").rows == [[.int(50)]])
            }
        }
    }

    // MARK: - Several do what one does

    private static let chains = """
        version: 1
        rules:
          - name: order
            when: { type: task, ordered: { $exists: false } }
            then:
              - merge: { ordered: true }
              - put: { id: { jq: '"order:" + ._id' }, document: { type: order, list: { jq: .list }, of: { jq: ._id } } }
          - name: bill
            when: { type: order }
            then:
              - put: { id: { jq: '"bill:" + .of' }, document: { type: bill, list: { jq: .list }, amount: 3 } }
          - name: open
            when: { type: bill }
            then:
              - aggregate:
                  into: { jq: '"account:" + .list' }
                  document: { type: account, list: { jq: .list } }
                  count: { bills: {} }
                  sum: { amount: { jq: .amount } }
          - name: large
            when: { type: account, amount: { $gte: 60 }, large: { $exists: false } }
            then: [ { merge: { large: true } } ]
        """

    private func tasks(_ bed: BotTestBed, _ numbers: Range<Int>) async throws {
        try await bed.load(
            numbers.map { (DocumentID("t\($0)"), #"{"_id":"t\#($0)","type":"task","list":"l\#($0 % 7)"}"#) })
    }

    /// All documents without their revisions.
    private func documents(_ bed: BotTestBed) async throws -> [String] {
        let ids =
            (0..<200).flatMap { ["t\($0)", "order:t\($0)", "bill:t\($0)"] } + (0..<7).map { "account:l\($0)" }
        return try await bed.phone.allDocs(keys: ids.map { DocumentID($0) }).map { lookup in
            guard case .found(_, let document) = lookup else { return "none" }
            let members = document.root.members.compactMap { member -> String? in
                guard let name = member.name.string, !["_rev", "_cv"].contains(name) else { return nil }
                return "\(name)=\(String(decoding: member.value.bytes, as: UTF8.self))"
            }
            return members.sorted().joined(separator: " ")
        }
    }

    @Test func fourMembersGiveTheSameDocumentsAsOne() async throws {
        let alone = Locked<[String]>([])
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.chains)
            try await tasks(bed, 0..<200)
            try await bed.runOnce(rules)
            let documents = try await documents(bed)
            alone.withLock { $0 = documents }
        }
        let expected = alone.withLock { $0 }
        #expect(!expected.contains("none") && expected.last?.contains("large=true") == true)
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(Self.chains)
            try await tasks(fleet.bed, 0..<50)
            try await fleet.sharing(rules, members: 1...4) { _ in
                try await tasks(fleet.bed, 50..<200)
                while try await documents(fleet.bed) != expected { try await Task.sleep(for: Self.pause) }
            }
            #expect(try await documents(fleet.bed) == expected)
            #expect(try await fleet.sql("SELECT count(*) FROM dead_letter").rows == [[.int(0)]])
        }
    }
}
