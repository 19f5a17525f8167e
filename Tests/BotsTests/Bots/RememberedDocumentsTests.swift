import Testing

@testable import Bots

/// Counting reads all records, so it must be rare.
@Suite struct RememberedDocumentsTests {
    @Test func slowCountIsRepeatedRarely() {
        let start = ContinuousClock.now
        var remembered = RememberedDocuments()
        #expect(remembered.isDue(now: start))
        remembered.note(["a": 7], duration: .milliseconds(1), now: start)
        #expect(!remembered.isDue(now: start + .seconds(4)) && remembered.isDue(now: start + .seconds(5)))
        remembered.note(["a": 8], duration: .seconds(2), now: start)
        #expect(!remembered.isDue(now: start + .seconds(199)) && remembered.isDue(now: start + .seconds(200)))
    }

    /// The rules may have been edited since.
    @Test func onlyKnownRulesAreCounted() {
        var remembered = RememberedDocuments()
        remembered.note(["a": 7, "old": 3], duration: .zero, now: .now)
        remembered.note(nil, duration: .zero, now: .now)
        #expect(remembered.counts(of: ["a", "new"]) == ["a": 7, "new": 0])
    }
}
