internal import HTTPTransport
internal import Locking

extension Gateway {
    /// What is wrong with the scheme of the address: `http` for a port that speaks TLS, or `https` for one that does not.
    /// Nil if that is not so, if it can't be told, or once the gateway has answered properly.
    ///
    /// Servers do not say so in the same way: some answer 400, some with a TLS alert, most just hang up. So the port is
    /// asked once more, with the other scheme and without credentials.
    func schemeError() async -> GatewayError? {
        guard !hasAnswered.withLock({ $0 }) else { return nil }
        let isSecure = url.base.hasPrefix("https://")
        let (other, name) = isSecure ? ("http", "plain HTTP") : ("https", "TLS")
        guard await answers(other) else { return nil }
        return GatewayError(
            .tlsFailed,
            "\(url): this port speaks \(name): write \(other):// instead of \(isSecure ? "https" : "http")://")
    }

    /// Whether there is an answer if the same port is asked with this scheme.
    private func answers(_ scheme: String) async -> Bool {
        guard let end = url.base.firstRange(of: "://")?.upperBound else { return false }
        var configuration = HTTPClientConfiguration()
        configuration.connections.connectTimeout = .seconds(3)
        configuration.tls.isInsecure = true
        configuration.userAgent = settings.userAgent
        let client = HTTPClient(configuration: configuration)
        let isAnswered = await client.answers("\(scheme)://\(url.base[end...].prefix { $0 != "/" })/")
        await client.shutdown()
        return isAnswered
    }
}

extension HTTPClient {
    fileprivate func answers(_ url: String) async -> Bool {
        let status: Int
        do throws(HTTPTransportError) {
            status = try await send(HTTPRequest(url: url, deadline: .seconds(6))).status
        } catch {
            // By then the two had agreed on TLS.
            return url.hasPrefix("https:")
                && [.connectionClosed, .malformedAnswer, .timedOut(.exchange)].contains(error.code)
        }
        // A server of TLS that is asked in plain HTTP may say in plain HTTP that this is wrong.
        return url.hasPrefix("https:") || status != 400
    }
}
