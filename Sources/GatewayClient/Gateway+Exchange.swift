internal import AccessTokens
internal import HTTPTransport
internal import Locking
internal import LosslessJSON

extension Gateway {
    /// Sends a request and returns once the head of a successful answer has arrived. If the gateway refuses a
    /// compressed request, sends it again uncompressed.
    ///
    /// - Throws: ``GatewayError`` for every status but 2xx, with the reason that the gateway gives.
    func open(_ request: GatewayRequest) async throws(GatewayError) -> HTTPResponse {
        guard let compressed = compressed(request) else { return try await openAsIs(request) }
        do throws(GatewayError) { return try await openAsIs(compressed) } catch {
            // 400 may also be about the documents: only the uncompressed request shows that.
            guard [400, 415].contains(error.status) || error.cause == .unreadableBody else { throw error }
            let response = try await openAsIs(request)
            refusesCompression.withLock { $0 = true }
            return response
        }
    }

    private func openAsIs(_ request: GatewayRequest) async throws(GatewayError) -> HTTPResponse {
        var authorization = try await authorization()
        var exchange = try await sendOnce(request, as: authorization)
        if exchange.response.status == 401 {
            // The connection can be reused once the body is read to its end.
            let refusal = await evaluate(exchange, sentAs: authorization)
            guard let other = try await self.authorization(insteadOf: authorization), request.body?.isSentOnce != true
            else {
                throw refusal
            }
            authorization = other
            exchange = try await sendOnce(request, as: authorization)
            if exchange.response.status == 401, case .token(let token) = other { await noteRefused(token) }
        }
        noteRenewal(exchange.response.headers, of: authorization)
        if case .token(let token) = authorization, exchange.response.status != 401 {
            settings.accessTokens?.noteAccepted(token)
        }
        guard (200..<300).contains(exchange.response.status) else {
            throw await evaluate(exchange, sentAs: authorization)
        }
        hasAnswered.withLock { $0 = true }
        return exchange.response
    }

    /// Sends a request unless its credentials were just refused, and records whether they are accepted.
    ///
    /// - Throws: `.unauthorized` with ``GatewayError/isHeldBack`` without sending anything.
    private func sendOnce(
        _ request: GatewayRequest, as authorization: Authorization
    ) async throws(GatewayError) -> LoginExchange {
        guard case .credentials(let credentials?) = authorization else {
            return LoginExchange(request, try await send(request, as: authorization), nil)
        }
        return try await sendWhileLoginsPass(request, as: authorization, testing: credentials)
    }

    /// Describes an answer whose status is not 2xx, and records whether it refuses the credentials.
    private func evaluate(_ exchange: LoginExchange, sentAs authorization: Authorization) async -> GatewayError {
        let error = await refusal(exchange.response, to: exchange.request, sentAs: authorization)
        noteRefusedLogin(error, of: exchange)
        return error
    }

    /// Describes an answer whose status is not 2xx.
    ///
    /// - Parameter authorization: The request's authorization. Its secrets are removed from messages.
    func refusal(
        _ response: HTTPResponse, to request: GatewayRequest, sentAs authorization: Authorization
    ) async -> GatewayError {
        let error = await GatewayError(
            refusal: response, to: request, of: url, dialect: dialect, sentAs: authorization)
        guard error.code == .malformedAnswer else { return error.namingProxy(of: url) }
        return await schemeError() ?? error.namingProxy(of: url)
    }

    /// Sends a request and returns its answer, whatever its status. A GET follows up to five redirects (301) on the
    /// same server, but never to another one, because the credentials are sent along.
    func send(_ request: GatewayRequest, as authorization: Authorization) async throws(GatewayError) -> HTTPResponse {
        var address = request.address(at: url)
        for _ in 0..<5 {
            let response = try await send(request, to: address, as: authorization)
            guard response.status == 301, request.method == "GET", let place = response.headers["Location"],
                let next = url.address(ofMoveTo: place)
            else { return response }
            address = next
        }
        return try await send(request, to: address, as: authorization)
    }

    private func send(
        _ request: GatewayRequest, to address: String, as authorization: Authorization
    ) async throws(GatewayError) -> HTTPResponse {
        try checkRetryAfter()
        let response: HTTPResponse
        do throws(HTTPTransportError) {
            var sent = request.httpRequest(to: address, as: authorization)
            sent.idleTimeout = sent.idleTimeout ?? settings.deadlines.silence
            sent.measuresUpload = request.body?.mayBeCompressed == true && measuresUploads
            response = try await http.send(sent)
        } catch {
            if error.mayBeWrongScheme, let other = await schemeError() { throw other }
            throw GatewayError(error).namingProxy(of: url)
        }
        noteRetryAfter(response)
        if let upload = response.upload { compressionGauge.withLock { $0.note(upload, at: settings.process.now()) } }
        if let dialect = GatewayDialect(serverHeader: response.headers["Server"]) { learn(dialect) }
        return response
    }

    /// The whole body of a successful answer.
    ///
    /// - Throws: Also `.tooLarge` if it is longer than `limit` bytes.
    func collect(_ request: GatewayRequest, limit: Int = 1 << 20) async throws(GatewayError) -> [UInt8] {
        let response = try await open(request)
        do throws(HTTPTransportError) { return try await response.body.collect(upTo: limit) } catch {
            throw GatewayError(error)
        }
    }

    /// A small answer that must be a JSON object or array.
    func answer(_ request: GatewayRequest) async throws(GatewayError) -> SmallJSON {
        let body = try await collect(request)
        guard let answer = SmallJSON(body) else { throw .notJSON(body, from: url) }
        return answer
    }
}

extension GatewayError {
    /// Names the environment variable of the proxy that may have caused the error.
    func namingProxy(of url: GatewayURL) -> GatewayError {
        let mayBeFromProxy =
            [.cannotConnect, .connectionLost, .timedOut, .tlsFailed, .malformedAnswer].contains(code)
            || [407, 502, 503, 504].contains(status)
        guard mayBeFromProxy, let variable = HTTPProxies.environment.variable(for: url.base) else { return self }
        var error = self
        error.message +=
            "; the request went through the proxy set in the environment variable \(variable): to reach the "
            + "gateway directly, add its host to no_proxy"
        return error
    }
}

extension HTTPTransportError {
    /// Whether a wrong scheme (http or https) may be the cause.
    fileprivate var mayBeWrongScheme: Bool {
        switch code {
        case .connectionClosed, .malformedAnswer, .timedOut(.connect), .tlsFailed(.handshake), .tlsFailed(.notTLS): true
        default: false
        }
    }
}
