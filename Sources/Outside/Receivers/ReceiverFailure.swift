internal import HTTPTransport

/// Why a request to a receiver of webhooks, or to a server of attachments, failed that may succeed later.
struct ReceiverFailure: Error {
    enum Cause: Sendable {
        /// It serves nobody: no connection, or an answer that asks to come later. What was asked for was not looked at.
        case receiver
        /// What stands in for it gave the answer, so probably the same.
        case gateway
        /// No whole answer came. The receiver may be down; the event may be what it can't bear.
        case brokenOff
        /// It answered, and failed: probably the event.
        case event
    }

    let reason: String
    /// The same without path and query, which may hold secrets.
    let summary: String
    let cause: Cause
    /// How long it asks to wait.
    var retryAfter: Duration?
}

extension ReceiverFailure {
    /// Nil for an answer that is final.
    ///
    /// - Parameter place: What was asked.
    init?(_ response: HTTPResponse, of place: String) {
        let cause: Cause
        switch response.status {
        case 408, 425, 429: cause = .receiver
        case 502, 503, 504: cause = .gateway
        case 500...: cause = .event
        default: return nil
        }
        let summary = "answered HTTP \(response.status)"
        self.init(
            reason: "\(place) \(summary)", summary: summary, cause: cause, retryAfter: response.headers.retryAfter())
    }

    init(_ error: HTTPTransportError) {
        let tlsProblem = error.code.tlsProblem
        let isUnreached =
            [.cannotResolve, .cannotConnect, .timedOut(.connect)].contains(error.code) || tlsProblem != nil
        let remedy = tlsProblem.flatMap(Self.remedy).map { "; \($0)" } ?? ""
        self.init(
            reason: "\(error)\(remedy)", summary: error.message + remedy, cause: isUnreached ? .receiver : .brokenOff)
    }

    private static func remedy(for problem: HTTPTransportError.TLSProblem) -> String? {
        switch problem {
        case .unknownAuthority: "name the authority that signed its certificate as ca_file"
        case .authorityFile: "check the file that ca_file names"
        case .clientCertificate: "check the files that certificate_file and key_file name"
        default: nil
        }
    }
}
