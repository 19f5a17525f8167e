import Testing

@testable import Delivery

/// When an idle writer may take the waiting candidates.
@Suite struct BatchingPolicyTests {
    private static let start = ContinuousClock.now

    /// Another writer has taken a batch at the start and has not returned.
    @Test(arguments: [
        (1, 1, 0, false), (124, 1 << 19, 999, false), (125, 1, 0, true), (1, 1 << 20, 0, true), (1, 1, 1000, true),
    ])
    func secondWriterTakesWorthwhileBatchesOnly(documents: Int, bytes: Int, milliseconds: Int, mayTake: Bool) {
        var rule = BatchingPolicy()
        let now = Self.start + .milliseconds(milliseconds)
        rule.gathers = true
        rule.noteTaken(writer: 0, now: Self.start)
        #expect(rule.mayTake(documents: documents, bytes: bytes, now: now) == mayTake)
        // A run that waits for changes writes at once, until two requests are under way.
        rule.gathers = false
        #expect(rule.mayTake(documents: documents, bytes: bytes, now: now))
        rule.noteTaken(writer: 1, now: Self.start)
        #expect(rule.mayTake(documents: documents, bytes: bytes, now: now) == mayTake)
    }

    @Test func onlyWriterTakesAtOnce() {
        var rule = BatchingPolicy()
        rule.gathers = true
        #expect(rule.mayTake(documents: 1, bytes: 1, now: Self.start))
        rule.noteTaken(writer: 0, now: Self.start)
        rule.noteTaken(writer: 1, now: Self.start)
        rule.noteSettled(writer: 0)
        #expect(!rule.mayTake(documents: 1, bytes: 1, now: Self.start))
        rule.noteSettled(writer: 1)
        rule.noteSettled(writer: 1)
        #expect(rule.mayTake(documents: 1, bytes: 1, now: Self.start))
    }
}
