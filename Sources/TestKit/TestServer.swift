import Glibc
internal import Locking

/// A server on a free loopback port. Its script runs on each connection and controls every byte and pause.
///
/// Each connection has a thread, so scripts may block. Stopping or releasing the server cuts all connections.
package final class TestServer: Sendable {
    /// Runs once per connection; the connection is closed when it returns or throws.
    package typealias Script = @Sendable (TestConnection) throws -> Void

    private struct State: Sendable {
        var open: Set<Int32> = []
        var isStopped = false
    }

    /// The port on 127.0.0.1 that it listens on.
    package let port: Int
    /// The number of accepted connections.
    package let accepted: EventCounter
    /// The number of scripts that have ended, including those whose client disconnected.
    package let closed: EventCounter

    private let listener: Int32
    private let state: Monitor<State>

    /// Listens immediately.
    ///
    /// - Throws: ``TestServerError`` if there is no socket or port.
    package init(script: @escaping Script) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw TestServerError(call: "socket") }
        var one: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        port = try FreePort.bind(listener)
        guard listen(listener, 1024) == 0 else { throw TestServerError(call: "listen") }
        (accepted, closed, state) = (EventCounter(), EventCounter(), Monitor(State()))
        startThread { [listener, state, accepted, closed] in
            Self.accept(on: listener, state, accepted, closed, script)
        }
    }

    deinit { stop() }

    /// `http://127.0.0.1:port` followed by `path`.
    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Cuts all connections and accepts no more. Does not wait for the scripts to end.
    package func stop() {
        state.with { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            shutdown(listener, Int32(SHUT_RDWR))
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Waits until the scripts have read what clients sent that have ended since, and have ended themselves. Such a client
    /// must have ended before this is called, for example by ``ChildProcess/kill()``.
    package func waitForEndedClients() async {
        await state.wait { [listener] state in
            state.isStopped
                || Self.facts(listener).unaccepted == 0 && !state.open.contains { Self.facts($0).isEndedByClient }
        }
    }

    /// Facts about a socket.
    ///
    /// - Note: Source: `struct tcp_info` of Linux. `tcpi_state` is its first byte. `tcpi_unacked`, at byte 24, counts the
    ///   connections that a listening socket has not accepted yet.
    private static func facts(_ descriptor: Int32) -> (isEndedByClient: Bool, unaccepted: UInt32) {
        let stateAfterEnd: UInt8 = 8
        var bytes = [UInt8](repeating: 0, count: 28)
        var count = socklen_t(bytes.count)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &bytes, &count) == 0 else { return (false, 0) }
        let unaccepted = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 24, as: UInt32.self) }
        return (bytes[0] == stateAfterEnd, unaccepted)
    }

    private static func accept(
        on listener: Int32, _ state: Monitor<State>, _ accepted: EventCounter, _ closed: EventCounter,
        _ script: @escaping Script
    ) {
        defer { close(listener) }
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let isStopped = state.with { state in
                if !state.isStopped { state.open.insert(descriptor) }
                return state.isStopped
            }
            if isStopped {
                close(descriptor)
                return
            }
            accepted.increment()
            startThread {
                let connection = TestConnection(descriptor)
                try? script(connection)
                state.with { state in
                    state.open.remove(descriptor)
                    // Also ends the connection if a child process has inherited the socket.
                    if !connection.isReset { shutdown(descriptor, Int32(SHUT_RDWR)) }
                    close(descriptor)
                }
                closed.increment()
            }
        }
    }
}

/// The error of a system call of the test server or of a ``ChildProcess``.
package struct TestServerError: Error {
    /// The name of the call, such as `bind`.
    package let call: String
    /// `errno` when this error was made.
    package let number = errno
}
