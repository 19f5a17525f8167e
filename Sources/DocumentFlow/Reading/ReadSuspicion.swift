internal import GatewayClient

/// What to do after a read whose request failed.
package enum ReadAdvice: Equatable, Sendable {
    /// What only another request to the gateway can tell.
    package enum Question: Sendable {
        /// Does it answer other requests?
        case doesGatewayAnswer
        /// Can it send any other item of this kind?
        case areOthersReadable
    }

    /// Wait, then send it again.
    case wait
    /// Send it again in halves: one of its items may be the cause.
    case halve
    /// Give up the item, the only one of the request.
    case giveUp
    case ask(Question)
}

/// Decides what to do with a request for current documents that failed.
///
/// One per request, and per half of one. It does no I/O: it is told what happened, and says what to do or what it needs
/// to know first. How long to wait, and whether the run ends instead, is the `RetryPolicy`'s decision.
struct ReadSuspicion: Sendable {
    /// How many documents the request is for.
    let documents: Int
    /// Consecutive failures that its documents may have caused.
    private var failures = 0

    init(documents: Int) { self.documents = documents }

    private var isSingle: Bool { documents == 1 }

    /// Notes a failure and says what follows.
    mutating func advice(after error: GatewayError) -> ReadAdvice {
        failures = WriteSuspicion.mayBeOfDocuments(error) ? failures + 1 : 0
        switch error.code {
        case .tooLarge, .badRequest: return isSingle ? .ask(.doesGatewayAnswer) : .halve
        // A firewall before the gateway may block one of the documents; or this user may no longer read any.
        case .forbidden: return .ask(.doesGatewayAnswer)
        default:
            guard failures >= (isSingle ? AttemptLimits.failures : AttemptLimits.failuresBeforeHalving) else {
                return .wait
            }
            return isSingle ? .ask(.doesGatewayAnswer) : .halve
        }
    }

    /// After the answer to the question of ``advice(after:)``. An error is about the documents only if the gateway
    /// answers other requests.
    func advice(givenThatGatewayAnswers isAnswered: Bool) -> ReadAdvice {
        guard isAnswered else { return .wait }
        return isSingle ? .giveUp : .halve
    }
}
