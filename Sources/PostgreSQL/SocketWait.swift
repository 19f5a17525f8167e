internal import Glibc

/// Waiting for a socket.
enum SocketWait {
    /// Waits until the socket is ready for one of the events or has an error. After the deadline it still checks once,
    /// so that a process that was suspended finds an answer that has arrived.
    ///
    /// - Parameter limit: Ends the wait before the deadline.
    /// - Returns: The events, or 0 if the deadline or the limit has passed.
    /// - Throws: ``PostgresError/unavailable(reason:sqlState:)`` if there is no socket.
    static func wait(
        for events: Int16, on socket: Int32, until deadline: ContinuousClock.Instant, limit: CallLimit? = nil
    ) throws(PostgresError) -> Int16 {
        guard socket >= 0 else { throw .unavailable(reason: "the connection is closed") }
        while true {
            let remaining = min(deadline, limit?.end ?? deadline) - .now
            let longest = limit == nil ? remaining : min(remaining, CallLimit.interval)
            let time = remaining > .zero ? Int32(clamping: longest.milliseconds) : 0
            var entry = pollfd(fd: socket, events: events, revents: 0)
            let count = poll(&entry, 1, time)
            if count > 0 { return entry.revents }
            if count == 0 && time == 0 { return 0 }
            if count < 0 && errno != EINTR && errno != EAGAIN {
                throw .unavailable(reason: "poll: \(String(cString: strerror(errno)))")
            }
        }
    }
}
