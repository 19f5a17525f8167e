internal import AccessTokens
internal import Locking

extension Gateway {
    /// The token for a request. Nil: the settings have no source of tokens.
    func accessToken() async throws(GatewayError) -> AccessToken? {
        guard let tokens = settings.accessTokens else { return nil }
        do throws(TokenError) { return try await tokens.token() } catch { throw gatewayError(error) }
    }

    /// The token to try after a 401. Nil: there is no other.
    func accessToken(insteadOf refused: AccessToken) async throws(GatewayError) -> AccessToken? {
        guard let tokens = settings.accessTokens else { return nil }
        do throws(TokenError) { return try await tokens.token(insteadOf: refused) } catch { throw gatewayError(error) }
    }

    /// Notes that a renewed token was refused as well, so that others are not requested at once.
    func noteRefused(_ token: AccessToken) async { await settings.accessTokens?.noteRefused(token) }

    /// Without a token, no request can be sent. Once the gateway has answered, this is an outage like others.
    private func gatewayError(_ error: TokenError) -> GatewayError {
        let hasAnswered = hasAnswered.withLock { $0 }
        let code: GatewayError.Code =
            switch error.kind {
            case .cancelled: .cancelled
            case .refused: .unauthorized
            case .unreachable: hasAnswered ? .unavailable : .cannotConnect
            case .malformed: hasAnswered ? .unavailable : .malformedAnswer
            case .unavailable: .unavailable
            }
        var failure = GatewayError(code, "\(url): \(error.message)", retryAfter: error.retryAfter)
        failure.isHeldBack = error.isHeldBack
        return failure
    }
}
