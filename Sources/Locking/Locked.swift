import Glibc

/// A value that is only reached with its lock held.
///
/// A `pthread_mutex_t` and not `Synchronization.Mutex`, which on Linux is three times slower when nobody else wants it
/// and makes ThreadSanitizer report races that are none (Swift 6.3).
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    /// From then on the value is reached only through ``withLock(_:)``.
    package init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the lock held. Not recursive; `body` must be short and must not call code that can block.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
