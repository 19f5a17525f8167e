/// An error of the communication with a gateway.
///
/// ``description`` is safe to log: no bodies, no credentials. The outcome of a single document in a bulk write is not
/// an error but a ``BulkOutcome``.
public struct GatewayError: Error, Sendable {
    /// The kind of error. Open: more may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case cannotConnect, tlsFailed, connectionLost, timedOut, cancelled
            case unauthorized, forbidden, notFound, conflict, badRequest, tooLarge
            case tooManyRequests, unavailable, serverError, malformedAnswer, invalidRequest, notOffered
            case digestMismatch, sourceFailed, outOfResources
        }

        private let name: Name
        /// The name of the static member, such as `timedOut`.
        public var description: String { name.rawValue }

        /// No connection: refused, unresolved, unreachable.
        public static let cannotConnect = Code(name: .cannotConnect)
        /// The server's certificate was not accepted, or the server does not speak TLS.
        public static let tlsFailed = Code(name: .tlsFailed)
        /// The connection broke during an exchange, or the answer was cut short.
        public static let connectionLost = Code(name: .connectionLost)
        /// A deadline of ``GatewaySettings/Deadlines`` passed, or the gateway answered 408.
        public static let timedOut = Code(name: .timedOut)
        /// The calling task was cancelled, or the client was shut down. The gateway may have acted on the request.
        public static let cancelled = Code(name: .cancelled)
        /// 401, or 407 from a proxy.
        public static let unauthorized = Code(name: .unauthorized)
        /// 403.
        public static let forbidden = Code(name: .forbidden)
        /// 404.
        public static let notFound = Code(name: .notFound)
        /// 409, 412.
        public static let conflict = Code(name: .conflict)
        /// Another 4xx.
        public static let badRequest = Code(name: .badRequest)
        /// 413, or an answer longer than the caller's limit.
        public static let tooLarge = Code(name: .tooLarge)
        /// 429.
        public static let tooManyRequests = Code(name: .tooManyRequests)
        /// 502, 503, 504, 524: the gateway, or a proxy in front of it, can't answer now. Also 402, 423, 424, 425, 451
        /// and CouchDB's 403 for a locked account: the gateway refuses this user's requests for now.
        public static let unavailable = Code(name: .unavailable)
        /// Another 5xx.
        public static let serverError = Code(name: .serverError)
        /// An answer that no gateway gives: not JSON, not of the documented shape, an unknown status.
        public static let malformedAnswer = Code(name: .malformedAnswer)
        /// The request can't be sent: its address, credentials or content are not valid.
        public static let invalidRequest = Code(name: .invalidRequest)
        /// The gateway does not offer this operation, or not to this user. There may be another way.
        public static let notOffered = Code(name: .notOffered)
        /// The bytes of an attachment do not match the digest that the gateway gives.
        public static let digestMismatch = Code(name: .digestMismatch)
        /// The bytes to send could not be read, or are fewer or more than announced. Nothing was written.
        public static let sourceFailed = Code(name: .sourceFailed)
        /// The process has run out of descriptors, threads or memory. Restart it.
        public static let outOfResources = Code(name: .outOfResources)
    }

    /// Determines ``isRetryable``.
    public var code: Code
    /// A message for the user: what happened and, where there is one, the remedy.
    public var message: String
    /// The HTTP status that led to this error; nil if none did.
    public var status: Int?
    /// The gateway's own name for the error, from `error`: `missing_stub`, `Not Acceptable`; nil if it gave none.
    public var name: String?
    /// The exact cause that the gateway reports; nil unless the answer is known.
    public var cause: Cause?
    /// How long the gateway asked to wait in `Retry-After`, an hour at most; nil if it did not ask.
    public var retryAfter: Duration?
    /// Whether this request was not sent, because the `Retry-After` of an earlier answer has not passed.
    public internal(set) var isHeldBack = false

    /// Leaves ``name`` and ``cause`` nil: only an answer sets them.
    public init(_ code: Code, _ message: String, status: Int? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.retryAfter = retryAfter
    }

    /// Whether the same request may succeed later without any intervention.
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
    /// The message, followed by the HTTP status if there is one.
    public var description: String { status.map { "\(message) (HTTP \($0))" } ?? message }
}
