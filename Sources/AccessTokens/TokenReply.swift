internal import Encodings
internal import LosslessJSON

/// The answer of a token server, and its meaning.
///
/// - Note: Source: RFC 6749, sections 5.1 and 5.2.
struct TokenReply: Sendable {
    let server: TokenServer
    /// Withheld from messages.
    let secret: String
    let status: Int

    /// Errors of OAuth that a later request may not meet.
    private static let temporaryErrors: Set = ["temporarily_unavailable", "server_error", "slow_down"]
    /// The maximum number of characters of a server's own message.
    private static let shownCharacters = 200

    /// - Throws: ``TokenError``.
    func answer(_ body: [UInt8], retryAfter: Duration?) throws(TokenError) -> TokenAnswer {
        let json = SmallJSON(body)
        if (200..<300).contains(status), let json { return try token(json) }
        let name = json?["error"]?.string ?? json?["errorCode"]?.string
        let reason = [name, json?["error_description"]?.string ?? json?["errorMessage"]?.string]
            .compactMap(\.self).joined(separator: ": ")
        let shown = reason.isEmpty ? "" : " (\(excerpt(reason)))"
        switch status {
        case _ where isTemporary(name):
            throw TokenError(
                .unavailable,
                "the token server \(server.place) answers HTTP \(status)\(shown); it is asked again later",
                retryAfter: retryAfter)
        case 400..<500 where name != nil:
            throw TokenError(
                .refused,
                "the token server \(server.place) refuses to give a token: HTTP \(status)\(shown); \(remedy(name ?? ""))",
                retryAfter: retryAfter)
        case 300..<400:
            throw TokenError(
                .malformed,
                "the token server \(server.place) answers with a redirect (HTTP \(status)), which is not followed; write the "
                    + "new address as token_url")
        default:
            let found = body.first { $0 > 0x20 } == UInt8(ascii: "<") ? "an HTML page" : "something that is not JSON"
            throw TokenError(
                .malformed,
                "the token server \(server.place) answers with \(found) (HTTP \(status)), not with a token; check token_url, "
                    + "and whether a proxy or a login page answers instead",
                retryAfter: retryAfter)
        }
    }

    /// - Parameter name: The error's name. Nil: the answer has none.
    private func isTemporary(_ name: String?) -> Bool {
        [408, 425, 429].contains(status) || status >= 500 || name.map(Self.temporaryErrors.contains) == true
    }

    private func token(_ json: SmallJSON) throws(TokenError) -> TokenAnswer {
        guard let text = json["access_token"]?.string, TokenText.isValid(text) else {
            throw TokenError(
                .malformed,
                "the answer of the token server \(server.place) has no usable access_token; check token_url, and that the "
                    + "server gives out tokens for clients")
        }
        if let type = json["token_type"]?.string, type.lowercased() != "bearer" {
            throw TokenError(
                .malformed,
                "the token server \(server.place) gives out tokens of the type '\(excerpt(type))'; only bearer tokens are "
                    + "supported: configure this client for them")
        }
        return TokenAnswer(text: text, lifetime: json["expires_in"]?.seconds.flatMap(TokenText.lifetime))
    }

    private func remedy(_ name: String) -> String {
        switch name {
        case "invalid_client", "unauthorized_client":
            "check client_id and the client secret, and client_auth (basic or body)"
        case "invalid_scope": "check scope"
        case "unsupported_grant_type": "enable client credentials for this client at the server"
        case _ where name.hasPrefix("BXNIM"): "check the API key"
        default: "check the client, its secret and its scope"
        }
    }

    /// The server's text: short, printable, and without the secret.
    private func excerpt(_ text: String) -> String {
        let withheld = secret.utf8.count < 6 ? text : text.replacing(secret, with: "***")
        var shown = String.UnicodeScalarView()
        for scalar in withheld.unicodeScalars.prefix(Self.shownCharacters) {
            shown.append(scalar.isVisible ? scalar : " ")
        }
        return String(shown)
    }
}

/// The form of tokens and of their lifetimes.
enum TokenText {
    /// Whether the text can be sent in a header: visible ASCII.
    ///
    /// - Note: Source: RFC 6750, section 2.1, more generous.
    static func isValid(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Nil if there is no useful one.
    static func lifetime(_ seconds: Double) -> Duration? {
        seconds > 0 && seconds.isFinite ? .seconds(min(seconds, 10 * 365 * 86_400)) : nil
    }
}

extension SmallJSON {
    /// A number, or a text with one: some servers put it in quotes.
    var seconds: Double? {
        switch self {
        case .number(let text), .string(let text): Double(text)
        default: nil
        }
    }
}
