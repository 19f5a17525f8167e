import Glibc

/// A value under a lock; a thread can wait until it meets a condition.
///
/// For threads that may block, as those that talk to another process. Swift tasks must not.
package final class Monitor<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    /// - Parameter value: What the monitor holds at first.
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

    /// Reads or changes the value under the lock, then wakes all waiting threads to check again.
    package func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return try body(&value)
    }

    /// Reads the value under the lock, or changes what no thread waits for: wakes none.
    package func quietly<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Blocks the thread until `isMet` is true, without a time limit.
    package func block(until isMet: (Value) -> Bool) { block(until: isMet) { _ in } }

    /// Blocks the thread until `isMet` is true, then changes the value before any other thread can. Wakes nobody.
    package func block<Result>(until isMet: (Value) -> Bool, then body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isMet(value) { pthread_cond_wait(changed, mutex) }
        return body(&value)
    }
}
