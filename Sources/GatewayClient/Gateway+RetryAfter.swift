internal import HTTPTransport
internal import Locking

/// Until when a gateway wants to be left alone.
struct GatewayHold: Sendable {
    let until: ContinuousClock.Instant
    /// 429, 503 or another status that came with `Retry-After`.
    let status: Int
}

extension Gateway {
    /// Takes notice of the `Retry-After` of a refusal: it holds for all requests to this server, not only for the one that
    /// was refused.
    func noteRetryAfter(_ response: HTTPResponse) {
        guard response.status == 429 || response.status >= 500, let wait = response.headers.retryAfter(), wait > .zero
        else { return }
        let until = settings.now() + wait
        hold.withLock { hold in
            if hold.map({ $0.until < until }) ?? true { hold = GatewayHold(until: until, status: response.status) }
        }
    }

    /// Refuses a request that the gateway does not want to get yet, without sending it. Whoever asked waits as it would
    /// after the gateway's own refusal, so that a run can be stopped meanwhile.
    func heedRetryAfter() throws(GatewayError) {
        guard let held = hold.withLock({ $0 }) else { return }
        let left = settings.now().duration(to: held.until)
        guard left > .zero else { return hold.withLock { $0 = nil } }
        var error = GatewayError(
            held.status == 429 ? .tooManyRequests : .unavailable,
            "\(url): not sent: the gateway asked to wait (Retry-After)", status: held.status,
            retryAfter: left)
        error.isHeldBack = true
        throw error
    }
}
