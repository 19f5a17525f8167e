internal import HTTPTransport

/// A failed request to a webhook receiver or an attachment server that may succeed later.
struct ReceiverFailure: Error {
    enum Cause: Sendable {
        /// The receiver is unreachable, or asks to retry later. It did not process the request.
        case receiver
        /// A proxy answered with 502, 503 or 504, so the receiver is probably down.
        case gateway
        /// The response was cut. Either the receiver is down, or the event makes it crash.
        case brokenOff
        /// The receiver failed with another 5xx, probably because of the event.
        case event
    }

    let reason: String
    /// The reason without path and query, which may hold secrets.
    let summary: String
    let cause: Cause
    /// The wait that the receiver asks for.
    var retryAfter: Duration?
}

extension ReceiverFailure {
    /// Nil if the response is final.
    ///
    /// - Parameters:
    ///   - place: The URL for messages.
    ///   - isForced: Whether a response that is usually final is to be retried.
    init?(_ response: HTTPResponse, of place: String, isForced: Bool = false) {
        let cause: Cause
        switch response.status {
        case 408, 425, 429: cause = .receiver
        case 502, 503, 504: cause = .gateway
        case 500...: cause = .event
        default:
            guard isForced else { return nil }
            cause = .event
        }
        let summary = "answered HTTP \(response.status)"
        self.init(
            reason: "\(place) \(summary)", summary: summary, cause: cause, retryAfter: response.headers.retryAfter())
    }

    init(_ error: HTTPTransportError) {
        let tlsProblem = error.code.tlsProblem
        let isUnreachable =
            [.cannotResolve, .cannotConnect, .timedOut(.connect)].contains(error.code) || tlsProblem != nil
        let remedy = tlsProblem.flatMap(Self.remedy).map { "; \($0)" } ?? ""
        self.init(
            reason: "\(error)\(remedy)", summary: error.message + remedy, cause: isUnreachable ? .receiver : .brokenOff)
    }

    private static func remedy(for problem: HTTPTransportError.TLSProblem) -> String? {
        switch problem {
        case .unknownAuthority: "set ca_file to the authority that signed its certificate"
        case .authorityFile: "check the file that ca_file names"
        case .clientCertificate: "check the files that certificate_file and key_file name"
        default: nil
        }
    }
}
