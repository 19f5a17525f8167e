internal import Locking

/// A section of a task that can be cancelled without cancelling the task.
final class CancellableSection: Sendable {
    private let cancelled = Signal()

    func cancel() { cancelled.raise() }

    /// - Throws: `CancellationError`, what `body` throws.
    func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await body() }
            tasks.addTask {
                try await self.cancelled.wait()
                throw CancellationError()
            }
            defer { tasks.cancelAll() }
            try await tasks.next()
        }
    }
}
