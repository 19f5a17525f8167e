internal import Glibc
internal import NIOCore

/// Why an address can't be listened on, and what to do about it.
struct ListenError: CustomStringConvertible {
    private let address: String
    private let error: any Error

    init(host: String, port: Int, _ error: any Error) {
        address = EmbeddedGateway.Address.text(host: host, port: port)
        self.error = error
    }

    var description: String { "can't listen on \(address): \(reason)" }

    private var reason: String {
        guard let code = (error as? IOError)?.errnoCode else {
            return "the host has no address; write 127.0.0.1, or 0.0.0.0 for all addresses of this machine"
        }
        return switch code {
        case EADDRINUSE: "another program listens there; stop it, or choose another port (0 picks a free one)"
        case EACCES: "this user may not use this port; choose one above 1023 (0 picks a free one)"
        case EADDRNOTAVAIL:
            "this is not an address of this machine; write 127.0.0.1, or 0.0.0.0 for all its addresses"
        default: "\(SystemError(code)); choose another address"
        }
    }
}
