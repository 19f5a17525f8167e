internal import HTTPTransport
internal import LosslessJSON

extension GatewayError {
    init(_ error: HTTPTransportError) {
        let code: Code
        switch error.code {
        case .cannotResolve, .cannotConnect: code = .cannotConnect
        case .cancelled: code = .cancelled
        case .connectionClosed: code = .connectionLost
        case .malformedAnswer: code = .malformedAnswer
        case .tooLarge: code = .tooLarge
        case .badURL, .invalidRequest: code = .invalidRequest
        case _ where error.code.tlsProblem != nil: code = .tlsFailed
        case _ where error.code.timeout == .connect: code = .cannotConnect
        case _ where error.code.timeout != nil: code = .timedOut
        default: code = .connectionLost
        }
        self.init(code, error.description)
    }

    /// An answer whose status is not a success. Reads as much of its body as names the reason.
    init(refusal response: HTTPResponse, of url: GatewayURL) async {
        let body = (try? await response.body.collect(upTo: 64 << 10)) ?? []
        let answer = SmallJSON(body)
        var reason = answer.flatMap { $0["reason"]?.string ?? $0["error"]?.string } ?? "no reason given"
        if reason.hasSuffix(".") { reason.removeLast() }
        let status = response.status
        let code = Code(status: status, isGatewayAnswer: answer?["error"] != nil)
        self.init(code, "\(url): \(reason)", status: status, retryAfter: Self.retryAfter(response.headers))
        name = answer?["error"]?.string
        switch code {
        case .unauthorized where response.headers["WWW-Authenticate"] == nil:
            message += "; the user name or password is wrong, or there is no database '\(url.keyspace.database)'"
        case .unauthorized: message += "; check the user name and password"
        case .malformedAnswer: message = "\(url): what answers there is no gateway"
        default: break
        }
    }

    static func notJSON(_ body: [UInt8], from url: GatewayURL) -> GatewayError {
        let found =
            body.first { $0 > 0x20 } == UInt8(ascii: "<")
            ? "an HTML page" : SmallJSON(body) == nil ? "something that is not JSON" : "JSON that no gateway sends"
        return GatewayError(
            .malformedAnswer, "\(url) answers with \(found): a proxy or another server, not a gateway?")
    }

    /// Seconds only; a date is left to the usual back-off.
    private static func retryAfter(_ headers: HTTPHeaders) -> Duration? {
        headers["Retry-After"].flatMap(Int.init).map { .seconds(max(0, min($0, 3600))) }
    }
}

extension GatewayError.Code {
    /// - Parameter isGatewayAnswer: The body is an error object of a gateway. Without one, a refusal comes from something
    ///   before it and says nothing about the documents.
    init(status: Int, isGatewayAnswer: Bool) {
        switch status {
        case 401: self = .unauthorized
        case 413: self = .tooLarge
        case 429: self = .tooManyRequests
        case 408: self = .timedOut
        case 400..<500 where !isGatewayAnswer: self = .malformedAnswer
        case 403: self = .forbidden
        case 404: self = .notFound
        case 409, 412: self = .conflict
        case 502, 503, 504, 524: self = .unavailable
        case 500...599: self = .serverError
        case 400..<500: self = .badRequest
        default: self = .malformedAnswer
        }
    }
}
