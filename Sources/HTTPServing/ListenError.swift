internal import Glibc
internal import NIOCore

/// Why the program can't listen on an address, with a remedy.
package struct ListenError: Error, CustomStringConvertible {
    private let address: String
    private let port: Int
    private let error: any Error

    /// - Parameter error: The error that ``HTTPServer`` threw.
    package init(host: String, port: Int, _ error: any Error) {
        address = HostAndPort.text(host, port)
        self.error = error
        self.port = port
    }

    /// A message for the user: the address, the cause, and the remedy.
    package var description: String { "can't listen on \(address): \(reason)" }

    private var reason: String {
        guard let code = (error as? IOError)?.errnoCode else {
            return "the host has no address; write 127.0.0.1, or 0.0.0.0 for all addresses of this machine"
        }
        return switch code {
        case EADDRINUSE:
            "\(PortOwner(port: port)?.description ?? "another program") listens there; stop it, or choose another port "
                + "(0 picks a free one)"
        case EACCES: "this user may not use this port; choose one above 1023 (0 picks a free one)"
        case EADDRNOTAVAIL:
            "this is not an address of this machine; write 127.0.0.1, or 0.0.0.0 for all its addresses"
        default: "\(String(cString: strerror(code))); choose another address"
        }
    }
}

/// The notation of addresses.
package enum HostAndPort {
    /// `127.0.0.1:4984`, `[::1]:4984`.
    package static func text(_ host: String, _ port: Int) -> String {
        "\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}
