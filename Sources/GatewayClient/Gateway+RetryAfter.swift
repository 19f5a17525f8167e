internal import HTTPTransport
internal import Locking

/// The time until which no request may be sent, because the gateway asked for a pause.
struct RetryAfterPause: Sendable {
    let until: ContinuousClock.Instant
    /// The status that came with `Retry-After`: 429 or 5xx.
    let status: Int
}

extension Gateway {
    /// Records the `Retry-After` of a refusal. It applies to all requests to this server, not only to the refused one.
    func noteRetryAfter(_ response: HTTPResponse) {
        guard response.status == 429 || response.status >= 500, let wait = response.headers.retryAfter(), wait > .zero
        else { return }
        let until = settings.process.now() + wait
        hold.withLock { hold in
            if hold.map({ $0.until < until }) ?? true { hold = RetryAfterPause(until: until, status: response.status) }
        }
    }

    /// Throws, without sending anything, until a recorded `Retry-After` has passed. The caller then waits as after the
    /// gateway's own refusal, so the run can still be stopped.
    func checkRetryAfter() throws(GatewayError) {
        guard let held = hold.withLock({ $0 }) else { return }
        let left = settings.process.now().duration(to: held.until)
        guard left > .zero else { return hold.withLock { $0 = nil } }
        var error = GatewayError(
            held.status == 429 ? .tooManyRequests : .unavailable,
            "\(url): not sent: the gateway asked to wait (Retry-After)", status: held.status,
            retryAfter: left)
        error.isHeldBack = true
        throw error
    }
}
