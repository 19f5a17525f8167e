/// The answer to a request.
package struct Answer: Sendable {
    /// Sends bytes to the client; returns when there is room for more, throws when the client is gone.
    package typealias Send = @Sendable ([UInt8]) async throws -> Void

    /// The content after the head.
    package enum Body: Sendable {
        case none
        /// Sent with a `Content-Length`.
        case whole([UInt8])
        /// Sent while it is made, in chunks unless the length is known. If it throws, the connection is closed without
        /// a final chunk.
        case streamed(@Sendable (_ send: @escaping Send) async throws -> Void)
        /// Nothing is sent, not even a head. The connection ends when the closure returns.
        case withheld(until: @Sendable () async throws -> Void)
    }

    /// The status code, 100 to 599.
    package var status: Int
    /// Header fields. Framing fields, `Server` and `Date` are added.
    package var fields: [HTTPField] = []
    /// Default: no body.
    package var body: Body = .none
    /// Length of a streamed body in bytes; nil if not known.
    package var length: Int?
    /// Counts the bytes that a streamed body keeps in memory while it is sent.
    package let kept: BufferedBytes

    /// An answer with a JSON body.
    package static func json(_ bytes: [UInt8], status: Int = 200, fields: [HTTPField] = []) -> Answer {
        Answer(status: status, fields: [.json] + fields, body: .whole(bytes))
    }

    /// Nothing is sent before the server sends the answer.
    package init(status: Int, fields: [HTTPField] = [], body: Body = .none, kept: BufferedBytes = BufferedBytes()) {
        self.status = status
        self.fields = fields
        self.body = body
        self.kept = kept
    }
}

/// Thrown by a streamed body to close the connection without a final chunk.
package struct ConnectionCut: Error {
    /// Has no reason, because it is never shown.
    package init() {}
}

extension HTTPField {
    /// The content type of ``Answer/json(_:status:fields:)``.
    package static let json = HTTPField("Content-Type", "application/json")
}
