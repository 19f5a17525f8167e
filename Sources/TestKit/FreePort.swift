import Glibc

/// Unused ports of the loopback interface.
package enum FreePort {
    /// A port for a program that can't choose one itself. Another program may take it before it is used.
    ///
    /// - Throws: ``TestServerError`` if there is none.
    package static func find() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return try bind(descriptor)
    }

    /// Like ``find()``, but outside the kernel's range for outgoing connections: it stays free while a server restarts.
    package static func findForRestarts() throws -> Int {
        for _ in 0..<100 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            if let port = try? bind(descriptor, to: .random(in: 20_000..<32_768)) { return port }
        }
        throw TestServerError(call: "bind")
    }

    /// Binds a socket to a port, and returns the port. Port 0: the kernel chooses one.
    static func bind(_ listener: Int32, to port: UInt16 = 0) throws -> Int {
        var address = sockaddr_in()
        address.sin_port = port.bigEndian
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Glibc.bind(listener, address, size) == 0 && getsockname(listener, address, &size) == 0
            }
        }
        guard isBound else { throw TestServerError(call: "bind") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
