internal import Dispatch

extension Ledger {
    /// Calls a blocking function on a separate thread, so that no task waits for that thread: an engine can take
    /// seconds to answer.
    package func onSeparateThread<Value: Sendable>(
        _ body: @escaping @Sendable (Ledger) throws(StateError) -> Value
    ) async throws(StateError) -> Value {
        guard case .postgres = store.dialect else { return try body(self) }
        return try await BlockingCall.run { () throws(StateError) in try body(self) }
    }
}

/// Runs blocking calls on a thread outside the cooperative pool.
package enum BlockingCall {
    package static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(StateError) -> Value
    ) async throws(StateError) -> Value {
        let result: Result<Value, StateError> = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                do throws(StateError) { continuation.resume(returning: .success(try body())) } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
