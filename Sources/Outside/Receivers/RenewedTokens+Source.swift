internal import AccessTokens
internal import BotState
internal import HTTPTransport
internal import Rules

extension RenewedTokens {
    /// The source of this process.
    var source: AccessTokenSource {
        .shared(tokenMethod, userAgent: "changebot/" + ProgramVersion.current, noteFailure: { _ in })
    }

    /// Sends a request with a token. If the server refuses the token, sends it once more with a new one.
    ///
    /// - Parameters:
    ///   - place: The URL for messages.
    ///   - isRefusal: Whether a response refuses the token.
    /// - Throws: ``ReceiverFailure`` if tokens are refused although they are renewed, `TokenError`, what `send` throws.
    func authorize(
        _ place: String, isRefusal: (HTTPResponse) -> Bool = { $0.status == 401 },
        send: (AccessToken) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        let tokens = source
        var token = try await tokens.token()
        for isRenewed in [false, true] {
            let response = try await send(token)
            guard isRefusal(response) else {
                tokens.noteAccepted(token)
                return response
            }
            await response.body.skip()
            if isRenewed {
                await tokens.noteRefused(token)
            } else if let other = try await tokens.token(insteadOf: token) {
                token = other
            } else {
                break
            }
        }
        throw ReceiverFailure.tokenRefused(by: place)
    }

    private var tokenMethod: TokenMethod {
        switch method {
        case .clientCredentials(let url, let clientID, let secretFile, let scope, let audience, let isInBody):
            .clientCredentials(
                TokenMethod.ClientCredentials(
                    server: TokenServer(url: url, caFile: caFile), clientID: clientID, secret: .file(secretFile),
                    scope: scope, audience: audience, form: isInBody ? .body : .basic))
        case .apiKey(let url, let keyFile):
            .apiKey(
                TokenMethod.APIKey(
                    server: TokenServer(url: url ?? TokenMethod.APIKey.usualURL, caFile: caFile), key: .file(keyFile)))
        case .command(let words): .command(words.count == 1 ? TokenCommand(shell: words[0]) : TokenCommand(words))
        }
    }
}

extension ReceiverFailure {
    /// Without a token, nothing can be sent. The event is not at fault.
    init(_ error: TokenError) {
        self.init(reason: error.message, summary: error.message, cause: .receiver, retryAfter: error.retryAfter)
    }

    /// The receiver refuses tokens although they are renewed. If it accepts other events, the event may be at fault.
    static func tokenRefused(by place: String) -> ReceiverFailure {
        let summary = "refuses the access token (HTTP 401); check the scope and audience of its tokens"
        return ReceiverFailure(reason: "\(place) \(summary)", summary: summary, cause: .event)
    }
}

extension HTTPBody {
    /// Reads a short body to its end, so that the connection can be reused. Ignores errors.
    func skip() async { _ = await beginning(limit: 64 << 10) }

    /// The part that arrives within a second.
    func beginning(limit: Int = 4096) async -> [UInt8] {
        extendDeadline(by: .seconds(1))
        var bytes: [UInt8] = []
        while bytes.count < limit, let part = try? await next() { bytes += part }
        if bytes.count >= limit { cancel() }
        return bytes
    }
}
