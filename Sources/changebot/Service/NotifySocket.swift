internal import Glibc

/// The socket on which a service tells systemd what it does.
///
/// - Note: Source: sd_notify(3), unix(7). A single datagram does not justify a library.
struct NotifySocket: Sendable {
    /// `sun_path`: a path that ends with a NUL, or an abstract name, which begins with one.
    private let address: [UInt8]

    /// - Parameter name: The value of `NOTIFY_SOCKET`: a path, or a name that begins with `@`.
    /// - Returns: Nil if it is neither, or is too long for an address.
    init?(_ name: String) {
        let bytes = Array(name.utf8)
        guard bytes.count > 1, bytes.count < Self.maxNameLength else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "/"): address = bytes + [0]
        case UInt8(ascii: "@"): address = [0] + bytes.dropFirst()
        default: return nil
        }
    }

    private static let maxNameLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

    /// Sends one datagram without waiting. A missing listener is not an error.
    ///
    /// - Returns: False if the listener's buffer is full, so the datagram must be sent later.
    func send(_ text: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        let family = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) }
        let count = (family + address).withUnsafeBytes { address in
            sendto(
                descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL),
                address.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count))
        }
        return count >= 0 || errno != EAGAIN
    }
}
