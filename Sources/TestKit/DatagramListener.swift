import Glibc

/// A socket that receives datagrams, like the systemd socket to which services report their state.
package final class DatagramListener: Sendable {
    /// The value of `NOTIFY_SOCKET`: the path, or the name with `@` in front.
    package let name: String
    private let descriptor: Int32

    /// How long ``next()`` waits, in milliseconds.
    private static let maxWait: Int32 = 60_000

    /// - Parameter name: A path that does not exist yet, or a name in the abstract namespace with `@` in front.
    /// - Throws: ``TestServerError`` if it can't be made.
    package init(_ name: String) throws {
        self.name = name
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw TestServerError(call: "socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes: [UInt8] = name.hasPrefix("@") ? [0] + Array(name.utf8.dropFirst()) : Array(name.utf8) + [0]
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
        }
        guard isBound else {
            close(descriptor)
            throw TestServerError(call: "bind")
        }
    }

    deinit {
        close(descriptor)
        if !name.hasPrefix("@") { unlink(name) }
    }

    /// The next datagram; nil if none comes for a minute.
    package func next() async -> String? {
        await onNewThread { [descriptor] in
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, Self.maxWait) > 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
        }
    }

    /// The received datagrams that were not taken yet.
    package func rest() -> [String] {
        var texts: [String] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT)), count >= 0 {
            texts.append(String(decoding: bytes[..<count], as: UTF8.self))
        }
        return texts
    }
}
