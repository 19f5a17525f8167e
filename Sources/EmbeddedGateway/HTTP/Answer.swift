internal import LosslessJSON

/// The answer to a request.
struct Answer: Sendable {
    /// Sends bytes to the client; returns when there is room for more, throws when the client is gone.
    typealias Send = @Sendable ([UInt8]) async throws -> Void

    enum Body: Sendable {
        case none
        /// Sent with a `Content-Length`.
        case whole([UInt8])
        /// Sent while it is made, in chunks unless the length is known. If it throws, the connection is closed without
        /// a final chunk.
        case streamed(@Sendable (_ send: @escaping Send) async throws -> Void)
        /// Nothing is sent, not even a head; the connection ends when the closure returns.
        case withheld(until: @Sendable () async throws -> Void)
    }

    var status: Int
    var fields: [HTTPField] = []
    var body: Body = .none
    /// Length of a streamed body in bytes; nil if not known.
    var length: Int?
    /// Counts the bytes that a streamed body keeps in memory while it is sent.
    let kept: KeptBytes

    /// An answer with a JSON body.
    static func json(_ bytes: [UInt8], status: Int = 200, fields: [HTTPField] = []) -> Answer {
        Answer(status: status, fields: [.json] + fields, body: .whole(bytes))
    }

    /// An answer with the error body of an error.
    init(_ error: RequestError) {
        var body = JSONWriter()
        body.object { body in
            body.member("error", string: error.name)
            body.name("reason")
            body.escapedString(error.reason)
        }
        self = .json(body.bytes, status: error.status, fields: error.headers)
    }

    init(status: Int, fields: [HTTPField] = [], body: Body = .none, kept: KeptBytes = KeptBytes()) {
        self.status = status
        self.fields = fields
        self.body = body
        self.kept = kept
    }
}

extension HTTPField {
    static let json = HTTPField("Content-Type", "application/json")
    /// In every answer of `_changes`.
    static let neverCached = HTTPField("Cache-Control", "private, max-age=0, no-cache, no-store")

    static func revisionTag(_ revision: String) -> HTTPField { HTTPField("Etag", "\"\(revision)\"") }
}
