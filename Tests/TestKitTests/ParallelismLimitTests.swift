import TestKit
import Testing

/// More nested uses than slots: each test case would wait forever if it took a second slot.
@Suite(.limitedParallelism) struct ParallelismLimitTests {
    @Suite(.limitedParallelism) struct NestedTests {
        @Test(.limitedParallelism(minutes: 1), arguments: 0..<200) func nestedTraitsTakeOneSlot(number: Int) async {
            await Task.yield()
        }
    }

    /// Regression: they entered the queue one by one, behind all other tests.
    @Suite(.serialized) struct SerializedTests {
        @Test func testsOfSerializedSuiteComeFirst() { #expect(ParallelismLimit.isSerialized) }

        @Test(arguments: 1...2) func casesOfSerializedSuiteComeFirst(number: Int) {
            #expect(ParallelismLimit.isSerialized)
        }
    }

    @Test(.serialized, arguments: 1...2) func casesOfSerializedTestComeFirst(number: Int) {
        #expect(ParallelismLimit.isSerialized)
    }

    @Test func otherTestsDoNotComeFirst() { #expect(!ParallelismLimit.isSerialized) }

    @Test func suiteDoesNotKeepSlot() async { await Task.yield() }

    @Test func onlyTestCasesTakeSlots() throws {
        let trait = ParallelismLimit.limitedParallelism
        let test = try #require(Test.current)
        #expect(trait.scopeProvider(for: test, testCase: nil) == nil)
        #expect(trait.scopeProvider(for: test, testCase: Test.Case.current) != nil)
    }

    @Test func hangingTestIsEndedWithIssue() async throws {
        let trait = ParallelismLimit.limitedParallelism(minutes: 0)
        let test = try #require(Test.current)
        try await withKnownIssue {
            try await trait.provideScope(for: test, testCase: Test.Case.current) {
                try await ContinuousClock().sleep(for: .seconds(3600))
            }
        } matching: { issue in
            issue.comments.contains { $0.rawValue.contains("0 minutes after the start") }
        }
    }

    @Test func eachTestCaseHasItsTime() { #expect(TestTime.current != nil) }

    @Test func timeStandsStillDuringWaits() {
        let start = ContinuousClock.now
        let time = TestTime(start: start)
        #expect(time.elapsed(at: start + .seconds(200)) == .seconds(200))
        time.beginWait(at: start + .seconds(200))
        time.beginWait(at: start + .seconds(300))
        time.endWait(at: start + .seconds(400))
        #expect(time.elapsed(at: start + .seconds(900)) == .seconds(200))
        time.endWait(at: start + .seconds(1000))
        #expect(time.elapsed(at: start + .seconds(1050)) == .seconds(250))
    }
}
