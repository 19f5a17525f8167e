internal import Compression
internal import HTTPServing
internal import NIOConcurrencyHelpers

extension Answer {
    /// The answer, compressed if the client accepts gzip and the real gateway would compress it.
    ///
    /// - Note: Source: recorded, and `NewEncodedResponseWriter` of Sync Gateway 4.1: JSON, text and `multipart/mixed`;
    ///   never answers to PUT and DELETE; `_bulk_get` only for clients known to understand it.
    func compressed(for request: Request) -> Answer {
        guard let accepted = request.field("Accept-Encoding"), accepted.contains("gzip"), status < 300,
            !["HEAD", "PUT", "DELETE"].contains(request.method), isCompressible,
            !request.target.contains("_bulk_get") || request.clientVersion >= (1, 2)
        else { return self }
        var answer = self
        answer.fields.append(HTTPField("Content-Encoding", "gzip"))
        switch body {
        case .none, .withheld: return self
        case .whole(let bytes): answer.body = .whole(Gzip.compress(bytes))
        case .streamed(let make):
            answer.fields.removeAll { $0.isNamed("Content-Length") }
            answer.length = nil
            answer.body = .streamed { [kept] send in try await Self.compress(make, kept, send) }
        }
        return answer
    }

    private var isCompressible: Bool {
        guard !fields.contains(where: { $0.name == "Content-Encoding" }),
            let type = fields.first(where: { $0.name == "Content-Type" })?.value
        else { return false }
        return ["application/json", "text/", "multipart/mixed"].contains { type.hasPrefix($0) }
    }

    /// Each piece can be decompressed on arrival, because a longpoll may then be silent for a long time.
    private static func compress(
        _ make: @Sendable (@escaping Send) async throws -> Void, _ kept: BufferedBytes, _ send: @escaping Send
    ) async throws {
        let stream = NIOLockedValueBox(GzipPieces())
        try await make { bytes in
            guard !bytes.isEmpty else { return }
            let compressed = stream.withLockedValue { $0.compress(bytes) }
            try await kept.counting(bytes.count) { try await send(compressed) }
        }
        try await send(stream.withLockedValue { $0.finish() })
    }
}

extension Request {
    /// The version in `User-Agent`, as in `CouchbaseLite/1.3`; (0, 0) if there is none.
    fileprivate var clientVersion: (Int, Int) {
        let numbers = (field("User-Agent") ?? "").drop { $0 != "/" }.dropFirst().split { !$0.isNumber }
        return (numbers.first.flatMap { Int($0) } ?? 0, numbers.dropFirst().first.flatMap { Int($0) } ?? 0)
    }

    /// The request with its body decompressed.
    ///
    /// - Throws: ``RequestError`` with the real gateway's reasons, and 413 if the body would be too large.
    func decompressed() throws(RequestError) -> Request {
        guard let encoding = field("Content-Encoding"), !encoding.isEmpty, ["PUT", "POST"].contains(method) else {
            return self
        }
        guard encoding == "gzip" else {
            throw RequestError(415, "Unsupported Content-Encoding; use gzip")
        }
        // The real gateway reads a whole gzip header before it checks it.
        guard body.count >= 10 else { throw RequestError(decompressing: .cutHeader) }
        do {
            let plain = try Gzip.decompress(body, limit: Router.bodyLimit)
            return Request(method, target, fields: fields.filter { !$0.isNamed("Content-Encoding") }, body: plain)
        } catch {
            throw RequestError(decompressing: error)
        }
    }

}

extension RequestError {
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    init(decompressing error: GzipError) {
        switch error {
        case .cutHeader: self.init(500, "Internal error: unexpected EOF")
        case .noHeader: self.init(500, "Internal error: gzip: invalid header")
        case .cut: self.init(400, "Bad JSON: unexpected EOF")
        case .corrupt: self.init(400, "Bad JSON: flate: corrupt input")
        case .tooLong: self = .documentTooLarge
        }
    }
}
