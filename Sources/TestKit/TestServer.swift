import Glibc

/// A server on a free loopback port that does to each connection what its script says, bytes and pauses included.
///
/// A thread for each connection, so scripts may block. Stopping it, also by letting it go, cuts all connections.
package final class TestServer: Sendable {
    /// Runs once per connection; the connection is closed when it returns or throws.
    package typealias Script = @Sendable (TestConnection) throws -> Void

    private struct State: Sendable {
        var open: Set<Int32> = []
        var isStopped = false
    }

    package let port: Int
    /// Connections that were accepted.
    package let accepted: EventCounter
    /// Connections whose script has come to its end: by itself, or because the client was gone.
    package let closed: EventCounter

    private let listener: Int32
    private let state: Monitor<State>

    package init(script: @escaping Script) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw TestServerError(call: "socket") }
        var one: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        port = try Self.bindToFreePort(listener)
        guard listen(listener, 1024) == 0 else { throw TestServerError(call: "listen") }
        (accepted, closed, state) = (EventCounter(), EventCounter(), Monitor(State()))
        startThread { [listener, state, accepted, closed] in
            Self.accept(on: listener, state, accepted, closed, script)
        }
    }

    deinit { stop() }

    /// Where a request goes: `http://127.0.0.1:port` and `path`.
    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Cuts all connections and takes no more.
    package func stop() {
        state.with { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            shutdown(listener, Int32(SHUT_RDWR))
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
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
                    // Also ends the connection where a child process has inherited the socket all the same.
                    if !connection.isReset { shutdown(descriptor, Int32(SHUT_RDWR)) }
                    close(descriptor)
                }
                closed.increment()
            }
        }
    }

    private static func bindToFreePort(_ listener: Int32) throws -> Int {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && getsockname(listener, address, &size) == 0
            }
        }
        guard result else { throw TestServerError(call: "bind") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

/// A system call of the server that failed.
package struct TestServerError: Error {
    package let call: String
    package let number = errno
}
