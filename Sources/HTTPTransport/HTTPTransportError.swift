/// Why an exchange failed.
///
/// Safe to log: contains only the host and port of the URL, never user info, path, query, header or credentials. Two
/// errors are equal when their codes are.
package struct HTTPTransportError: Error, Sendable {
    /// The only part that `==` compares.
    package let code: Code
    /// One line for the user: libcurl's error message if it gave one.
    package let message: String
    /// The host in the request's URL; nil if the URL could not be parsed.
    package let host: String?
    /// The default port if the URL names none; nil with ``host``.
    package let port: Int?
    /// libcurl's number, if the error came from libcurl.
    package let curlCode: Int?

    init(_ code: Code, _ message: String, host: String? = nil, port: Int? = nil, curlCode: Int? = nil) {
        self.code = code
        self.message = message
        self.host = host
        self.port = port
        self.curlCode = curlCode
    }

    /// Whether the same request may succeed later.
    package var isRetryable: Bool {
        switch code.base {
        case .cannotResolve, .cannotConnect, .timedOut, .connectionClosed: true
        case .tlsFailed(let problem): problem == .handshake
        case .cancelled, .malformedAnswer, .tooLarge, .badURL, .invalidRequest, .sourceFailed, .outOfResources,
            .addressRefused, .other:
            false
        }
    }
}

extension HTTPTransportError {
    /// Open: more may be added, so a `switch` needs a `default`.
    package struct Code: Sendable, Hashable {
        enum Base: Hashable {
            case cannotResolve, cannotConnect, connectionClosed, malformedAnswer, tooLarge
            case cancelled, badURL, invalidRequest, sourceFailed, outOfResources, addressRefused
            case timedOut(Timeout)
            case tlsFailed(TLSProblem)
            case other(Int)
        }

        let base: Base

        /// The host name (or that of the proxy) has no address.
        package static let cannotResolve = Code(base: .cannotResolve)
        /// No connection: refused, unreachable.
        package static let cannotConnect = Code(base: .cannotConnect)
        /// Cut off before the answer was complete: no head, a body shorter than announced, no final chunk.
        package static let connectionClosed = Code(base: .connectionClosed)
        /// The answer is not HTTP/1.
        package static let malformedAnswer = Code(base: .malformedAnswer)
        /// A header longer than its limit, or a body longer than the limit given to ``HTTPBody/collect(upTo:)``.
        package static let tooLarge = Code(base: .tooLarge)
        /// The task was cancelled, the body was dropped before its end, or the client was shut down.
        package static let cancelled = Code(base: .cancelled)
        /// Not an `http` or `https` URL, or one with user info.
        package static let badURL = Code(base: .badURL)
        /// A method, header or credential that can't be sent.
        package static let invalidRequest = Code(base: .invalidRequest)
        /// A ``HTTPBodySource`` threw, or was shorter or longer than announced; no complete body was sent.
        package static let sourceFailed = Code(base: .sourceFailed)
        /// The process has no descriptors, threads or memory left. A client that was created in this state does not
        /// recover.
        package static let outOfResources = Code(base: .outOfResources)
        /// All addresses of the host are link-local, and the client refuses these:
        /// ``HTTPClientConfiguration/Connections/refusesLinkLocal``.
        package static let addressRefused = Code(base: .addressRefused)

        /// One of the deadlines passed.
        package static func timedOut(_ timeout: Timeout) -> Code { Code(base: .timedOut(timeout)) }
        /// No secure connection.
        package static func tlsFailed(_ problem: TLSProblem) -> Code { Code(base: .tlsFailed(problem)) }
        /// Any other error of libcurl, by its number.
        package static func other(_ curlCode: Int) -> Code { Code(base: .other(curlCode)) }

        /// The deadline that passed; nil if none did.
        package var timeout: Timeout? {
            if case .timedOut(let timeout) = base { timeout } else { nil }
        }

        /// The TLS problem; nil if there was none.
        package var tlsProblem: TLSProblem? {
            if case .tlsFailed(let problem) = base { problem } else { nil }
        }
    }

    /// The time limit that was reached.
    package enum Timeout: String, Sendable {
        /// ``HTTPClientConfiguration/Connections/connectTimeout``
        case connect
        /// ``HTTPRequest/deadline``
        case exchange
        /// ``HTTPRequest/idleTimeout``
        case idle
    }

    /// Why there is no secure connection. Only `handshake` may be worth a retry.
    package enum TLSProblem: String, Sendable {
        /// Not signed by a trusted authority, or self-signed.
        case unknownAuthority
        /// A valid certificate, for another host.
        case wrongHost
        /// Expired, or not valid yet.
        case outOfDate
        /// Any other error of the certificate: revoked, not for servers, a broken signature.
        case badCertificate
        /// The file with the authorities is missing or holds none.
        case authorityFile
        /// The client's own certificate or key can't be read, or they do not belong together.
        case clientCertificate
        /// The server does not speak TLS.
        case notTLS
        /// The two sides could not agree, or the connection was cut during the handshake.
        case handshake
    }
}

extension HTTPTransportError: Equatable {
    /// Compares only ``code``.
    package static func == (left: HTTPTransportError, right: HTTPTransportError) -> Bool { left.code == right.code }
}

extension HTTPTransportError: CustomStringConvertible {
    /// `HOST:PORT: MESSAGE`, an IPv6 address in brackets; the message alone without a host.
    package var description: String {
        guard let host else { return message }
        let place = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return "\(place)\(port.map { ":\($0)" } ?? ""): \(message)"
    }
}
