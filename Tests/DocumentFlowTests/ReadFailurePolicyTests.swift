import GatewayClient
import Testing

@testable import DocumentFlow

/// The advice for failed read requests, case by case.
@Suite struct ReadFailurePolicyTests {
    private static let askGateway = ReadAdvice.ask(.gatewayResponds)

    /// The advice after the last of several consecutive failures.
    private func advice(documents: Int, _ code: GatewayError.Code, times: Int) -> ReadAdvice {
        var failurePolicy = ReadFailurePolicy(documents: documents)
        return (1...times).map { _ in failurePolicy.advice(after: GatewayError(code, "no")) }.last ?? .wait
    }

    struct Case: Sendable {
        let codes: [GatewayError.Code]
        let documents: Int
        let times: Int
        let advice: ReadAdvice
    }

    private static let gatewayFails: [GatewayError.Code] = [
        .serverError, .malformedAnswer, .timedOut, .connectionLost,
    ]
    private static let temporary: [GatewayError.Code] = [
        .unavailable, .tooManyRequests, .cannotConnect, .unauthorized, .notFound,
    ]

    @Test(arguments: [
        Case(codes: [.tooLarge, .badRequest], documents: 8, times: 1, advice: .halve),
        Case(codes: [.tooLarge, .badRequest], documents: 1, times: 1, advice: askGateway),
        Case(codes: [.forbidden], documents: 8, times: 1, advice: askGateway),
        Case(codes: [.forbidden], documents: 1, times: 1, advice: askGateway),
        // Several documents are halved early, one is given up late.
        Case(codes: gatewayFails, documents: 8, times: 2, advice: .wait),
        Case(codes: gatewayFails, documents: 8, times: 3, advice: .halve),
        Case(codes: gatewayFails, documents: 1, times: 9, advice: .wait),
        Case(codes: gatewayFails, documents: 1, times: 10, advice: askGateway),
        Case(codes: gatewayFails, documents: 1, times: 11, advice: askGateway),
        // The retry policy decides on these.
        Case(codes: temporary, documents: 8, times: 100, advice: .wait),
        Case(codes: temporary, documents: 1, times: 100, advice: .wait),
    ])
    func failureLeadsToTheNextStep(test: Case) {
        for code in test.codes {
            #expect(advice(documents: test.documents, code, times: test.times) == test.advice, "\(code)")
        }
    }

    @Test func documentIsTheCauseOnlyIfTheGatewayAnswers() {
        #expect(ReadFailurePolicy(documents: 1).advice(gatewayAnswers: true) == .giveUp)
        #expect(ReadFailurePolicy(documents: 8).advice(gatewayAnswers: true) == .halve)
        for documents in [1, 8] {
            #expect(ReadFailurePolicy(documents: documents).advice(gatewayAnswers: false) == .wait)
        }
    }

    @Test func outageResetsFailures() {
        var failurePolicy = ReadFailurePolicy(documents: 1)
        for _ in 1...9 { _ = failurePolicy.advice(after: GatewayError(.serverError, "no")) }
        #expect(failurePolicy.advice(after: GatewayError(.unavailable, "no")) == .wait)
        #expect(failurePolicy.advice(after: GatewayError(.serverError, "no")) == .wait)
    }
}
