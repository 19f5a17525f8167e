internal import HTTPTransport

/// A summary of one request, for a line in a log. Contains no credentials and no bodies.
public struct RequestRecord: Sendable {
    /// In capitals: `GET`.
    public let method: String
    /// Path and query, as sent.
    public let target: String
    /// Nil if no head of an answer arrived.
    public let status: Int?
    /// From the request to the last byte of the answer.
    public let duration: Duration
    /// Bytes of the request's body.
    public let sent: Int
    /// Bytes of the answer's body.
    public let received: Int
    /// Why the exchange failed; nil if it completed.
    public let failure: String?

    init(_ record: HTTPExchangeRecord) {
        method = record.method
        target = record.target
        status = record.status
        duration = record.duration
        sent = record.sent
        received = record.received
        failure = record.error?.description
    }
}
