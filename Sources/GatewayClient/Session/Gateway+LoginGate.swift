internal import HTTPTransport

/// The answer to a request.
struct LoginExchange {
    let request: GatewayRequest
    let response: HTTPResponse
    /// Nil for a request without credentials, such as one of a session.
    let attempt: LoginGate.Attempt?

    init(_ request: GatewayRequest, _ response: HTTPResponse, _ attempt: LoginGate.Attempt?) {
        (self.request, self.response, self.attempt) = (request, response, attempt)
    }
}

extension Gateway {
    /// Sends a request, unless the gateway has just refused the credentials that it tests.
    ///
    /// If the request may be answered late, a small one tests the credentials first, because others wait for the answer.
    ///
    /// - Returns: The answer to that small request if it is 401. A 401 must be reported by
    ///   ``noteRefusedLogin(_:of:)``.
    /// - Throws: `.unauthorized` with ``GatewayError/isHeldBack`` without sending anything.
    func sendWhileLoginsPass(
        _ request: GatewayRequest, as authorization: Authorization, testing credentials: GatewayCredentials
    ) async throws(GatewayError) -> LoginExchange {
        let attempt = LoginGate.Attempt(LoginGate.Key(server: String(url.origin), credentials: credentials))
        let isTest = try await waitForAdmission(attempt)
        do throws(GatewayError) {
            if isTest, request.mayAnswerLate {
                let test = GatewayRequest(place: request.place.root, deadline: settings.deadlines.small)
                let exchange = try await send(test, as: authorization, attempt)
                if exchange.response.status == 401 { return exchange }
                _ = try? await exchange.response.body.collect(upTo: 64 << 10)
                // A proxy may forbid the small request. Others then test the credentials themselves.
                settings.process.loginGate.noteUnanswered(attempt)
            }
            return try await send(request, as: authorization, attempt)
        } catch {
            settings.process.loginGate.noteUnanswered(attempt)
            throw error
        }
    }

    /// - Returns: Whether the request tests the credentials: others wait for its answer.
    private func waitForAdmission(_ attempt: LoginGate.Attempt) async throws(GatewayError) -> Bool {
        while true {
            switch settings.process.loginGate.admit(attempt, at: settings.process.now()) {
            case .go: return false
            case .probe: return true
            case .hold(let next): throw .heldBack(at: url, attempt.key.credentials, nextAttempt: next)
            case .wait:
                do { try await Task.sleep(for: LoginGate.wait) } catch {
                    throw GatewayError(.cancelled, "\(url): cancelled")
                }
            }
        }
    }

    private func send(
        _ request: GatewayRequest, as authorization: Authorization, _ attempt: LoginGate.Attempt
    ) async throws(GatewayError) -> LoginExchange {
        let sent = settings.process.now()
        let response = try await send(request, as: authorization)
        if (200..<300).contains(response.status) {
            settings.process.loginGate.noteAccepted(
                attempt, sent: sent, proof: request.mayAnswerLate ? sent : settings.process.now())
        }
        return LoginExchange(request, response, attempt)
    }

    /// Records a refused login. Refusals that concern a database, a permission or a proxy do not count.
    func noteRefusedLogin(_ error: GatewayError, of exchange: LoginExchange) {
        guard let attempt = exchange.attempt else { return }
        if error.cause == .wrongCredentials {
            settings.process.loginGate.noteRefused(attempt, at: settings.process.now())
        } else {
            settings.process.loginGate.noteUnanswered(attempt)
        }
    }
}
