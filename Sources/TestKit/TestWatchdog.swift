internal import Glibc
internal import Locking
package import Testing

/// Ends the test process if a test that was cancelled does not end, for example because it blocks its thread.
package final class TestWatchdog: Sendable {
    private let hasEnded = Monitor(false)

    package init() {}

    /// The test has ended.
    package func stop() { hasEnded.with { $0 = true } }

    /// Calls ``watch(_:limit:end:)`` on a thread of its own, because all threads of tasks may be blocked.
    package func start(for test: Test) { startThread { self.watch(test) } }

    /// Blocks the thread until ``stop()``, or for `limit`.
    ///
    /// - Parameter end: Called with a message if the test takes longer than `limit`.
    package func watch(
        _ test: Test, limit: Duration = .seconds(300), end: (String) -> Void = TestWatchdog.endProcess
    ) {
        let last = ContinuousClock.now + limit
        while !hasEnded.quietly({ $0 }) {
            guard ContinuousClock.now < last else {
                let place = test.sourceLocation
                return end("\(place.fileID):\(place.line): \(test.name) was cancelled, and has not ended")
            }
            usleep(100_000)
        }
    }

    /// Prints the message and ends the process with 1.
    package static func endProcess(_ message: String) {
        let line = "error: \(message)\n"
        _ = write(STDERR_FILENO, line, line.utf8.count)
        _exit(1)
    }
}
