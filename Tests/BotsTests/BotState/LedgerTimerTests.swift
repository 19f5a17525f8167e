import GatewayClient
import Rules
import Testing

@testable import BotState

@Suite struct LedgerTimerTests {
    private func time(_ rule: String, _ due: Int, _ hasFired: Bool = false) -> RuleTime {
        RuleTime(rule: rule, due: due, hasFired: hasFired)
    }

    @Test func timersAreStored() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { ledger in
                try await ledger.setTimes([
                    TimedDocument(id: "a\u{0}b", times: [time("late", 30), time("gone", 10, true)]),
                    TimedDocument(id: "c", times: [time("late", 20)]),
                ])
            }
            try await bed.using { ledger in
                let times = try await ledger.times(of: ["c", "none", "a\u{0}b"])
                #expect(times == [[time("late", 20)], [], [time("gone", 10, true), time("late", 30)]])
                #expect(try await ledger.nextTimer(after: 0) == 20)
                #expect(try await ledger.nextTimer(after: 20) == 30)
                #expect(try await ledger.nextTimer(after: 30) == nil)
                let due = try await ledger.timers(dueBy: 30, ofRules: ["late", "gone"], limit: 9)
                #expect(due.map(\.id) == ["c", "a\u{0}b"])
                let waiting = try ledger.waitingTimers(limit: 1)
                #expect(waiting.count == 2 && waiting.first == [WaitingTimer(id: "c", rule: "late", due: 20)])
            }
        }
    }

    @Test func dueTimersAreReadInParts() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.setTimes([
                TimedDocument(id: "a", times: [time("x", 5), time("y", 5), time("z", 1)]),
                TimedDocument(id: "b\u{0}", times: [time("x", 3), time("y", 4, true)]),
                TimedDocument(id: "c", times: [time("x", 5), time("other", 1), time("y", 9)]),
            ])
            func all(from start: Int? = nil, limit: Int) async throws -> [String] {
                var found: [WaitingTimer] = []
                while true {
                    let next = try await ledger.timers(
                        from: start, dueBy: 5, ofRules: ["x", "y", "z"], after: found.last, limit: limit)
                    if next.isEmpty { return found.map { "\($0.id) \($0.rule) \($0.due)" } }
                    found += next
                }
            }
            let expected = ["a z 1", "b\u{0} x 3", "a x 5", "a y 5", "c x 5"]
            for limit in 1...6 {
                #expect(try await all(limit: limit) == expected)
                #expect(try await all(from: 3, limit: limit) == Array(expected.dropFirst()))
                #expect(try await all(from: 4, limit: limit) == Array(expected.dropFirst(2)))
            }
        }
    }

    @Test func timersAreReplacedAndDropped() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.setTimes([TimedDocument(id: "a", times: [time("x", 1), time("y", 2, true), time("z", 9)])])
            try await ledger.dropTimers(of: ["a"], dueBy: 5)
            #expect(try await ledger.times(of: ["a"]) == [[time("y", 2, true), time("z", 9)]])
            try await ledger.keepTimers(ofRules: ["z"])
            #expect(try await ledger.times(of: ["a"]) == [[time("z", 9)]])
            try await ledger.setTimes([TimedDocument(id: "a", times: [])])
            #expect(try await ledger.times(of: ["a"]) == [[]])
        }
    }

    /// A pass may have seen an older revision than the run.
    @Test func passKeepsAllTimers() async throws {
        let cases: [(existing: RuleTime, added: RuleTime, result: RuleTime)] = [
            (time("a", 10), time("a", 20), time("a", 10)), (time("a", 20), time("a", 10), time("a", 10)),
            (time("a", 20), time("a", 10, true), time("a", 20)),
            (time("a", 10), time("a", 10, true), time("a", 10, true)),
            (time("a", 10, true), time("a", 20), time("a", 20)),
            (time("a", 10, true), time("a", 10), time("a", 10, true)),
            (time("a", 10, true), time("a", 5, true), time("a", 10, true)),
        ]
        try await LedgerTestBed.withLedgers { _, ledger in
            for (existing, added, result) in cases {
                try await ledger.setTimes([TimedDocument(id: "d", times: [existing])])
                try await ledger.addTimes([TimedDocument(id: "d", times: [added])])
                #expect(try await ledger.times(of: ["d"]) == [[result]], "\(existing) \(added)")
            }
            try await ledger.addTimes([TimedDocument(id: "new", times: [time("a", 3, true)])])
            #expect(try await ledger.times(of: ["new"]) == [[time("a", 3, true)]])
        }
    }

    @Test func resetForgetsTimers() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.setTimes([TimedDocument(id: "a", times: [time("x", 1)])])
            let schedules = try scheduled("0 3 * * *")
            try await ledger.keepSchedules(schedules, now: 5)
            try await ledger.startOver(identity: "i", at: .start, reason: "r")
            #expect(try ledger.waitingTimers(limit: 1).count == 0)
            #expect(try ledger.schedules().isEmpty)
        }
    }

    @Test func schedulesAreIdentifiedByLineZoneAndRules() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            let (daily, hourly) = (try scheduled("0 3 * * *"), try scheduled("0 * * * *"))
            try await ledger.keepSchedules(daily, now: 5)
            try await ledger.note(daily[0], begun: 7, done: 5)
            try await ledger.keepSchedules(daily + hourly, now: 9)
            let known = try ledger.schedules()
            #expect(known.first { $0.matches(daily[0]) }?.begun == 7)
            #expect(known.first { $0.matches(hourly[0]) }?.done == 9)
            try await ledger.keepSchedules(hourly, now: 11)
            #expect(try ledger.schedules().map(\.line) == ["0 * * * *"])
            #expect(try ledger.schedules().map(\.rules) == [["swept"]])
        }
    }
}
