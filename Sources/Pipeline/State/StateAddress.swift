/// The address of a database: a gateway's URL, or `embedded:FILE`. Equivalent spellings of a URL compare as equal.
struct StateAddress {
    /// `http://127.0.0.1:4985`: in lower case, without the default port.
    private let server: String
    /// Nil if there is none.
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

    /// Whether both have the same scheme, host, port and path.
    func isSame(as other: StateAddress) -> Bool { server == other.server && path == other.path }

    /// Whether they are the same, or differ only in the name of this machine: `localhost`, `127.0.0.1`, `[::1]`.
    func mayBeSame(as other: StateAddress) -> Bool {
        if isSame(as: other) { return true }
        guard let local = withoutLoopback, path == other.path else { return false }
        return local == other.withoutLoopback
    }

    /// The server without its host name, if that is a loopback name; else nil.
    private var withoutLoopback: String? {
        guard let host, let place = server.firstRange(of: host), ["localhost", "127.0.0.1", "[::1"].contains(host)
        else {
            return nil
        }
        return String(server[..<place.lowerBound]) + String(server[place.upperBound...].drop { $0 == "]" })
    }
}
