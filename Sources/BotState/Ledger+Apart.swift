internal import Dispatch

extension Ledger {
    /// Calls a function that blocks where it holds up no task: an engine can take seconds to answer.
    package func apart<Value: Sendable>(
        _ body: @escaping @Sendable (Ledger) throws(StateError) -> Value
    ) async throws(StateError) -> Value {
        guard case .postgres = store.language else { return try body(self) }
        return try await BlockingCall.run { () throws(StateError) in try body(self) }
    }
}

/// Runs what blocks on a thread that no task needs.
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
