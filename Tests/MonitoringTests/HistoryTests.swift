import DocumentFlow
import GatewayClient
import LosslessJSON
import Testing

@testable import Monitoring

@Suite struct HistoryTests {
    private let start = ContinuousClock.now

    private func facts(changes: Int, written: Int = 0) -> RunFacts {
        var facts = RunFacts()
        facts.phase = .following
        facts.counters.changes = changes
        facts.counters.written = written
        return facts
    }

    @Test func countsAreAddedToCurrentInterval() {
        var history = History(now: start)
        history.note(facts(changes: 3, written: 1), now: start + .seconds(1))
        history.note(facts(changes: 5, written: 1), now: start + .seconds(9))
        history.note(facts(changes: 9, written: 4), now: start + .seconds(10))
        #expect(
            history.intervals == [
                .init(changes: 5, written: 1, lag: 0), .init(changes: 4, written: 3, lag: 0),
            ])
    }

    @Test func oneHourIsKept() {
        var history = History(now: start)
        for second in stride(from: 0, to: 8000, by: 5) {
            history.note(facts(changes: second), now: start + .seconds(second))
        }
        #expect(history.intervals.count == 360)
        #expect(history.intervals.dropLast().allSatisfy { $0.changes == 10 })
    }

    @Test func longPauseLeavesEmptyIntervals() {
        var history = History(now: start)
        history.note(facts(changes: 1), now: start)
        history.note(facts(changes: 2), now: start + .seconds(86_400))
        #expect(history.intervals.count == 360)
        #expect(history.intervals.map(\.changes).reduce(0, +) == 1)
        history.note(facts(changes: 3), now: start + .seconds(86_401))
        #expect(history.intervals.last?.changes == 2)
    }

    /// After a reset of the database the counters continue, but a restart of the run begins at 0.
    @Test func decreasedCountersAreIgnored() {
        var history = History(now: start)
        history.note(facts(changes: 10), now: start)
        history.note(facts(changes: 2), now: start + .seconds(1))
        history.note(facts(changes: 4), now: start + .seconds(2))
        #expect(history.intervals == [.init(changes: 12, written: 0, lag: 0)])
    }

    @Test func unknownLagIsNull() {
        var history = History(now: start)
        history.note(RunFacts(), now: start)
        var writer = JSONWriter()
        history.write(to: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"interval_seconds":10,"changes":[0],"written":[0],"lag":[null]}"#)
    }
}
