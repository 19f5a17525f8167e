/// A summary of one exchange, for a line in a log. Contains no header, no credentials and no body.
package struct HTTPExchangeRecord: Sendable {
    /// As in the request: `GET`.
    package let method: String
    /// Path and query, as sent.
    package let target: String
    /// Nil if no head of an answer arrived.
    package let status: Int?
    /// From the request to the last byte of the answer.
    package let duration: Duration
    /// Bytes of the request's body.
    package let sent: Int
    /// Bytes of the answer's body.
    package let received: Int
    /// Nil if the exchange completed.
    package let error: HTTPTransportError?

    /// The record of an exchange in progress.
    struct Pending {
        private let method: String
        private let target: String
        private let begun = ContinuousClock.now
        private let observer: @Sendable (HTTPExchangeRecord) -> Void

        init(_ request: HTTPRequest, _ observer: @escaping @Sendable (HTTPExchangeRecord) -> Void) {
            method = request.method
            target = request.url.pathAndQuery
            self.observer = observer
        }

        func end(status: Int?, sent: Int, received: Int, _ result: Result<Void, HTTPTransportError>) {
            var error: HTTPTransportError?
            if case .failure(let failure) = result { error = failure }
            observer(
                HTTPExchangeRecord(
                    method: method, target: target, status: status, duration: begun.duration(to: .now), sent: sent,
                    received: received, error: error))
        }
    }
}

extension String {
    /// The part of a URL after the authority.
    fileprivate var pathAndQuery: String {
        guard let authority = firstRange(of: "://")?.upperBound else { return self }
        return self[authority...].firstIndex { $0 == "/" || $0 == "?" }.map { String(self[$0...]) } ?? "/"
    }
}
