/// How one exchange went: what is worth a line in a log. Holds no header, no credentials and no body.
package struct HTTPExchangeRecord: Sendable {
    package let method: String
    /// Path and query, as they were sent.
    package let target: String
    /// Nil if no answer began.
    package let status: Int?
    /// From the request to the last byte of the answer.
    package let duration: Duration
    /// Bytes of the request's body.
    package let sent: Int
    /// Bytes of the answer's body.
    package let received: Int
    /// Nil if it came to its proper end.
    package let error: HTTPTransportError?

    /// One that is under way.
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
    /// What follows the authority of a URL.
    fileprivate var pathAndQuery: String {
        guard let authority = firstRange(of: "://")?.upperBound else { return self }
        return self[authority...].firstIndex { $0 == "/" || $0 == "?" }.map { String(self[$0...]) } ?? "/"
    }
}
