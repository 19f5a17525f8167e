package import HTTPTransport
internal import LosslessJSON

extension GatewayError {
    /// An error of a request without a complete answer.
    package init(_ error: HTTPTransportError) {
        let code: Code
        switch error.code {
        case .cannotResolve, .cannotConnect: code = .cannotConnect
        case .cancelled: code = .cancelled
        case .connectionClosed: code = .connectionLost
        case .malformedAnswer: code = .malformedAnswer
        // An endless header does not concern the documents that were sent or requested.
        case .tooLarge: code = error.curlCode == nil ? .tooLarge : .malformedAnswer
        case .badURL, .invalidRequest: code = .invalidRequest
        case .sourceFailed: code = .sourceFailed
        case .outOfResources: code = .outOfResources
        case _ where error.code.tlsProblem != nil: code = .tlsFailed
        case _ where error.code.timeout == .connect: code = .cannotConnect
        case _ where error.code.timeout != nil: code = .timedOut
        default: code = .connectionLost
        }
        self.init(code, [error.description, error.code.remedy].compactMap(\.self).joined(separator: "; "))
    }

    /// An answer whose status is not 2xx. Reads up to 64 KiB of its body to find the reason.
    ///
    /// - Parameter authorization: The request's authorization. Its secrets are removed from messages.
    init(
        refusal response: HTTPResponse, to request: GatewayRequest, of url: GatewayURL, dialect: GatewayDialect,
        sentAs authorization: Authorization
    ) async {
        let secrets = authorization.secrets
        let body = (try? await response.body.collect(upTo: 64 << 10)) ?? []
        let answer = SmallJSON(body)
        let (name, status) = (answer?["error"]?.string, response.status)
        let reasons = [answer?["reason"]?.string, name].compactMap(\.self)
        var reason = reasons.first { !$0.isEmpty } ?? "no reason given"
        if reason.hasSuffix(".") { reason.removeLast() }
        // An empty body, as after a HEAD, comes from a gateway only if the `Server` header says so.
        let isEmptyAnswer = body.isEmpty && GatewayDialect(serverHeader: response.headers["Server"]) != nil
        let code = Code(status: status, isGatewayAnswer: name != nil || isEmptyAnswer)
        self.init(
            code, "\(url): \(reason.withholding(secrets))", status: status, retryAfter: response.headers.retryAfter())
        self.name = name?.withholding(secrets)
        guard code != .malformedAnswer else {
            message = "\(url): \(Self.explanation(ofForeign: status, response.headers))"
            return
        }
        cause = Cause(
            status: status, name: name ?? "", reason: reason, of: request.subject,
            isChallenge: response.headers["WWW-Authenticate"] != nil, dialect: dialect)
        switch cause {
        // The request is wrong, even where Sync Gateway answers 500.
        case .badSequence?: self.code = .badRequest
        // CouchDB answers 412 for a node in maintenance mode.
        case .databaseOffline?: self.code = .unavailable
        // Even the right password is refused: it can't be judged until the lock ends.
        case .accountLocked?: self.code = .unavailable
        default: break
        }
        let isMissing = status == 404 && request.subject == .database
        if let remedy = isMissing ? url.advice ?? cause?.remedy(for: url) : cause?.remedy(for: url, authorization) {
            message += "; \(remedy)"
        }
        // Sync Gateway gives this answer for a missing database, and for one with only named collections.
        if cause == .databaseMissing, request.subject != .database, reason.hasPrefix("keyspace ") {
            message += " A database without a default collection needs DB.SCOPE.COLLECTION in the URL"
        }
    }

    /// Describes an answer from an intermediary, or from a server that is not a gateway.
    private static func explanation(ofForeign status: Int, _ headers: HTTPHeaders) -> String {
        switch status {
        case 300..<400:
            "the server at this address is not a gateway: it redirects to "
                + "\(headers.redirectTarget(includesPath: true) ?? "another address"); redirects are not followed: write "
                + "the gateway's own address"
        case 414: "the server refuses the URL as too long: use fewer or shorter names"
        case 431: "the server refuses the header as too long: check the credentials"
        default: "the server at this address is not a gateway"
        }
    }

    /// A login that was refused although the database exists.
    static func wrongCredentials(refusedBy url: GatewayURL) -> GatewayError {
        let cause = Cause.wrongCredentials
        let remedy = cause.remedy(for: url).map { "; \($0)" } ?? ""
        var error = GatewayError(.unauthorized, "\(url): the gateway refuses the login\(remedy)", status: 401)
        error.cause = cause
        return error
    }

    static func notJSON(_ body: [UInt8], from url: GatewayURL) -> GatewayError {
        let found =
            body.first { $0 > 0x20 } == UInt8(ascii: "<")
            ? "an HTML page" : SmallJSON(body) == nil ? "something that is not JSON" : "JSON that no gateway sends"
        return GatewayError(
            .malformedAnswer, "\(url) answers with \(found): a proxy or another server, not a gateway?")
    }
}

extension HTTPTransportError.Code {
    /// The remedy; nil if the message is enough.
    fileprivate var remedy: String? {
        switch self {
        case .cannotResolve: "check its name"
        case .cannotConnect: "check that the gateway is running and that this is its address"
        case .timedOut(.connect): "check the address, and that no firewall stops the request"
        default: tlsProblem?.remedy
        }
    }
}

extension HTTPTransportError.TLSProblem {
    /// The remedy; nil if the message is enough.
    fileprivate var remedy: String? {
        switch self {
        case .unknownAuthority:
            "no trusted authority has signed the server's certificate: pass its authority's certificate with --ca-file FILE"
        case .wrongHost: "the server's certificate is for another host: check the address"
        case .outOfDate: "renew the server's certificate, or set the clock of this machine"
        case .authorityFile: "--ca-file must name a PEM file with certificates"
        case .notTLS: "this port does not speak TLS: write http:// instead of https://"
        case .clientCertificate:
            "the server requires a certificate of the client, or this one can't be used: check --certificate-file and --key-file"
        case .handshake, .badCertificate: nil
        }
    }
}

extension GatewayError {
    /// Payment required, locked, failed dependency, too early, unavailable for legal reasons. They refuse requests
    /// until someone pays, unlocks or waits, and do not concern a document.
    static let accountStatuses: Set<Int> = [402, 423, 424, 425, 451]
}

extension GatewayError.Code {
    /// - Parameter isGatewayAnswer: Whether the body is a gateway's error object. Otherwise an intermediary refused the
    ///   request, and the refusal does not concern the documents.
    init(status: Int, isGatewayAnswer: Bool) {
        switch status {
        case 401, 407: self = .unauthorized
        case 413: self = .tooLarge
        case 429: self = .tooManyRequests
        case 408: self = .timedOut
        // A quota, a lock or a blocked account: it concerns all requests of this user, whichever server answers.
        case _ where GatewayError.accountStatuses.contains(status): self = .unavailable
        // 501: a server that does not know the method or the path, which waiting does not change.
        case 400..<500 where !isGatewayAnswer, 501 where !isGatewayAnswer: self = .malformedAnswer
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

extension GatewayRequest {
    /// The subject of the request, where it changes the meaning of the answer.
    var subject: KnownAnswer.Subject {
        switch place {
        case .server: return .server
        case .database: return .database
        case .keyspace("_changes"): return .changes
        case .keyspace("_bulk_docs"): return .bulkDocuments
        case .keyspace(let path) where path.hasPrefix("_local/"): return .localDocument
        case .keyspace(let path) where path.hasPrefix("_"): return .other
        case .keyspace(let path): return path.utf8.contains(UInt8(ascii: "/")) ? .attachment : .document
        }
    }
}
