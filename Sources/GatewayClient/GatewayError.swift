/// What went wrong between the client and a gateway.
///
/// ``description`` is safe to log: no bodies, no credentials. What happened to single documents of a bulk write is
/// not an error but a ``BulkOutcome``.
public struct GatewayError: Error, Sendable {
    /// Open: new cases may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case cannotConnect, tlsFailed, connectionLost, timedOut, cancelled
            case unauthorized, forbidden, notFound, conflict, badRequest, tooLarge
            case tooManyRequests, unavailable, serverError, malformedAnswer, invalidRequest, notOffered
            case digestMismatch, sourceFailed, outOfResources
        }

        private let name: Name
        public var description: String { name.rawValue }

        /// No connection: refused, unresolved, unreachable.
        public static let cannotConnect = Code(name: .cannotConnect)
        /// The server's certificate was not accepted, or it speaks no TLS.
        public static let tlsFailed = Code(name: .tlsFailed)
        /// The connection broke during an exchange, or the answer was cut short.
        public static let connectionLost = Code(name: .connectionLost)
        public static let timedOut = Code(name: .timedOut)
        public static let cancelled = Code(name: .cancelled)
        /// 401; 407 of a proxy.
        public static let unauthorized = Code(name: .unauthorized)
        /// 403.
        public static let forbidden = Code(name: .forbidden)
        /// 404.
        public static let notFound = Code(name: .notFound)
        /// 409, 412.
        public static let conflict = Code(name: .conflict)
        /// Another 4xx.
        public static let badRequest = Code(name: .badRequest)
        /// 413, or an answer longer than the caller takes.
        public static let tooLarge = Code(name: .tooLarge)
        /// 429.
        public static let tooManyRequests = Code(name: .tooManyRequests)
        /// 502, 503, 504, 524: the gateway, or a proxy before it, can't answer now.
        public static let unavailable = Code(name: .unavailable)
        /// Another 5xx.
        public static let serverError = Code(name: .serverError)
        /// An answer that no gateway gives: not JSON, not of the documented shape, an unknown status.
        public static let malformedAnswer = Code(name: .malformedAnswer)
        /// The request can't be sent as it is: the address or the credentials are not what HTTP allows.
        public static let invalidRequest = Code(name: .invalidRequest)
        /// The gateway is there, but does not do this, or not for this user: go another way.
        public static let notOffered = Code(name: .notOffered)
        /// The bytes of an attachment are not those that the gateway stores.
        public static let digestMismatch = Code(name: .digestMismatch)
        /// What was to be sent could not be read, or is shorter or longer than was said; nothing was written.
        public static let sourceFailed = Code(name: .sourceFailed)
        /// The process has no descriptors, threads or memory left: it is better started anew.
        public static let outOfResources = Code(name: .outOfResources)
    }

    public var code: Code
    /// For people: what happened and, where there is one, the remedy.
    public var message: String
    public var status: Int?
    /// The gateway's own name for it, as it stands in `error`: `missing_stub`, `Not Acceptable`; nil if it gave none.
    public var name: String?
    /// What exactly it says, if that is one of the answers that gateways are known to give.
    public var cause: Cause?
    /// What the gateway asked for in `Retry-After`.
    public var retryAfter: Duration?
    /// Whether this is the gateway's word on an earlier request: this one was not sent, as the gateway had asked for time.
    public internal(set) var isHeldBack = false

    public init(_ code: Code, _ message: String, status: Int? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
    }

    /// Whether the same request may succeed later without anybody's help.
    public var isRetryable: Bool {
        switch code {
        case .cannotConnect, .connectionLost, .timedOut, .tooManyRequests, .unavailable, .serverError,
            .malformedAnswer, .digestMismatch:
            true
        default: false
        }
    }
}

extension GatewayError: CustomStringConvertible {
    public var description: String { status.map { "\(message) (HTTP \($0))" } ?? message }
}
