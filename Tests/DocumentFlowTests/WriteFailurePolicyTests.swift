import GatewayClient
import Testing

@testable import DocumentFlow

/// The advice for failed write requests, case by case.
@Suite struct WriteFailurePolicyTests {
    private static let start = ContinuousClock.now

    private func error(_ code: GatewayError.Code, status: Int? = nil) -> GatewayError {
        GatewayError(code, "no", status: status)
    }

    /// A number of consecutive identical failures.
    ///
    /// - Parameters:
    ///   - bytes: Bytes written by others between two failures.
    ///   - interval: Seconds between two failures.
    private func failurePolicy(
        documents: Int, _ error: GatewayError, times: Int, bytes: Int = 0, interval: Int = 0
    ) -> WriteFailurePolicy {
        var failurePolicy = WriteFailurePolicy(documents: documents)
        for time in 0..<times {
            failurePolicy.note(error, writtenByRun: bytes * time, now: Self.start + .seconds(interval * time))
        }
        return failurePolicy
    }

    private func advice(_ failurePolicy: WriteFailurePolicy, _ error: GatewayError, after seconds: Int = 0)
        -> WriteFailurePolicy.Advice
    {
        failurePolicy.advice(after: error, mayBeFirewall: true, now: Self.start + .seconds(seconds))
    }

    @Test func documentThatAlwaysLosesTheConnectionIsGivenUpIfTheGatewayAnswers() {
        let error = error(.connectionLost)
        var failurePolicy = failurePolicy(documents: 1, error, times: 3)
        #expect(!failurePolicy.mayBeCause(after: error, hasFailedBefore: false))
        for _ in 0..<2 {
            #expect(failurePolicy.advice(given: true, to: .gatewayResponds, now: Self.start) == .wait)
        }
        #expect(failurePolicy.mayBeCause(after: error, hasFailedBefore: false))
        #expect(!failurePolicy.mayBeCause(after: self.error(.timedOut), hasFailedBefore: false))
    }

    @Test func secondDocumentThatLosesTheConnectionIsGivenUpSooner() {
        var failures = DocumentFailures()
        #expect(failures.limits(afterCutRequestOf: 1000, largestWritten: 0) == .usual)
        failures.noteCut()
        #expect(failures.limits(afterCutRequestOf: 1000, largestWritten: 0) == .ifTooLarge)
    }

    /// Regression: each revision beyond a proxy's limit took a minute or two.
    @Test func requestThatIsLargerThanAllOthersIsGivenUpSooner() {
        let failures = DocumentFailures()
        #expect(failures.limits(afterCutRequestOf: 2 << 20, largestWritten: 2 << 20) == .usual)
        let limits = failures.limits(afterCutRequestOf: 2 << 20, largestWritten: 1 << 20)
        #expect(limits == .ifTooLarge)
        #expect(failures.limits(afterCutRequestOf: .max, largestWritten: 1 << 20) == limits)
        let error = error(.connectionLost)
        var several = failurePolicy(documents: 8, error, times: 2)
        #expect(advice(several, error) == .wait)
        several.limits = limits
        #expect(advice(several, error) == .halve)
        #expect(advice(several, self.error(.timedOut)) == .wait)
        var single = failurePolicy(documents: 1, error, times: limits.beforeRejecting + 1)
        single.limits = limits
        var steps: [WriteFailurePolicy.Advice] = []
        for _ in 0..<limits.beforeRejecting {
            steps.append(single.advice(given: true, to: .gatewayResponds, now: Self.start))
        }
        var others = failurePolicy(documents: 1, error, times: limits.beforeRejecting + 1, bytes: 100)
        #expect(advice(others, error) == .wait)
        others.limits = limits
        #expect(advice(others, error) == .reject)
        #expect(steps.last == .reject && steps.dropLast().allSatisfy { $0 == .wait } && steps.count < 6)
    }

    @Test(arguments: [GatewayError.Code.tooLarge, .badRequest, .conflict])
    func refusedRequestIsHalvedDownToTheDocument(code: GatewayError.Code) {
        let error = error(code)
        #expect(advice(failurePolicy(documents: 250, error, times: 1), error) == .halve)
        #expect(advice(failurePolicy(documents: 2, error, times: 1), error) == .halve)
        // Regression: 200 of 200 documents were dead-lettered while an account was over its quota.
        var single = failurePolicy(documents: 1, error, times: 1)
        #expect(advice(single, error) == .ask(.writesAreAllowed))
        #expect(single.advice(given: true, to: .writesAreAllowed) == .reject)
        #expect(single.advice(given: false, to: .writesAreAllowed) == .wait)
        #expect(single.outage(of: error).isRetryable)
        #expect(single.mayBeCausedByContent(error))
    }

    /// Regression: a suspended account ended a connected daemon with 77 within a second.
    @Test func refusalOfAllWritesIsAnOutage() {
        let error = error(.forbidden, status: 403)
        let outage = failurePolicy(documents: 8, error, times: 1).outage(of: error)
        #expect(outage.isRetryable && outage.message.contains("give the user the right to write"))
        let login = self.error(.unauthorized, status: 401)
        #expect(failurePolicy(documents: 8, login, times: 1).outage(of: login).code == .unauthorized)
    }

    /// 405, 406, 410: a proxy in front of the gateway may refuse one document, or all.
    @Test(arguments: [405, 406, 410, 418, 428])
    func otherRefusalsMayComeFromAFirewall(status: Int) {
        let error = error(.badRequest, status: status)
        let failurePolicy = failurePolicy(documents: 8, error, times: 1)
        #expect(!failurePolicy.mayBeCausedByContent(error))
        #expect(advice(failurePolicy, error) == .ask(.writesAreAllowed))
        #expect(failurePolicy.advice(after: error, mayBeFirewall: false) == .wait)
        #expect(failurePolicy.outage(of: error).isRetryable)
        #expect(WriteFailurePolicy(documents: 1, isPut: true).mayBeCausedByContent(error))
    }

    @Test(arguments: [GatewayError.Code.serverError, .malformedAnswer, .timedOut, .connectionLost])
    func requestForSeveralIsHalvedAfterThreeFailures(code: GatewayError.Code) {
        let error = error(code)
        for times in 1...2 { #expect(advice(failurePolicy(documents: 8, error, times: times), error) == .wait) }
        #expect(advice(failurePolicy(documents: 8, error, times: 3), error) == .halve)
    }

    /// An outage looks the same for each document, so failures alone prove nothing.
    @Test func singleDocumentIsNotTheCauseDuringAnOutage() {
        let error = error(.serverError, status: 500)
        let failurePolicy = failurePolicy(documents: 1, error, times: 50, interval: 1)
        #expect(advice(failurePolicy, error, after: 50) == .wait)
        #expect(failurePolicy.suspectedFailures == 0)
    }

    @Test func singleDocumentIsRejectedAfterTenFailuresWhileOthersPass() {
        let error = error(.serverError, status: 500)
        #expect(advice(failurePolicy(documents: 1, error, times: 10, bytes: 100), error) == .wait)
        #expect(advice(failurePolicy(documents: 1, error, times: 11, bytes: 100), error) == .reject)
    }

    /// If nothing else is written for ten minutes, the gateway is probed.
    @Test func gatewayIsProbedAfterTenMinutes() {
        let error = error(.serverError, status: 500)
        var failurePolicy = failurePolicy(documents: 1, error, times: 20, interval: 30)
        #expect(advice(failurePolicy, error, after: 599) == .wait)
        #expect(advice(failurePolicy, error, after: 600) == .ask(.gatewayResponds))
        let end = Self.start + .seconds(600)
        #expect(failurePolicy.advice(given: false, to: .gatewayResponds, now: end) == .wait)
        #expect(failurePolicy.advice(given: true, to: .gatewayResponds, now: end) == .reject)
    }

    /// A gateway that closes the connection on a document may answer other requests at once: ten failures suffice.
    @Test(arguments: [GatewayError.Code.malformedAnswer, .timedOut, .connectionLost])
    func gatewayThatClosesTheConnectionIsProbedSoon(code: GatewayError.Code) {
        let error = error(code)
        var failurePolicy = WriteFailurePolicy(documents: 1)
        failurePolicy.note(error, writtenByRun: 0, now: Self.start)
        #expect(advice(failurePolicy, error) == .wait)
        for failure in 2...11 {
            failurePolicy.note(error, writtenByRun: 0, now: Self.start)
            #expect(advice(failurePolicy, error) == .ask(.gatewayResponds), "\(failure)")
            let next = failurePolicy.advice(given: true, to: .gatewayResponds, now: Self.start)
            #expect(next == (failure < 11 ? .wait : .reject), "\(failure)")
        }
    }

    @Test(arguments: [(502, 11), (504, 11), (503, 31)])
    func temporaryRefusalIsTheDocumentsIfOthersPass(status: Int, failures: Int) {
        let error = error(.unavailable, status: status)
        let before = failurePolicy(documents: 1, error, times: failures - 1, bytes: 100)
        #expect(advice(before, error) == .wait)
        #expect(advice(failurePolicy(documents: 1, error, times: failures, bytes: 100), error) == .reject)
        #expect(advice(failurePolicy(documents: 1, error, times: 100), error) == .wait)
    }

    /// Several documents refused temporarily three consecutive times are halved, if writes pass at all.
    @Test func temporarilyRefusedDocumentsAreHalvedIfWritesPass() {
        let error = error(.unavailable, status: 502)
        #expect(!failurePolicy(documents: 8, error, times: 2).needsProbe)
        #expect(failurePolicy(documents: 8, error, times: 3).needsProbe)
        #expect(!failurePolicy(documents: 1, error, times: 3).needsProbe)
        var other = failurePolicy(documents: 8, error, times: 3)
        other.note(self.error(.timedOut), writtenByRun: 0)
        #expect(!other.needsProbe)
    }

    @Test(arguments: [GatewayError.Code.forbidden, .notFound, .notOffered])
    func firewallIsNarrowedDownToTheDocument(code: GatewayError.Code) {
        let error = error(code)
        for documents in [1, 8] {
            var failurePolicy = failurePolicy(documents: documents, error, times: 1)
            #expect(advice(failurePolicy, error) == .ask(.writesAreAllowed))
            #expect(failurePolicy.advice(after: error, mayBeFirewall: false) == .wait)
            #expect(failurePolicy.advice(given: false, to: .writesAreAllowed) == .wait)
            #expect(failurePolicy.advice(given: true, to: .writesAreAllowed) == (documents == 1 ? .reject : .halve))
        }
    }

    /// It used to be rejected while the database was readable: an account without write permission lost document by
    /// document. Refusals by the gateway's own rules never count as a firewall's, whatever their number.
    @Test(arguments: [GatewayError.Code.unauthorized, .forbidden, .notFound])
    func streamedDocumentIsRefusedIfWritesPass(code: GatewayError.Code) {
        let error = error(code)
        var failurePolicy = WriteFailurePolicy(documents: 1, isPut: true)
        failurePolicy.note(error, writtenByRun: 0)
        for mayBeFirewall in [true, false] {
            #expect(failurePolicy.advice(after: error, mayBeFirewall: mayBeFirewall) == .ask(.writesAreAllowed))
        }
        #expect(failurePolicy.mayBeRefusal(error))
        #expect(failurePolicy.advice(given: false, to: .writesAreAllowed) == .wait)
        #expect(failurePolicy.advice(given: true, to: .writesAreAllowed) == .reject)
        #expect(!WriteFailurePolicy(documents: 1).mayBeRefusal(error))
    }

    /// A half inherits that other writes succeeded, and starts counting again.
    @Test func halvesInheritWhetherOthersPass() {
        let error = error(.serverError, status: 500)
        let half = failurePolicy(documents: 8, error, times: 3, bytes: 100).part(documents: 1)
        #expect(half.othersPass && half.failures == 0 && half.suspectedFailures == 0)
        #expect(half.mayBeCause(after: error, hasFailedBefore: false))
        #expect(
            !failurePolicy(documents: 8, error, times: 3).part(documents: 1).mayBeCause(
                after: error, hasFailedBefore: false))
        #expect(failurePolicy(documents: 1, error, times: 1).mayBeCause(after: error, hasFailedBefore: true))
        #expect(!half.mayBeCause(after: self.error(.forbidden), hasFailedBefore: true))
    }

    /// After an outage, earlier failures no longer count against the document.
    @Test func outageResetsTheFailuresOfADocument() {
        let error = error(.serverError, status: 500)
        var failurePolicy = failurePolicy(documents: 1, error, times: 9, bytes: 100)
        #expect(failurePolicy.suspectedFailures == 8)
        failurePolicy.note(self.error(.cannotConnect), writtenByRun: 900)
        #expect(failurePolicy.suspectedFailures == 0 && failurePolicy.failures == 0)
    }
}
