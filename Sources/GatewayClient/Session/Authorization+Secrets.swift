internal import AccessTokens
internal import Encodings

extension Authorization {
    /// The secrets of a request, in every form in which it sends them.
    var secrets: [String] {
        switch self {
        case .credentials(let credentials): credentials?.secrets ?? []
        case .session(let session): session.values
        case .token(let token): [token.text]
        }
    }
}

extension GatewayCredentials {
    var secrets: [String] {
        switch self {
        case .basic(let user, let password): [Base64.text(Array("\(user):\(password)".utf8)), password]
        case .bearer(let token): [token]
        }
    }
}

extension String {
    /// Shorter secrets are not replaced, because they may be ordinary words.
    private static let minSecretLength = 6

    /// The text of an answer with the request's secrets replaced: some servers and proxies echo requests.
    func withholding(_ secrets: [String]) -> String {
        secrets.filter { $0.utf8.count >= Self.minSecretLength }.reduce(self) { $0.replacing($1, with: "***") }
    }
}
