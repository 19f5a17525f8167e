import DocumentFlow
import GatewayClient
import TestKit
import Testing

@Suite struct SafeSequenceTrackerTests {
    @Test func changesWithoutWorkMoveTheSafeSequence() {
        var tracker = SafeSequenceTracker(start: .start)
        tracker.pass(to: sequence(7))
        #expect(tracker.safeSequence == sequence(7))
    }

    @Test func openChangeHoldsBackTheSafeSequence() {
        var tracker = SafeSequenceTracker(start: .start)
        tracker.pass(to: sequence(3))
        let ticket = tracker.open(sequence(4))
        tracker.pass(to: sequence(9))
        #expect(tracker.safeSequence == sequence(3))
        tracker.finish(ticket)
        #expect(tracker.safeSequence == sequence(9))
    }

    @Test func safeSequenceWaitsForTheOldestChange() {
        var tracker = SafeSequenceTracker(start: sequence(10))
        let first = tracker.open(sequence(11))
        let second = tracker.open(sequence(12))
        let third = tracker.open(sequence(13))
        tracker.finish(third)
        tracker.finish(second)
        #expect(tracker.safeSequence == sequence(10))
        tracker.finish(first)
        #expect(tracker.safeSequence == sequence(13))
    }

    @Test func sequencesKeepTheirOrderOfArrival() throws {
        var tracker = SafeSequenceTracker(start: .start)
        let odd = try #require(SequenceID("\"29:11\""))
        let ticket = tracker.open(odd)
        tracker.pass(to: sequence(5))
        tracker.finish(ticket)
        #expect(tracker.safeSequence == sequence(5))
    }

    /// In any order of completions, the safe sequence never passes unfinished work and finally reaches the end.
    @Test(arguments: 0..<50)
    func safeSequenceNeverPassesUnfinishedWork(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var tracker = SafeSequenceTracker(start: sequence(0))
        var open: [(number: Int, ticket: SafeSequenceTracker.Ticket)] = []
        for number in 1...2000 {
            if random.next() % 3 == 0 {
                open.append((number, tracker.open(sequence(number))))
            } else {
                tracker.pass(to: sequence(number))
            }
            while !open.isEmpty, random.next() % 2 == 0 {
                let (_, ticket) = open.remove(at: Int(random.next() % UInt64(open.count)))
                tracker.finish(ticket)
            }
            let oldest = open.map(\.number).min()
            #expect(tracker.safeSequence == sequence(oldest.map { $0 - 1 } ?? number))
        }
        for (_, ticket) in open.shuffled(using: &random) { tracker.finish(ticket) }
        #expect(tracker.safeSequence == sequence(2000))
    }
}
