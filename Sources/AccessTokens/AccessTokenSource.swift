internal import Locking

/// One place for the access tokens of one ``TokenMethod``: everything in this process that needs such a token asks here.
///
/// At most one request for a token is in flight. ``TokenRenewal`` decides when there is one. A token that is about to
/// end is renewed in the background, so requests only wait if there is no usable token.
package actor AccessTokenSource {
    package typealias Instant = ContinuousClock.Instant
    typealias Fetch = @Sendable () async throws(TokenError) -> TokenAnswer

    /// The sources of this process.
    private static let shared = Locked<[TokenMethod: AccessTokenSource]>([:])

    /// The source of this process for a method.
    ///
    /// - Parameters:
    ///   - userAgent: Sent to token servers.
    ///   - noteFailure: Called if a token that is still used can't be renewed, once until one is renewed. Only that of
    ///     the first caller counts.
    package static func shared(
        _ method: TokenMethod, userAgent: String, noteFailure: @escaping @Sendable (TokenError) -> Void
    ) -> AccessTokenSource {
        shared.withLock { sources in
            if let known = sources[method] { return known }
            let fetch = TokenFetch(method: method, userAgent: userAgent)
            let source = AccessTokenSource(noteFailure: noteFailure) { () async throws(TokenError) in
                try await fetch.run()
            }
            sources[method] = source
            return source
        }
    }

    private let fetch: Fetch
    private let noteFailure: @Sendable (TokenError) -> Void
    private let now: @Sendable () -> Instant
    private var renewal: TokenRenewal
    /// The number of the request in flight. Nil: there is none.
    private var flight: Int?
    private var flights = 0
    /// The result of the last request that ended.
    private var last: (flight: Int, result: Result<AccessToken, TokenError>)?
    private var hasNotedFailure = false
    private var waiters: [ObjectIdentifier: Signal] = [:]
    /// The highest number of a token that a server has accepted.
    private let accepted = Locked(0)

    /// - Parameters:
    ///   - renewal: When tokens are renewed.
    ///   - now: The clock.
    ///   - fetch: Requests a token.
    init(
        renewal: TokenRenewal = TokenRenewal(), now: @escaping @Sendable () -> Instant = { .now },
        noteFailure: @escaping @Sendable (TokenError) -> Void = { _ in }, fetch: @escaping Fetch
    ) {
        (self.renewal, self.now, self.noteFailure, self.fetch) = (renewal, now, noteFailure, fetch)
    }

    /// A token that is valid as far as this process knows. Waits if there is none.
    ///
    /// - Throws: ``TokenError``. If the last request failed and the next one is not due, it is thrown at once.
    package func token() async throws(TokenError) -> AccessToken {
        switch renewal.step(now: now()) {
        case .use(let token): return token
        case .useAndRenew(let token):
            _ = begin()
            return token
        case .hold(let due): throw heldBack(until: due)
        case .request: return try await result(of: begin())
        }
    }

    /// Notes that a server accepted a token: a later refusal of it may have another cause.
    package nonisolated func noteAccepted(_ token: AccessToken) {
        accepted.withLock { $0 = max($0, token.number) }
    }

    /// Notes that a server refused a token with 401. Requests none.
    package func noteRefused(_ token: AccessToken) { _ = mayReplace(token) }

    /// The token to try after a server refused one with 401.
    ///
    /// - Returns: Nil if there is no reason to try another one, or new tokens are refused, too.
    /// - Throws: ``TokenError``.
    package func token(insteadOf refused: AccessToken) async throws(TokenError) -> AccessToken? {
        mayReplace(refused) ? try await token() : nil
    }

    private func mayReplace(_ refused: AccessToken) -> Bool {
        let isAccepted = accepted.withLock { $0 >= refused.number }
        return renewal.refuse(refused, isAccepted: isAccepted, now: now())
    }

    private func heldBack(until due: Instant) -> TokenError {
        let wait = max(.milliseconds(1), now().duration(to: due))
        var error: TokenError
        if case .failure(let failure)? = last?.result {
            error = failure
        } else {
            error = TokenError(.refused, "new access tokens are refused; check their scope and audience")
        }
        (error.retryAfter, error.isHeldBack) = (wait, true)
        return error
    }

    // MARK: - Requests

    /// Starts a request, unless one is in flight.
    ///
    /// - Returns: The number of the request.
    private func begin() -> Int {
        if let flight { return flight }
        flights += 1
        let number = flights
        flight = number
        // It outlives the task that needed it first: others wait for the same token.
        Task { await self.run(number) }
        return number
    }

    private func run(_ number: Int) async {
        do throws(TokenError) {
            let answer = try await fetch()
            last = (number, .success(renewal.succeed(answer, now: now())))
            hasNotedFailure = false
        } catch {
            let failed = now()
            renewal.fail(retryAfter: error.retryAfter, now: failed)
            var error = error
            if let due = renewal.due { error.retryAfter = failed.duration(to: due) }
            last = (number, .failure(error))
            if renewal.hasToken(now: failed), !hasNotedFailure {
                hasNotedFailure = true
                noteFailure(error)
            }
        }
        flight = nil
        for waiter in waiters.values { waiter.raise() }
    }

    private func result(of number: Int) async throws(TokenError) -> AccessToken {
        let signal = Signal()
        waiters[ObjectIdentifier(signal)] = signal
        defer { waiters[ObjectIdentifier(signal)] = nil }
        while flight == number {
            do { try await signal.wait() } catch { throw TokenError(.cancelled, "waiting for an access token stopped") }
        }
        guard let last else { throw TokenError(.cancelled, "waiting for an access token stopped") }
        return try last.result.get()
    }
}
