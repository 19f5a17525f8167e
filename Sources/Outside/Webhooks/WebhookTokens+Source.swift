internal import AccessTokens
internal import BotState
internal import Rules

extension WebhookTokens {
    /// The source of this process.
    var source: AccessTokenSource {
        .shared(tokenMethod, userAgent: "changebot/" + ProgramVersion.current, noteFailure: { _ in })
    }

    private var tokenMethod: TokenMethod {
        switch method {
        case .clientCredentials(let url, let clientID, let secretFile, let scope, let isInBody):
            .clientCredentials(
                TokenMethod.ClientCredentials(
                    server: TokenServer(url: url, caFile: caFile), clientID: clientID, secret: .file(secretFile),
                    scope: scope, form: isInBody ? .body : .basic))
        case .apiKey(let url, let keyFile):
            .apiKey(
                TokenMethod.APIKey(
                    server: TokenServer(url: url ?? TokenMethod.APIKey.usualURL, caFile: caFile), key: .file(keyFile)))
        case .command(let words): .command(words.count == 1 ? TokenCommand(shell: words[0]) : TokenCommand(words))
        }
    }
}

extension ReceiverFailure {
    /// Without a token, no event can be sent. The event is not at fault.
    init(_ error: TokenError) {
        self.init(reason: error.message, summary: error.message, cause: .receiver, retryAfter: error.retryAfter)
    }

    /// The receiver refuses tokens although they are renewed. If it accepts other events, the event may be at fault.
    static func tokenRefused(by place: String) -> ReceiverFailure {
        let summary = "refuses the access token (HTTP 401); check the scope and audience of its tokens"
        return ReceiverFailure(reason: "\(place) \(summary)", summary: summary, cause: .event)
    }
}
