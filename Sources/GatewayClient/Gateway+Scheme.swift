internal import HTTPTransport
internal import Locking

extension Gateway {
    /// The error for an address with the wrong scheme: `http` for a TLS port, or `https` for a port without TLS. Nil if
    /// the scheme is right or can't be determined, or if the gateway has given a proper answer.
    ///
    /// Servers react differently: some answer 400, some send a TLS alert, most just close the connection. The port is
    /// therefore tried again with the other scheme and without credentials.
    func schemeError() async -> GatewayError? {
        guard !hasAnswered.withLock({ $0 }) else { return nil }
        let isSecure = url.base.hasPrefix("https://")
        let (other, name) = isSecure ? ("http", "plain HTTP") : ("https", "TLS")
        guard await answers(other) else { return nil }
        return GatewayError(
            .tlsFailed,
            "\(url): this port speaks \(name): write \(other):// instead of \(isSecure ? "https" : "http")://")
    }

    /// Whether the same port answers when this scheme is used.
    private func answers(_ scheme: String) async -> Bool {
        guard let end = url.base.firstRange(of: "://")?.upperBound else { return false }
        var configuration = HTTPClientConfiguration()
        configuration.connections.connectTimeout = .seconds(3)
        configuration.tls.isInsecure = true
        configuration.userAgent = settings.userAgent
        configuration.carrier = settings.process.carrier
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
            // These errors can only come after the TLS handshake.
            return url.hasPrefix("https:")
                && [.connectionClosed, .malformedAnswer, .timedOut(.exchange)].contains(error.code)
        }
        // A TLS server that receives plain HTTP may answer 400 in plain HTTP.
        return url.hasPrefix("https:") || status != 400
    }
}
