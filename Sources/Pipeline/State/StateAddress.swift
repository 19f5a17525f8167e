/// Where a database was reached: a gateway's URL, or `embedded:FILE`. Compared as a URL is meant, not as it is spelled.
struct StateAddress {
    /// `http://127.0.0.1:4985`, in lower case and without a port that goes without saying.
    private let server: String
    /// Nil if it names no host.
    private let host: Substring?
    private let path: Substring

    init(_ text: String) {
        guard let scheme = text.firstRange(of: "://") else {
            (server, host, path) = ("", nil, text[...])
            return
        }
        let rest = text[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let name = text[..<scheme.lowerBound].lowercased()
        var place = authority.lowercased()
        let port = name == "https" ? ":443" : ":80"
        if place.hasSuffix(port) { place.removeLast(port.count) }
        server = name + "://" + place
        host = place.hasPrefix("[") ? place.prefix { $0 != "]" } : place.prefix { $0 != ":" }
        path = rest[authority.endIndex...]
    }

    /// Both name the same scheme, host, port and path.
    func isSame(as other: StateAddress) -> Bool { server == other.server && path == other.path }

    /// The same, or the same but for the name of this machine: `localhost`, `127.0.0.1`, `[::1]`.
    func mayBeSame(as other: StateAddress) -> Bool {
        if isSame(as: other) { return true }
        guard let local = withoutLoopback, path == other.path else { return false }
        return local == other.withoutLoopback
    }

    /// The server without its host's name, if that is this machine.
    private var withoutLoopback: String? {
        guard let host, let place = server.firstRange(of: host), ["localhost", "127.0.0.1", "[::1"].contains(host)
        else {
            return nil
        }
        return String(server[..<place.lowerBound]) + String(server[place.upperBound...].drop { $0 == "]" })
    }
}
