import GatewayClient
import Testing

@testable import DocumentFlow

/// What becomes of writes whose request failed, case by case.
@Suite struct WriteSuspicionTests {
    private static let start = ContinuousClock.now

    private func error(_ code: GatewayError.Code, status: Int? = nil) -> GatewayError {
        GatewayError(code, "no", status: status)
    }

    /// The same failure a number of times in a row.
    ///
    /// - Parameters:
    ///   - bytes: That others bring through between two of them.
    ///   - interval: In seconds, between two of them.
    private func suspicion(
        documents: Int, _ error: GatewayError, times: Int, bytes: Int = 0, interval: Int = 0
    ) -> WriteSuspicion {
        var suspicion = WriteSuspicion(documents: documents)
        for time in 0..<times {
            suspicion.note(error, writtenByRun: bytes * time, now: Self.start + .seconds(interval * time))
        }
        return suspicion
    }

    private func advice(_ suspicion: WriteSuspicion, _ error: GatewayError, after seconds: Int = 0)
        -> WriteSuspicion.Advice
    {
        suspicion.advice(after: error, mayBeFirewall: true, now: Self.start + .seconds(seconds))
    }

    @Test func aDocumentThatIsCutEachTimeIsGivenUpWithTheRetriesIfTheGatewayAnswersOthers() {
        let error = error(.connectionLost)
        var suspicion = suspicion(documents: 1, error, times: 3)
        #expect(!suspicion.isAlone(after: error, hasFailedBefore: false))
        for _ in 0..<2 {
            #expect(suspicion.advice(given: true, to: .doesGatewayAnswer, now: Self.start) == .wait)
        }
        #expect(suspicion.isAlone(after: error, hasFailedBefore: false))
        #expect(!suspicion.isAlone(after: self.error(.timedOut), hasFailedBefore: false))
    }

    @Test func theSecondDocumentThatIsCutEachTimeIsGivenUpSooner() {
        var failures = DocumentFailures()
        let usual = failures.attemptsForCut
        failures.noteCut()
        let error = error(.connectionLost)
        var suspicion = suspicion(documents: 1, error, times: failures.attemptsForCut + 1)
        suspicion.attempts = failures.attemptsForCut
        #expect(failures.attemptsForCut < usual)
        var advice = WriteSuspicion.Advice.wait
        for _ in 0..<failures.attemptsForCut {
            advice = suspicion.advice(given: true, to: .doesGatewayAnswer, now: Self.start)
        }
        #expect(advice == .reject)
    }

    @Test(arguments: [GatewayError.Code.tooLarge, .badRequest, .conflict])
    func aRefusalOfTheWholeIsHalvedDownToTheDocument(code: GatewayError.Code) {
        let error = error(code)
        #expect(advice(suspicion(documents: 250, error, times: 1), error) == .halve)
        #expect(advice(suspicion(documents: 2, error, times: 1), error) == .halve)
        // 200 of 200 documents were dead-lettered while an account was over its quota.
        var single = suspicion(documents: 1, error, times: 1)
        #expect(advice(single, error) == .ask(.doWritesPass))
        #expect(single.advice(given: true, to: .doWritesPass) == .reject)
        #expect(single.advice(given: false, to: .doWritesPass) == .wait)
        #expect(single.outage(of: error).isRetryable)
        #expect(single.mayBeOfContent(error))
    }

    /// 405, 406, 410: whatever stands before the gateway may refuse one document, or all.
    @Test(arguments: [405, 406, 410, 418, 428])
    func anotherRefusalMayBeOfAFirewall(status: Int) {
        let error = error(.badRequest, status: status)
        let suspicion = suspicion(documents: 8, error, times: 1)
        #expect(!suspicion.mayBeOfContent(error))
        #expect(advice(suspicion, error) == .ask(.doWritesPass))
        #expect(suspicion.advice(after: error, mayBeFirewall: false) == .wait)
        #expect(suspicion.outage(of: error).isRetryable)
        #expect(WriteSuspicion(documents: 1, isPut: true).mayBeOfContent(error))
    }

    @Test(arguments: [GatewayError.Code.serverError, .malformedAnswer, .timedOut, .connectionLost])
    func aGatewayThatFailsThreeTimesOverSeveralGetsHalves(code: GatewayError.Code) {
        let error = error(code)
        for times in 1...2 { #expect(advice(suspicion(documents: 8, error, times: times), error) == .wait) }
        #expect(advice(suspicion(documents: 8, error, times: 3), error) == .halve)
    }

    /// An outage looks the same to each document: alone, failures prove nothing.
    @Test func aSingleDocumentIsNotSuspectedDuringAnOutage() {
        let error = error(.serverError, status: 500)
        let suspicion = suspicion(documents: 1, error, times: 50, interval: 1)
        #expect(advice(suspicion, error, after: 50) == .wait)
        #expect(suspicion.suspectedFailures == 0)
    }

    @Test func aSingleDocumentIsRejectedOnceOthersPassTenTimes() {
        let error = error(.serverError, status: 500)
        #expect(advice(suspicion(documents: 1, error, times: 10, bytes: 100), error) == .wait)
        #expect(advice(suspicion(documents: 1, error, times: 11, bytes: 100), error) == .reject)
    }

    /// Nothing else is written: after ten minutes the gateway is asked whether it answers at all.
    @Test func theGatewayIsProbedInTheEnd() {
        let error = error(.serverError, status: 500)
        var suspicion = suspicion(documents: 1, error, times: 20, interval: 30)
        #expect(advice(suspicion, error, after: 599) == .wait)
        #expect(advice(suspicion, error, after: 600) == .ask(.doesGatewayAnswer))
        let end = Self.start + .seconds(600)
        #expect(suspicion.advice(given: false, to: .doesGatewayAnswer, now: end) == .wait)
        #expect(suspicion.advice(given: true, to: .doesGatewayAnswer, now: end) == .reject)
    }

    /// What hangs up over a document may answer other questions at once: ten such failures are enough.
    @Test(arguments: [GatewayError.Code.malformedAnswer, .timedOut, .connectionLost])
    func aGatewayThatHangsUpIsProbedAtOnce(code: GatewayError.Code) {
        let error = error(code)
        var suspicion = WriteSuspicion(documents: 1)
        suspicion.note(error, writtenByRun: 0, now: Self.start)
        #expect(advice(suspicion, error) == .wait)
        for failure in 2...11 {
            suspicion.note(error, writtenByRun: 0, now: Self.start)
            #expect(advice(suspicion, error) == .ask(.doesGatewayAnswer), "\(failure)")
            let next = suspicion.advice(given: true, to: .doesGatewayAnswer, now: Self.start)
            #expect(next == (failure < 11 ? .wait : .reject), "\(failure)")
        }
    }

    @Test(arguments: [(502, 11), (504, 11), (503, 31)])
    func aRefusalForNowIsTheDocumentsOnceOthersPass(status: Int, failures: Int) {
        let error = error(.unavailable, status: status)
        let before = suspicion(documents: 1, error, times: failures - 1, bytes: 100)
        #expect(advice(before, error) == .wait)
        #expect(advice(suspicion(documents: 1, error, times: failures, bytes: 100), error) == .reject)
        #expect(advice(suspicion(documents: 1, error, times: 100), error) == .wait)
    }

    /// Several that are refused for now three times in a row are halved, if writes pass at all.
    @Test func severalThatAreRefusedForNowMayBeTheCause() {
        let error = error(.unavailable, status: 502)
        #expect(!suspicion(documents: 8, error, times: 2).needsProbe)
        #expect(suspicion(documents: 8, error, times: 3).needsProbe)
        #expect(!suspicion(documents: 1, error, times: 3).needsProbe)
        var other = suspicion(documents: 8, error, times: 3)
        other.note(self.error(.timedOut), writtenByRun: 0)
        #expect(!other.needsProbe)
    }

    @Test(arguments: [GatewayError.Code.forbidden, .notFound, .notOffered])
    func aFirewallIsFoundDownToTheDocument(code: GatewayError.Code) {
        let error = error(code)
        for documents in [1, 8] {
            var suspicion = suspicion(documents: documents, error, times: 1)
            #expect(advice(suspicion, error) == .ask(.doWritesPass))
            #expect(suspicion.advice(after: error, mayBeFirewall: false) == .wait)
            #expect(suspicion.advice(given: false, to: .doWritesPass) == .wait)
            #expect(suspicion.advice(given: true, to: .doWritesPass) == (documents == 1 ? .reject : .halve))
        }
    }

    /// It was rejected as long as the database could be read: an account that may no longer write lost document by
    /// document. What the gateway refuses by its own rules is no firewall's, however many documents that are.
    @Test(arguments: [GatewayError.Code.unauthorized, .forbidden, .notFound])
    func aStreamedDocumentIsRefusedIfWritesPass(code: GatewayError.Code) {
        let error = error(code)
        var suspicion = WriteSuspicion(documents: 1, isPut: true)
        suspicion.note(error, writtenByRun: 0)
        for mayBeFirewall in [true, false] {
            #expect(suspicion.advice(after: error, mayBeFirewall: mayBeFirewall) == .ask(.doWritesPass))
        }
        #expect(suspicion.mayBeRefusal(error))
        #expect(suspicion.advice(given: false, to: .doWritesPass) == .wait)
        #expect(suspicion.advice(given: true, to: .doWritesPass) == .reject)
        #expect(!WriteSuspicion(documents: 1).mayBeRefusal(error))
    }

    /// A half knows that others got through, and starts to count anew.
    @Test func halvesKnowWhetherOthersPass() {
        let error = error(.serverError, status: 500)
        let half = suspicion(documents: 8, error, times: 3, bytes: 100).part(documents: 1)
        #expect(half.othersPass && half.failures == 0 && half.suspectedFailures == 0)
        #expect(half.isAlone(after: error, hasFailedBefore: false))
        #expect(
            !suspicion(documents: 8, error, times: 3).part(documents: 1).isAlone(after: error, hasFailedBefore: false))
        #expect(suspicion(documents: 1, error, times: 1).isAlone(after: error, hasFailedBefore: true))
        #expect(!half.isAlone(after: self.error(.forbidden), hasFailedBefore: true))
    }

    /// An outage in between says nothing of the document: what was held against it counts no more.
    @Test func anOutageClearsTheSuspicionOfADocument() {
        let error = error(.serverError, status: 500)
        var suspicion = suspicion(documents: 1, error, times: 9, bytes: 100)
        #expect(suspicion.suspectedFailures == 8)
        suspicion.note(self.error(.cannotConnect), writtenByRun: 900)
        #expect(suspicion.suspectedFailures == 0 && suspicion.failures == 0)
    }
}
