import Glibc

/// A value that is accessed only while its lock is held.
///
/// Uses `pthread_mutex_t`. `Synchronization.Mutex` on Linux is three times slower without contention and makes
/// ThreadSanitizer report false races (Swift 6.3).
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    /// Takes the value, which is then accessed only through ``withLock(_:)``.
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
