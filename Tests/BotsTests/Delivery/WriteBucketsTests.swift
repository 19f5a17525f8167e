import Testing

@testable import BotState
@testable import Delivery

@Suite struct WriteBucketsTests {
    private let start = ContinuousClock.now

    private func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test func burstPassesAndThenOneWriteEveryTwoSeconds() {
        var buckets = WriteBuckets<String>(capacity: 30, perMinute: 30)
        for _ in 0..<30 {
            #expect(buckets.due("a", now: start) == nil)
            buckets.noteWrite("a", now: start)
        }
        #expect(buckets.due("a", now: start) == after(2))
        #expect(buckets.due("a", now: after(1.5)) == after(2))
        #expect(buckets.due("a", now: after(2)) == nil)
        buckets.noteWrite("a", now: after(2))
        #expect(buckets.due("a", now: after(2)) == after(4))
        #expect(buckets.due("b", now: start) == nil)
    }

    /// Regression: a cart that gets an item every three seconds lost its total after the fifth.
    @Test func documentWrittenEveryThreeSecondsNeverWaits() {
        var buckets = WriteBuckets<String>(capacity: 30, perMinute: 30)
        for number in 0..<1000 {
            let now = after(Double(number) * 3)
            #expect(buckets.due("cart", now: now) == nil)
            buckets.noteWrite("cart", now: now)
        }
    }

    @Test func busyDocumentIsLoggedOnce() {
        var buckets = WriteBuckets<String>(capacity: 1, perMinute: 30)
        buckets.noteWrite("a", now: start)
        let reported = ["a", "a", "b"].map { buckets.noteWait($0) }
        #expect(reported == [true, false, false])
    }

    @Test func idleDocumentsAreForgotten() throws {
        var buckets = WriteBuckets<Int>(capacity: 30, perMinute: 30)
        for number in 0..<20_000 { buckets.noteWrite(number, now: after(Double(number) / 100)) }
        let kept = try #require(Mirror(reflecting: buckets).descendant("buckets"))
        #expect(Mirror(reflecting: kept).children.count < 2_500)
    }
}

@Suite struct RuleChainTests {
    @Test(arguments: [
        (["a"], "rule chain: a"), (["a", "b", "a", "b"], "rule chain: a → b → a"), (["a", "a"], "rule chain: a → a"),
        (["x", "a", "b", "a"], "rule chain: x → a → b → a"),
    ])
    func reasonEndsAtTheFirstRepetition(rules: [String], reason: String) {
        #expect(RuleChain(rules).reason == reason)
    }

    @Test func eleventhPutOfAChainIsRefused() {
        let ten = RuleChain(Array(repeating: "a", count: 10))
        #expect(!ten.isTooLong)
        #expect(ten.followed(by: "a").isTooLong)
    }
}
