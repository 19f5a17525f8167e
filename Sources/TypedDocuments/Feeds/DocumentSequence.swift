internal import Locking

/// A sequence of a keyspace's documents or changes.
///
/// Reading starts when the first element is requested and is never far ahead: memory holds the documents of one part of
/// an answer. Each iteration reads again. Ending the loop, or cancelling its task, ends the requests.
public struct DocumentSequence<Element: Sendable>: AsyncSequence, Sendable {
    let produce: @Sendable (Handoff<Element>) async throws -> Void

    /// Creates a new iteration, whose reading starts with the first call of ``Iterator/next()``.
    public func makeAsyncIterator() -> Iterator { Iterator(production: ReadingTask(produce)) }

    /// One iteration. For one task.
    public struct Iterator: AsyncIteratorProtocol {
        let production: ReadingTask<Element>

        /// The next element; nil at the end. Waits without a time limit.
        ///
        /// - Throws: `GatewayError` if a retry is pointless; `CancellationError`.
        public mutating func next() async throws -> Element? { try await production.next() }
    }
}

/// The reading task of one iterator. It ends with the iterator.
final class ReadingTask<Element: Sendable>: Sendable {
    private let handoff = Handoff<Element>()
    private let task = Locked<Task<Void, Never>?>(nil)
    private let produce: @Sendable (Handoff<Element>) async throws -> Void

    init(_ produce: @escaping @Sendable (Handoff<Element>) async throws -> Void) { self.produce = produce }

    deinit { task.withLock(\.self)?.cancel() }

    func next() async throws -> Element? {
        start()
        do { return try await handoff.next() } catch {
            task.withLock(\.self)?.cancel()
            throw error
        }
    }

    private func start() {
        task.withLock { task in
            guard task == nil else { return }
            // Don't capture self: the task must not keep the iterator alive.
            task = Task { [handoff, produce] in
                do {
                    try await produce(handoff)
                    handoff.finish(.success(()))
                } catch {
                    handoff.finish(.failure(error))
                }
            }
        }
    }
}

/// Passes elements from the reading task to the consumer. The reading task waits until all are taken.
final class Handoff<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var elements: ArraySlice<Element> = []
        var end: Result<Void, any Error>?
    }

    private let state = Monitor(State())

    /// Returns once all elements are taken.
    ///
    /// - Throws: `CancellationError`.
    func send(_ elements: [Element]) async throws {
        guard !elements.isEmpty else { return try Task.checkCancellation() }
        state.with { $0.elements = elements[...] }
        await state.wait { $0.elements.isEmpty }
        try Task.checkCancellation()
    }

    func finish(_ end: Result<Void, any Error>) { state.with { $0.end = end } }

    func next() async throws -> Element? {
        await state.wait { !$0.elements.isEmpty || $0.end != nil }
        try Task.checkCancellation()
        return try state.with { state -> Element? in
            if let element = state.elements.popFirst() { return element }
            try state.end?.get()
            return nil
        }
    }
}
