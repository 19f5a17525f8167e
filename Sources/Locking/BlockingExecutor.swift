internal import Dispatch

/// Runs an actor on its own queue, so that writing and syncing files don't block the threads shared by all tasks.
package final class BlockingExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter label: Names the queue for debuggers.
    package init(_ label: String) { queue = DispatchQueue(label: label) }

    /// Called by the runtime.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// For the actor's `unownedExecutor`.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
