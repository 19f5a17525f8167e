internal import GatewayClient

/// What to do after a read whose request failed.
package enum ReadAdvice: Equatable, Sendable {
    /// A question that only another request to the gateway can answer.
    package enum Question: Sendable {
        /// Does it answer other requests?
        case gatewayResponds
        /// Can it send any other item of this kind?
        case othersAreReadable
    }

    /// Wait, then send the request again.
    case wait
    /// Send the request again in halves: one of its items may be the cause.
    case halve
    /// Give up the only item of the request.
    case giveUp
    case ask(Question)
}

/// Decides what to do about a failed request for current documents.
///
/// One per request, and per half of a request. Does no I/O: it is told what happened, and returns what to do or what it
/// needs to know first. The `RetryPolicy` decides how long to wait, and whether to end the run instead.
struct ReadFailurePolicy: Sendable {
    /// The number of documents of the request.
    let documents: Int
    /// Consecutive failures that the documents may have caused.
    private var failures = 0

    init(documents: Int) { self.documents = documents }

    private var isSingle: Bool { documents == 1 }

    /// Records a failure and returns what to do.
    mutating func advice(after error: GatewayError) -> ReadAdvice {
        failures = WriteFailurePolicy.mayBeCausedByDocuments(error) ? failures + 1 : 0
        switch error.code {
        case .tooLarge, .badRequest: return isSingle ? .ask(.gatewayResponds) : .halve
        // A firewall in front of the gateway may block one document, or this user may no longer read any.
        case .forbidden: return .ask(.gatewayResponds)
        default:
            guard failures >= (isSingle ? AttemptLimits.failures : AttemptLimits.minFailuresForHalving) else {
                return .wait
            }
            return isSingle ? .ask(.gatewayResponds) : .halve
        }
    }

    /// What to do after the answer to the question of ``advice(after:)``. The documents are the cause only if the
    /// gateway answers other requests.
    func advice(gatewayAnswers isAnswered: Bool) -> ReadAdvice {
        guard isAnswered else { return .wait }
        return isSingle ? .giveUp : .halve
    }
}
