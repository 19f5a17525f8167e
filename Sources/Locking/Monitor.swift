import Glibc

/// A value under a lock; threads and tasks can wait until it meets a condition.
package final class Monitor<Value: Sendable>: @unchecked Sendable {
    /// A task that waits.
    private struct Waiter {
        let isMet: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value
    private var waiters: [Int: Waiter] = [:]
    private var nextWaiter = 0

    /// - Parameter value: The initial value.
    package init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Reads or changes the value under the lock, then wakes all waiting threads to check again, and the waiting tasks
    /// whose condition is met.
    package func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer {
            let met = removeSatisfied()
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
            for waiter in met { waiter.continuation.resume() }
        }
        return try body(&value)
    }

    /// Removes and returns the tasks whose condition is met.
    private func removeSatisfied() -> [Waiter] {
        guard !waiters.isEmpty else { return [] }
        let met = waiters.filter { $0.value.isMet(value) }
        for number in met.keys { waiters[number] = nil }
        return Array(met.values)
    }

    /// Reads the value under the lock, or makes changes that no condition depends on. Wakes no waiters.
    package func quietly<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    // MARK: - Threads that may block, such as those that communicate with another process

    /// Blocks the thread until `isMet` is true, without a time limit.
    package func block(until isMet: (Value) -> Bool) { block(until: isMet) { _ in } }

    /// Blocks the thread until `isMet` is true, then changes the value before any other thread can. Wakes no waiters.
    package func block<Result>(until isMet: (Value) -> Bool, then body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isMet(value) { pthread_cond_wait(changed, mutex) }
        return body(&value)
    }

    // MARK: - Tasks

    /// The number of waiting tasks.
    package var waitingTasks: Int { quietly { _ in waiters.count } }

    /// Waits until `isMet` is true. Returns early if the task is cancelled.
    ///
    /// - Parameter isMet: Called under the lock after each change: must be short.
    package func wait(until isMet: @escaping @Sendable (Value) -> Bool) async {
        let number = quietly { _ in
            nextWaiter += 1
            return nextWaiter
        }
        await withTaskCancellationHandler {
            await withNamedContinuation("a condition") { continuation in
                let isOver = quietly { value in
                    // A task that is cancelled after this point finds the waiter.
                    if isMet(value) || Task.isCancelled { return true }
                    waiters[number] = Waiter(isMet: isMet, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            quietly { _ in waiters.removeValue(forKey: number) }?.continuation.resume()
        }
    }
}
