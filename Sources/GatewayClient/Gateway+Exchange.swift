internal import HTTPTransport
internal import Locking
internal import LosslessJSON

extension Gateway {
    /// Sends a request and returns once the head of a successful answer has arrived. If the gateway refuses a
    /// compressed request, sends it again uncompressed.
    ///
    /// - Throws: ``GatewayError`` for every status but 2xx, with the reason that the gateway gives.
    func open(_ request: GatewayRequest) async throws(GatewayError) -> HTTPResponse {
        guard let compressed = compressed(request) else { return try await openAsItIs(request) }
        do throws(GatewayError) { return try await openAsItIs(compressed) } catch {
            // 400 may also be about the documents: only the uncompressed request shows which.
            guard [400, 415].contains(error.status) || error.cause == .unreadableBody else { throw error }
            let response = try await openAsItIs(request)
            refusesCompression.withLock { $0 = true }
            return response
        }
    }

    private func openAsItIs(_ request: GatewayRequest) async throws(GatewayError) -> HTTPResponse {
        var authorization = try await authorization()
        var response = try await send(request, as: authorization)
        if response.status == 401, let other = try await self.authorization(insteadOf: authorization),
            request.source == nil
        {
            // Once the body has been read to its end, the connection can be reused.
            _ = try? await response.body.collect(upTo: 64 << 10)
            authorization = other
            response = try await send(request, as: authorization)
        }
        noteRenewal(response.headers, of: authorization)
        guard (200..<300).contains(response.status) else {
            throw await refusal(response, to: request, sentWith: authorization)
        }
        hasAnswered.withLock { $0 = true }
        return response
    }

    /// Describes an answer whose status is not 2xx.
    ///
    /// - Parameter authorization: What the request was sent with. No message repeats its secrets.
    func refusal(
        _ response: HTTPResponse, to request: GatewayRequest, sentWith authorization: Authorization
    ) async -> GatewayError {
        let error = await GatewayError(
            refusal: response, to: request, of: url, dialect: dialect, sentWith: authorization)
        guard error.code == .malformedAnswer else { return error }
        return await schemeError() ?? error
    }

    /// Sends a request and returns its answer, whatever its status. A GET follows up to five redirects (301) on the
    /// same server, never to another one: the credentials are sent along.
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
            sent.measuresUpload = request.mayCompress && measuresUploads
            response = try await http.send(sent)
        } catch {
            if error.mayBeOfScheme, let other = await schemeError() { throw other }
            throw GatewayError(error)
        }
        noteRetryAfter(response)
        if let upload = response.upload { compressionGauge.withLock { $0.note(upload, at: settings.now()) } }
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

extension HTTPTransportError {
    /// Whether a wrong scheme, http or https, may be the cause.
    fileprivate var mayBeOfScheme: Bool {
        switch code {
        case .connectionClosed, .malformedAnswer, .timedOut(.connect), .tlsFailed(.handshake), .tlsFailed(.notTLS): true
        default: false
        }
    }
}
