import DocumentFlow
import GatewayClient
import Testing

@testable import Revisions

/// Which revisions a request asks for, after answers and failures.
@Suite struct RemainingRevisionsTests {
    private func keys(_ names: [String]) -> [BulkGetKey] {
        names.map { BulkGetKey(id: DocumentID($0), revision: RevisionID("1-a")) }
    }

    private func left(_ names: [String]) -> RemainingRevisions {
        RemainingRevisions(keys(names), retryFor: .seconds(60))
    }

    @Test(arguments: [["a"], ["c"], ["b", "a"], []]) func receivedRevisionsAreNotRequestedAgain(arrived: [String]) {
        let all = ["a", "b", "c"]
        var left = left(all)
        for key in keys(arrived) { left.noteArrival(of: key) }
        #expect(left.next == keys(all.filter { !arrived.contains($0) }))
        #expect(left.unanswered(of: keys(all)) == left.next)
        #expect(left.hasProgressed(since: keys(all)) == !arrived.isEmpty)
    }

    /// An answer may refuse a document without naming the revision.
    @Test func refusedDocumentSettlesAllItsRevisions() {
        let revisions = ["1-a", "1-b"].map { BulkGetKey(id: "a", revision: RevisionID($0)) }
        var left = RemainingRevisions(revisions + keys(["b"]), retryFor: .seconds(60))
        left.noteArrival(of: BulkGetKey(id: "a"))
        #expect(left.next == keys(["b"]))
    }

    @Test func requestsAreHalvedAfterThreeFailuresAndGrowAgain() {
        let all = (0..<8).map { "d\($0)" }
        var left = left(all)
        var failures = 0
        var sizes: [Int] = []
        while left.next.count > 1 {
            let advice = left.advice(after: GatewayError(.serverError, "no"), left.next.count, SharedHistory())
            failures += 1
            guard advice == .halve else { continue }
            left.halve()
            sizes.append(left.next.count)
        }
        #expect(sizes == [4, 2, 1])
        // Smaller requests get one try.
        #expect(failures == 5)
        left.remove(left.next)
        left.resetFailures()
        #expect(left.next.count == 2)
    }

    /// A gateway without `_bulk_get` refuses each of them.
    @Test(arguments: [false, true]) func revisionIsGivenUpOnlyIfOthersArrive(hasOthers: Bool) {
        var left = left(["a"])
        let history = SharedHistory()
        if hasOthers { history.noteSuccess() }
        let advice = (1...4).map { _ in left.advice(after: GatewayError(.forbidden, "no"), 1, history) }
        let end = hasOthers ? ReadAdvice.giveUp : .ask(.othersAreReadable)
        #expect(advice == [.wait, .wait, end, end])
    }
}
