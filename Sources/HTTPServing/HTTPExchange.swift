internal import Encodings
internal import NIOCore
internal import NIOHTTP1

/// One request on a connection: reads its body and sends the answer.
struct HTTPExchange {
    typealias Inbound = NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator
    typealias Outbound = NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

    struct BodyTooLarge: Error {}

    private let head: HTTPRequestHead
    private(set) var inbound: Inbound
    private let outbound: Outbound
    private let timeouts: ConnectionTimeouts
    private let waiting: WaitingOutput
    private let bodies: IncomingBodies
    private let product: String
    /// The key of the request's body in ``bodies``.
    private var bodyKey: Int?
    private var hasReachedEnd = false
    private var continueDue: Bool
    private var mustClose = false

    init(
        _ head: HTTPRequestHead, _ inbound: Inbound, _ outbound: Outbound, _ timeouts: ConnectionTimeouts,
        _ settings: HTTPServer.Settings
    ) {
        self.timeouts = timeouts
        bodies = settings.bodies
        waiting = settings.waiting
        product = settings.product
        self.head = head
        self.inbound = inbound
        self.outbound = outbound
        continueDue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }

    /// Whether another request may follow on the connection.
    var isKeptAlive: Bool { head.isKeepAlive && !mustClose && !(continueDue && !hasReachedEnd) }

    /// The request with its whole body.
    ///
    /// - Parameter limit: The maximum number of bytes of the body.
    /// - Throws: ``BodyTooLarge``, ``IncomingBodies/BodyMemoryExhausted``. The rest of the body is then not read, and
    ///   the connection ends after the answer.
    mutating func request(limit: Int) async throws -> Request {
        let body = try await body(limit: limit)
        return Request(
            head.method.rawValue, head.uri, fields: head.headers.map { HTTPField($0.name, $0.value) },
            body: Array(body.readableBytesView))
    }

    /// The maximum number of bytes reserved in advance, so that a client gets no memory just by announcing a large
    /// body.
    private static let reservedLimit = 1 << 20

    private mutating func body(limit: Int) async throws -> ByteBuffer {
        let declaredLength = head.headers.first(name: "content-length").flatMap { Int($0) }
        if let declaredLength, declaredLength > limit { throw tooLarge() }
        guard var body = try await nextPart() else { return ByteBuffer() }
        try count(body.readableBytes)
        if let declaredLength, declaredLength > body.readableBytes {
            body.reserveCapacity(
                minimumWritableBytes: max(0, min(declaredLength, Self.reservedLimit) - body.readableBytes))
        }
        while var part = try await nextPart() {
            if body.readableBytes + part.readableBytes > limit { throw tooLarge() }
            try count(part.readableBytes)
            body.writeBuffer(&part)
        }
        if let bodyKey { bodies.complete(bodyKey) }
        return body
    }

    private mutating func count(_ bytes: Int) throws(IncomingBodies.BodyMemoryExhausted) {
        do throws(IncomingBodies.BodyMemoryExhausted) {
            guard let bodyKey else {
                bodyKey = try bodies.add(bytes, close: timeouts.close)
                return
            }
            try bodies.grow(bodyKey, by: bytes)
        } catch {
            mustClose = true
            throw error
        }
    }

    /// Call when the request is answered or abandoned: its body no longer counts.
    mutating func releaseBody() {
        if let bodyKey { bodies.remove(bodyKey) }
        bodyKey = nil
    }

    private mutating func tooLarge() -> BodyTooLarge {
        mustClose = true
        return BodyTooLarge()
    }

    /// The next piece of the body; nil at its end. First sends "100 Continue" if the client waits for it.
    mutating func nextPart() async throws -> ByteBuffer? {
        if hasReachedEnd { return nil }
        if continueDue {
            continueDue = false
            try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: .continue)))
        }
        let end = timeouts.closing(after: \.body)
        defer { end.cancel() }
        switch try await inbound.next() {
        case .body(let part): return part
        case .end:
            hasReachedEnd = true
            return nil
        case .head, nil: throw ChannelError.inputClosed
        }
    }

    /// Sends an answer. A streamed body pauses while the client does not read.
    ///
    /// - Throws: The error of a streamed body; the connection must then be closed without a final chunk.
    mutating func send(_ answer: Answer) async throws {
        var fields = HTTPHeaders(answer.fields.filter(\.isSendable).map { ($0.name, $0.value) })
        fields.add(name: "Server", value: product)
        fields.add(name: "Date", value: HTTPDate.now.text)
        switch answer.body {
        case .none: try await send(answer.status, &fields, [])
        case .whole(let bytes): try await send(answer.status, &fields, bytes)
        case .streamed(let make):
            if let length = answer.length { fields.replaceOrAdd(name: "Content-Length", value: String(length)) }
            try await send(answer.status, &fields, answer.kept, make)
        case .withheld(let end):
            try await end()
            throw ConnectionCut()
        }
    }

    /// Uses one write and one flush, unless the body is large.
    private mutating func send(_ status: Int, _ fields: inout HTTPHeaders, _ body: [UInt8]) async throws {
        guard body.count <= Self.pieceLimit else {
            fields.replaceOrAdd(name: "Content-Length", value: String(body.count))
            return try await send(status, &fields, BufferedBytes()) { send in try await send(body) }
        }
        fields.replaceOrAdd(name: "Content-Length", value: String(body.count))
        let head = head(status, &fields)
        let end = timeouts.closing(after: \.writing)
        defer { end.cancel() }
        if self.head.method == .HEAD || body.isEmpty {
            try await outbound.write(contentsOf: [.head(head), .end(nil)])
        } else {
            try await outbound.write(contentsOf: [.head(head), .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil)])
        }
    }

    private mutating func send(
        _ status: Int, _ fields: inout HTTPHeaders, _ kept: BufferedBytes,
        _ make: @Sendable (_ send: @escaping Answer.Send) async throws -> Void
    ) async throws {
        // HTTP/1.0 has no chunks; the end of the connection ends the body.
        if head.version == .http1_0 { mustClose = true }
        // For HEAD the encoder would write a final chunk, which the client would mistake for the next answer.
        if head.version != .http1_0, head.method != .HEAD, !fields.contains(name: "Content-Length") {
            fields.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
        }
        let head = head(status, &fields)
        guard self.head.method != .HEAD else {
            return try await outbound.write(contentsOf: [.head(head), .end(nil)])
        }
        try await outbound.write(.head(head))
        try await make { [timeouts, waiting] bytes in
            try await Self.deliver(bytes, kept, timeouts, waiting)
            await waiting.room()
        }
        try await outbound.write(.end(nil))
    }

    /// The maximum number of bytes passed to the connection in one piece.
    private static let pieceLimit = 64 << 10

    /// Returns when the connection has taken the bytes. Until then all of them count as waiting, because they stay in
    /// memory.
    private static func deliver(
        _ bytes: [UInt8], _ kept: BufferedBytes, _ timeouts: ConnectionTimeouts, _ waiting: WaitingOutput
    ) async throws {
        guard !bytes.isEmpty else { return }
        let key = waiting.add(bytes.count + kept.count, close: timeouts.close)
        defer { waiting.remove(key) }
        for start in stride(from: 0, to: bytes.count, by: pieceLimit) {
            let piece = bytes[start..<min(start + pieceLimit, bytes.count)]
            waiting.wait(key)
            try await timeouts.deliver(.body(.byteBuffer(ByteBuffer(bytes: piece)))) { waiting.advance(key) }
        }
    }

    private func head(_ status: Int, _ fields: inout HTTPHeaders) -> HTTPResponseHead {
        if !isKeptAlive { fields.replaceOrAdd(name: "Connection", value: "close") }
        return HTTPResponseHead(
            version: head.version, status: HTTPResponseStatus(statusCode: status), headers: fields)
    }
}
