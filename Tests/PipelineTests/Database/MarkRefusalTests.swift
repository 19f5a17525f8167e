import GatewayClient
import Testing

@testable import Pipeline

/// Which errors mean that this user may not keep local documents: then a reset can't be noticed, and the run goes on.
@Suite struct MarkRefusalTests {
    @Test(
        arguments: [
            .forbidden, .notOffered, .malformedAnswer, .badRequest, .tooLarge, .conflict, .invalidRequest,
            .tlsFailed, .sourceFailed, .outOfResources,
        ] as [GatewayError.Code])
    func aRefusalIsForGood(code: GatewayError.Code) {
        #expect(MarkDocument.isRefusal(GatewayError(code, "x")))
    }

    /// The feed meets these, too, and handles them.
    @Test(
        arguments: [
            .cancelled, .unauthorized, .notFound, .cannotConnect, .connectionLost, .timedOut, .tooManyRequests,
            .unavailable, .serverError, .digestMismatch,
        ] as [GatewayError.Code])
    func troubleThatMayPassIsNone(code: GatewayError.Code) {
        #expect(!MarkDocument.isRefusal(GatewayError(code, "x")))
    }
}
