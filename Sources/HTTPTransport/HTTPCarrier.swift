internal import Locking

/// Carries the requests of an ``HTTPClient`` in place of libcurl, for servers that are simulated in this process. The
/// client then has no thread and no sockets.
package protocol HTTPCarrier: Sendable {
    /// Begins an exchange. Must not block.
    ///
    /// - Parameters:
    ///   - request: Its body is never a ``HTTPRequestBody/source(_:)``: a produced body is complete.
    ///   - answer: Takes the answer. ``HTTPRequest/deadline`` and ``HTTPRequest/idleTimeout`` are the carrier's to keep.
    func carry(_ request: HTTPRequest, _ answer: CarriedAnswer)

    /// The client has left the exchange: see ``CarriedAnswer/fail(_:_:)``. Does nothing if it is over.
    func cancel(_ id: UInt64)

    /// Replaces the deadline of an exchange. Does nothing if it is over.
    func extendDeadline(of id: UInt64, to deadline: ContinuousClock.Instant)
}

/// The answer of a ``HTTPCarrier`` to one request, which arrives in pieces: its head, then bytes, then an end.
package final class CarriedAnswer: Sendable {
    /// Unique in this process.
    package let id: UInt64
    private let flow: Locked<BodyFlow>
    private let reader: Locked<UnsafeContinuation<CurlTransfer.Head, Never>?>

    init(id: UInt64, flow: Locked<BodyFlow>, reader: UnsafeContinuation<CurlTransfer.Head, Never>) {
        self.id = id
        self.flow = flow
        self.reader = Locked(reader)
    }

    /// The head has arrived. Once.
    package func begin(status: Int, headers: HTTPHeaders) {
        takeReader()?.resume(returning: .success((status, headers, nil, nil)))
    }

    /// Bytes of the body have arrived.
    package func append(_ bytes: [UInt8]) {
        let delivery = flow.withLock { flow in
            _ = bytes.withUnsafeBytes { flow.append($0) }
            return flow.takeDelivery()
        }
        if let delivery { delivery.reader.resume(returning: delivery.part) }
    }

    /// The body is complete.
    package func end() { finish(.success(())) }

    /// The exchange has failed, before the head or in the body. Does nothing if it is over.
    package func fail(_ code: HTTPTransportError.Code, _ message: String) {
        let error = HTTPTransportError(code, message)
        takeReader()?.resume(returning: .failure(error))
        finish(.failure(error))
    }

    private func finish(_ result: Result<Void, HTTPTransportError>) {
        let delivery = flow.withLock { $0.finish(result) }
        if let delivery { delivery.reader.resume(returning: delivery.part) }
    }

    private func takeReader() -> UnsafeContinuation<CurlTransfer.Head, Never>? {
        reader.withLock { reader in
            defer { reader = nil }
            return reader
        }
    }
}

extension HTTPBodySource {
    /// All bytes.
    func collected() async throws(HTTPTransportError) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            while let part = try await next() { bytes += part }
        } catch {
            throw HTTPTransportError(.sourceFailed, "the body to be sent can't be read: \(error)")
        }
        guard bytes.count == count else {
            throw HTTPTransportError(.sourceFailed, "the body to be sent has \(bytes.count) bytes, not \(count)")
        }
        return bytes
    }
}
