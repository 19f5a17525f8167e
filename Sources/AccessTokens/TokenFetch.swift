internal import Encodings
internal import HTTPTransport
internal import LosslessJSON

/// Requests a token once, from a token server or from a command.
struct TokenFetch: Sendable {
    /// For a whole request, and for a command.
    static let deadline: Duration = .seconds(30)
    /// The maximum number of bytes of an answer.
    static let lengthLimit = 256 << 10

    let method: TokenMethod
    let userAgent: String

    /// - Throws: ``TokenError``.
    func run() async throws(TokenError) -> TokenAnswer {
        switch method {
        case .command(let command): return try await TokenCommandRun(command).answer()
        case .clientCredentials(let client): return try await ask(client.server, try request(client))
        case .apiKey(let key): return try await ask(key.server, try request(key))
        }
    }

    // MARK: - Requests

    private struct Form {
        var fields: [(name: String, value: String)]
        var credentials: HTTPCredentials?
        /// Never part of a message.
        let secret: String
    }

    /// - Note: Source: RFC 6749, sections 2.3.1 and 4.4.2.
    private func request(_ client: TokenMethod.ClientCredentials) throws(TokenError) -> Form {
        let secret = try client.secret.read("client secret")
        var form = Form(fields: [("grant_type", "client_credentials")], secret: secret)
        if let scope = client.scope { form.fields.append(("scope", scope)) }
        if let audience = client.audience { form.fields.append(("audience", audience)) }
        switch client.form {
        case .basic:
            form.credentials = .basic(user: Self.encoded(client.clientID), password: Self.encoded(secret))
        case .body: form.fields += [("client_id", client.clientID), ("client_secret", secret)]
        }
        return form
    }

    private func request(_ key: TokenMethod.APIKey) throws(TokenError) -> Form {
        let secret = try key.key.read("API key")
        return Form(
            fields: [("grant_type", "urn:ibm:params:oauth:grant-type:apikey"), ("apikey", secret)], secret: secret)
    }

    /// - Note: Source: `application/x-www-form-urlencoded`; RFC 6749, appendix B.
    private static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (digits.utf8.count < 2 ? "0" : "") + digits
            }
        }
        return encoded
    }

    private func ask(_ server: TokenServer, _ form: Form) async throws(TokenError) -> TokenAnswer {
        var configuration = HTTPClientConfiguration()
        configuration.tls.caFile = server.caFile
        configuration.userAgent = userAgent
        // Rules may name the server, and cloud providers serve credentials at such addresses.
        configuration.connections.refusesLinkLocal = true
        configuration.bodies.headerLimit = 64 << 10
        // Tokens are requested rarely: no connection is kept.
        let client = HTTPClient(configuration: configuration)
        let result = await exchange(client, server, form)
        await client.shutdown()
        return try result.get()
    }

    private func exchange(
        _ client: HTTPClient, _ server: TokenServer, _ form: Form
    ) async -> Result<TokenAnswer, TokenError> {
        let body = form.fields.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }.joined(separator: "&")
        let request = HTTPRequest(
            method: "POST", url: server.url,
            headers: [("Accept", "application/json"), ("Content-Type", "application/x-www-form-urlencoded")],
            body: .bytes(Array(body.utf8)), credentials: form.credentials, deadline: Self.deadline)
        do throws(HTTPTransportError) {
            let response = try await client.send(request)
            let content = try await response.body.collect(upTo: Self.lengthLimit)
            let reply = TokenReply(server: server, secret: form.secret, status: response.status)
            return Result { () throws(TokenError) in
                try reply.answer(content, retryAfter: response.headers.retryAfter())
            }
        } catch {
            return .failure(Self.error(error, server))
        }
    }

    private static func error(_ error: HTTPTransportError, _ server: TokenServer) -> TokenError {
        let kind: TokenError.Kind
        switch error.code {
        case .cannotResolve, .cannotConnect, .timedOut(.connect): kind = .unreachable
        case .tooLarge, .malformedAnswer: kind = .malformed
        default: kind = .unavailable
        }
        let remedy: String
        switch error.code {
        case .addressRefused:
            remedy = "link-local addresses are refused, because cloud providers serve credentials there"
        case _ where error.code.tlsProblem == .unknownAuthority:
            remedy = "set token_ca_file to the authority that signed its certificate"
        case _ where error.code.tlsProblem == .authorityFile: remedy = "check the file that token_ca_file names"
        default: remedy = "check token_url, and that the server is up"
        }
        return TokenError(kind, "no access token from \(server.place): \(error.message); \(remedy)")
    }
}
