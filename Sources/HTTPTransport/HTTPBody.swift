internal import Locking

/// The body of an answer, pulled chunk by chunk.
///
/// Memory holds about one high-water mark. Beyond it, the transfer is paused until the reader returns, which slows down
/// the server through TCP. Only one task may read at a time, and only once. Cancelling the reader, or dropping the body
/// before its end, aborts the transfer and closes the connection immediately. The body keeps its client alive.
package final class HTTPBody: Sendable {
    private let client: HTTPClient
    private let id: TransferID
    private let flow: Locked<BodyFlow>

    init(client: HTTPClient, id: TransferID, flow: Locked<BodyFlow>) {
        self.client = client
        self.id = id
        self.flow = flow
    }

    deinit {
        if !flow.withLock(\.isEnded) { client.post(.cancel(id)) }
    }

    /// Bytes that have arrived so far, whether read or not.
    package var received: Int { flow.withLock(\.received) }

    /// All bytes that have arrived; waits for the first ones if there are none. Nil at the end of the body.
    ///
    /// - Throws: ``HTTPTransportError``: `.connectionClosed` if the body was truncated (after the received bytes),
    ///   `.timedOut`, `.cancelled`, `.malformedAnswer` for broken chunks. Every later call throws the same error. Only
    ///   a new request can help, if ``HTTPTransportError/isRetryable`` is true.
    package func next() async throws(HTTPTransportError) -> [UInt8]? {
        if Task.isCancelled { giveUp() }
        switch flow.withLock({ $0.arrive() }) {
        case .part(let part, let wasPaused): return try receive(part, wasPaused: wasPaused)
        case .wait: return try await waitForPart().get()
        }
    }

    /// The whole body, or the rest of it.
    ///
    /// - Throws: The same errors as ``next()``; also `.tooLarge` once more than `limit` bytes have arrived, which
    ///   aborts the transfer.
    package func collect(upTo limit: Int) async throws(HTTPTransportError) -> [UInt8] {
        var all: [UInt8] = []
        while let part = try await next() {
            guard all.count + part.count <= limit else {
                giveUp()
                throw HTTPTransportError(.tooLarge, "the body is larger than \(limit) bytes")
            }
            if all.isEmpty { all = part } else { all += part }
        }
        return all
    }

    /// Replaces the deadline: the whole exchange must be over within `deadline` from now.
    package func extendDeadline(by deadline: Duration) { client.post(.extend(id, to: .now + deadline)) }

    /// Aborts the transfer and closes the connection; does nothing once the body has ended.
    package func cancel() { giveUp() }

    private func waitForPart() async -> BodyFlow.Part {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { reader in
                if case .part(let part, let wasPaused) = flow.withLock({ $0.wait(reader) }) {
                    if wasPaused { client.post(.resume(id)) }
                    reader.resume(returning: part)
                }
            }
        } onCancel: {
            giveUp()
        }
    }

    private func receive(_ part: BodyFlow.Part, wasPaused: Bool) throws(HTTPTransportError) -> [UInt8]? {
        if wasPaused { client.post(.resume(id)) }
        return try part.get()
    }

    private func giveUp() {
        let error = HTTPTransportError(.cancelled, "reading the body stopped before its end")
        let delivery = flow.withLock { flow in
            flow.isEnded ? .none : Optional(flow.finish(.failure(error)))
        }
        guard let delivery else { return }
        client.post(.cancel(id))
        delivery?.reader.resume(returning: .failure(error))
    }
}

extension HTTPBody: AsyncSequence {
    /// Reads from the body itself: all its iterators share one position.
    package struct AsyncIterator: AsyncIteratorProtocol {
        let body: HTTPBody

        /// As ``HTTPBody/next()``.
        package mutating func next() async throws(HTTPTransportError) -> [UInt8]? {
            try await body.next()
        }

        /// As ``HTTPBody/next()``; `actor` is not used.
        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(HTTPTransportError) -> [UInt8]? {
            try await body.next()
        }
    }

    /// A chunk, never empty.
    package typealias Element = [UInt8]
    /// What ``next()`` throws.
    package typealias Failure = HTTPTransportError

    /// Continues where the body was last read; does not start over.
    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }
}
