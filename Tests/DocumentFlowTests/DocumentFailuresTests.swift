import GatewayClient
import Testing

@testable import DocumentFlow

/// The interpretation of rows within one answer and after earlier answers.
@Suite struct DocumentFailuresTests {
    private typealias Row = DocumentFailures.Row
    private static let start = ContinuousClock.now
    private static let failed = BulkOutcome.failed(reason: "boom")
    /// Sync Gateway's reason when its sync function fails on a document.
    private static let own = BulkOutcome.failed(reason: "Exception in JS sync function")

    private func row(_ id: String, _ outcome: BulkOutcome) -> Row {
        Row(id: DocumentID(id), bytes: 10, outcome: outcome)
    }

    private func written(_ id: String) -> Row { row(id, .written(RevisionID("1-a"))) }

    @Test func allRowsFailingIsAnOutage() {
        let failures = DocumentFailures()
        let error = failures.outage(in: [row("a", Self.failed), row("b", Self.failed)], bytes: 0)
        #expect(error?.code == .serverError)
        #expect(failures.outage(in: [row("a", Self.failed), written("b")], bytes: 0) == nil)
        #expect(failures.outage(in: [], bytes: 0) == nil)
    }

    @Test func documentFailingWhileOthersAreWrittenIsRejectedAfterTenFailures() {
        var failures = DocumentFailures()
        for time in 1...10 {
            let rows = [row("a", Self.failed), written("b\(time)")]
            let outcomes = failures.outcomes(for: rows, bytes: time * 10, now: Self.start)
            #expect(outcomes[0] == (time < 10 ? Self.failed : .rejected(status: 500, reason: "boom")), "\(time)")
        }
    }

    @Test func failureOfTheDocumentItselfIsRejectedAfterThree() {
        #expect(Self.own.isOwnFailure)
        var failures = DocumentFailures()
        for time in 1...3 {
            let outcomes = failures.outcomes(for: [row("a", Self.own)], bytes: 0, now: Self.start)
            #expect(
                outcomes[0] == (time < 3 ? Self.own : .rejected(status: 500, reason: "Exception in JS sync function")))
        }
    }

    /// Apart from a document's own failure, nothing was written: an outage may have caused the other failure.
    @Test func documentFailingWithAKnownCauseIsUndecided() {
        var failures = DocumentFailures()
        let outcomes = failures.outcomes(for: [row("a", Self.own), row("b", Self.failed)], bytes: 0, now: Self.start)
        #expect(outcomes == [Self.own, .undecided(reason: "boom")])
        #expect(!failures.hasFailed("b", now: Self.start))
    }

    /// A document known to fail alone does not make an outage of an answer with only this document.
    @Test func knownFailureIsNotAnOutage() {
        var failures = DocumentFailures()
        _ = failures.outcomes(for: [row("a", Self.failed), written("b")], bytes: 0, now: Self.start)
        #expect(failures.hasFailed("a", now: Self.start))
        // No write has succeeded since.
        #expect(failures.outage(in: [row("a", Self.failed)], bytes: 10, now: Self.start) != nil)
        #expect(failures.outage(in: [row("a", Self.failed)], bytes: 20, now: Self.start) == nil)
        #expect(failures.outage(in: [row("a", Self.failed), row("c", Self.failed)], bytes: 20, now: Self.start) != nil)
    }

    @Test func writeOrTenMinutesResetFailures() {
        var failures = DocumentFailures()
        _ = failures.outcomes(
            for: [row("a", Self.failed), row("b", Self.failed), written("c")], bytes: 0, now: Self.start)
        _ = failures.outcomes(for: [written("a")], bytes: 10, now: Self.start)
        #expect(!failures.hasFailed("a", now: Self.start))
        #expect(failures.hasFailed("b", now: Self.start + .seconds(599)))
        #expect(!failures.hasFailed("b", now: Self.start + .seconds(600)))
    }

    /// A revision that appears twice in one answer counts once.
    @Test func repeatedRowInOneAnswerCountsOnce() {
        var failures = DocumentFailures()
        for time in 1...9 {
            let rows = [row("a", Self.failed), row("a", Self.failed), written("b")]
            let outcomes = failures.outcomes(for: rows, bytes: time * 10, now: Self.start)
            #expect(outcomes[0] == Self.failed && outcomes[1] == Self.failed, "\(time)")
        }
    }

    @Test func twentyConsecutiveDocumentsAreNotBlamedOnAFirewall() {
        var failures = DocumentFailures()
        for _ in 0..<20 {
            #expect(failures.mayBeFirewall)
            failures.noteFirewalled()
        }
        #expect(!failures.mayBeFirewall)
        _ = failures.outcomes(for: [written("a")], bytes: 0)
        #expect(failures.mayBeFirewall)
    }
}
