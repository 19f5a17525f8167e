import GRDB
import GatewayClient
import Logging
import Testing

@testable import BotState
@testable import Delivery
@testable import DocumentFlow

@Suite struct LedgerCheckpointTests {
    @Test(arguments: ["5", "\"5\"", "\"2:5\"", "\"1::5\"", "\"7-g1AAAA\"", "\"a\\u0041\""])
    func checkpointKeepsItsJSONText(json: String) async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let sequence = try #require(SequenceID(json))
            try await bed.using { try await $0.saveCheckpoint(sequence) }
            let checkpoint = try #require(try bed.open().checkpoint())
            #expect(checkpoint.sequence.description == json)
            #expect(checkpoint.ruleSetHash == "r1")
        }
    }

    @Test func newStateHasNoCheckpoint() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            let checkpoint = try ledger.checkpoint()
            #expect(checkpoint == nil)
            #expect(try ledger.isCheckpointReset() == false)
        }
    }

    /// Regression: the age was unknown from the start of a run until its first save.
    @Test func checkpointAgeIsKnownFromTheStart() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            #expect(try ledger.checkpointAge() == nil)
            try await ledger.saveCheckpoint(sequence(5))
            try await ledger.write { try $0.execute("UPDATE checkpoint SET saved_at = '2020-01-01T00:00:00Z'") }
            #expect(try #require(try ledger.checkpointAge()) > .seconds(86_400))
            let rules = try ruleSet("version: 1\nrules:\n  - { name: a, when: { a: 0 }, then: [{ merge: { a: 1 } }] }")
            let delivery = try await Delivery(
                gateway: Gateway(try GatewayURL("http://127.0.0.1:1/todo")), ruleSet: rules, ledger: ledger,
                mode: .follow(nil), settings: Delivery.Settings(), logger: Logger(label: "test"))
            #expect(try #require(await delivery.progress.facts.savedAt) < .now - .seconds(86_400))
            try await ledger.resetCheckpoint(reason: "reset by hand")
            #expect(try ledger.checkpointAge() == nil)
        }
    }

    @Test func removedCheckpointStaysGoneUntilTheNextOne() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.saveCheckpoint(sequence(5))
            try await ledger.resetCheckpoint(reason: "reset by hand")
            let checkpoint = try ledger.checkpoint()
            #expect(checkpoint == nil)
            #expect(try ledger.isCheckpointReset())
            #expect(try ledger.checkpointHistory().map(\.sequence) == [nil, sequence(5)])
            try await ledger.saveCheckpoint(sequence(1))
            #expect(try ledger.isCheckpointReset() == false)
            #expect(try ledger.checkpoint()?.sequence == sequence(1))
        }
    }

    @Test func historyKeepsFirstAndLastCheckpointOfARunAndThoseWithAReason() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { ledger in
                for number in 1...200 { try await ledger.saveCheckpoint(sequence(number)) }
                try await ledger.saveCheckpoint(sequence(3), reason: "set by hand")
                for number in 4...200 { try await ledger.saveCheckpoint(sequence(number)) }
                let history = try ledger.checkpointHistory()
                #expect(history.first?.sequence == sequence(200))
                #expect(history.last?.sequence == sequence(1))
                #expect(history.contains { $0.reason == "set by hand" && $0.sequence == sequence(3) })
                // There is one more if a new hour begins during the test.
                #expect((3...4).contains(history.count))
            }
        }
    }

    @Test func checkpointSetWithoutRulesKeepsThePreviousRules() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { try await $0.saveCheckpoint(sequence(1)) }
            let command = try #require(try bed.openExisting(.exclusive))
            try await command.saveCheckpoint(sequence(2), reason: "set by hand")
            #expect(try command.checkpointHistory().map(\.ruleSetHash) == ["r1", "r1"])
            command.close()
        }
    }

    // MARK: - Thinning of the history

    private func items(_ count: Int, _ make: (Int) -> CheckpointHistory.Item) -> [CheckpointHistory.Item] {
        (0..<count).map(make).reversed()
    }

    private func kept(_ items: [CheckpointHistory.Item]) -> [Int] {
        let obsolete = Set(CheckpointHistory.obsolete(items))
        return items.map(\.number).filter { !obsolete.contains($0) }
    }

    @Test func historyOfALongRunKeepsTheLastOfEachHourAndDay() {
        // Every ten minutes of 24 days.
        let items = items(24 * 24 * 6) { number in
            let hour = number / 6
            return CheckpointHistory.Item(
                number: number, savedAt: time(day: hour / 24, hour: hour % 24, minute: number % 6 * 10), run: "a",
                hasReason: false)
        }
        let kept = kept(items)
        let newest = items.count - 1
        #expect(kept.prefix(20) == (0..<20).map { newest - $0 * 6 }[...])
        #expect(kept.dropFirst(20).dropLast() == (1..<20).map { newest - $0 * 24 * 6 }[...])
        #expect(kept.last == 0)
    }

    private func time(day: Int, hour: Int, minute: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "2026-11-\(two(day + 1))T\(two(hour)):\(two(minute)):00Z"
    }

    @Test(arguments: [false, true])
    func historyIsBoundedForAnyNumberOfStarts(hasReason: Bool) {
        let items = items(5000) { number in
            CheckpointHistory.Item(
                number: number, savedAt: time(day: number % 28, hour: number % 24, minute: 0), run: "\(number)",
                hasReason: hasReason)
        }
        #expect(kept(items).count <= 101)
    }

    @Test func incrementalThinningGivesTheSameHistory() {
        var history: [CheckpointHistory.Item] = []
        var all: [CheckpointHistory.Item] = []
        for number in 0..<500 {
            let item = CheckpointHistory.Item(
                number: number, savedAt: time(day: number / 100, hour: number % 100 / 5, minute: number % 5),
                run: "\(number / 60)", hasReason: number % 77 == 0)
            history.insert(item, at: 0)
            all.insert(item, at: 0)
            let obsolete = Set(CheckpointHistory.obsolete(history))
            history.removeAll { obsolete.contains($0.number) }
        }
        #expect(history.map(\.number) == kept(all))
    }
}
