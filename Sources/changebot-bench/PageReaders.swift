internal import Glibc

/// Clients of a bot's page, all in one task, so that they take little from the processors that they share with the bot.
struct PageReaders: Sendable {
    let port: Int
    /// Pages that are open: each reads `/events`, and asks for `/status` once a second.
    let open: Int
    /// Clients that ask for `/events` and never read.
    let silent: Int

    /// Connects when the bot listens, and reads until the task is cancelled.
    ///
    /// - Returns: How many bytes were read.
    func run() async -> Int {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        while !Task.isCancelled {
            guard let socket = connected() else {
                try? await Task.sleep(for: .milliseconds(10))
                continue
            }
            sockets.append(socket)
            break
        }
        while sockets.count < 2 * open + silent, !Task.isCancelled, let socket = connected() { sockets.append(socket) }
        guard sockets.count == 2 * open + silent else { return 0 }
        let pages = sockets[..<open]
        let askers = sockets[open..<2 * open]
        for socket in pages + sockets[(2 * open)...] { ask("/events", on: socket) }
        var read = 0
        var askedAt: ContinuousClock.Instant?
        while !Task.isCancelled {
            if askedAt.map({ $0.duration(to: .now) >= .seconds(1) }) ?? true {
                for socket in askers { ask("/status", on: socket) }
                askedAt = .now
            }
            for socket in pages + askers { read += drain(socket) }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return read
    }

    /// A connection that never blocks; nil if nobody listens.
    private func connected() -> Int32? {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(socket)
            return nil
        }
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        return socket
    }

    private func ask(_ path: String, on socket: Int32) {
        let request = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        _ = send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL))
    }

    /// Reads and forgets what has arrived.
    private func drain(_ socket: Int32) -> Int {
        var total = 0
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
            while case let count = recv(socket, buffer.baseAddress, buffer.count, 0), count > 0 { total += count }
        }
        return total
    }
}
