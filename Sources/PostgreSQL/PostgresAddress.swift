/// The address of a PostgreSQL database: `postgres://[USER@]HOST[:PORT][,HOST[:PORT]]…/DATABASE[?KEY=VALUE&…]`.
///
/// IPv6 addresses are written in brackets. A Unix socket is `postgres:///DATABASE?host=/FOLDER`. With several hosts,
/// the first one that accepts writes is used. Names may be percent-encoded. An address never contains a password.
///
/// | key | value |
/// | --- | --- |
/// | `host`, `port` | instead of those in front of the database; several separated by commas |
/// | `sslmode` | see ``TLSMode``; default `verify-full`, or `prefer` if all hosts are this machine |
/// | `sslrootcert` | file of the authorities to trust, or `system`, the default |
/// | `sslcert`, `sslkey`, `sslcrl` | files, as libpq reads them |
/// | `passfile` | file with passwords, default `~/.pgpass` |
/// | `channel_binding` | `disable`, `prefer` (default), `require` |
/// | `target_session_attrs` | `read-write` (default), `primary`, `any` |
package struct PostgresAddress: Sendable, Hashable {
    /// One server.
    package struct Host: Sendable, Hashable {
        /// A name, an IP address without brackets, or the folder of a Unix socket, which begins with a slash.
        package let name: String
        /// Default 5432.
        package let port: Int
    }

    /// How the connection is secured. Only `verify-full` proves that the server has that name.
    package enum TLSMode: String, Sendable, CaseIterable {
        case disable, allow, prefer, require
        case verifyCA = "verify-ca"
        case verifyFull = "verify-full"
    }

    static let defaultPort = 5432
    /// The meaning of `sslrootcert=system`: libpq supports that value from version 16.
    static let systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"

    /// At least one; they are tried in this order.
    package let hosts: [Host]
    package let database: String
    /// The database user; nil: the name of the operating system's user, as in libpq.
    package let user: String?
    /// The given query, decoded, without `host` and `port`.
    let options: [String: String]

    /// Whether all hosts are this machine: loopback addresses, `localhost` and Unix sockets.
    package var isLocal: Bool { hosts.allSatisfy(\.isLocal) }

    /// The given mode, or the default.
    package var tlsMode: TLSMode {
        options["sslmode"].flatMap(TLSMode.init) ?? (isLocal ? .prefer : .verifyFull)
    }

    /// Whether passwords and documents are sent over a network to a server whose name is not verified. Worth a warning.
    package var isUnverified: Bool { !isLocal && tlsMode != .verifyFull }
}

extension PostgresAddress.Host {
    /// Whether it is the folder of a Unix socket.
    package var isSocket: Bool { name.hasPrefix("/") }

    /// Whether the connection does not leave this machine.
    var isLocal: Bool {
        isSocket || name.lowercased() == "localhost" || NumericAddress(name)?.isLoopback == true
    }

    var bracketed: String { name.contains(":") ? "[\(name)]" : name }
}

extension PostgresAddress.Host: CustomStringConvertible {
    /// `HOST:PORT`, or the folder of the socket.
    package var description: String { isSocket ? name : "\(bracketed):\(port)" }
}

extension PostgresAddress: CustomStringConvertible {
    /// The address in the form of the option. It contains no secret.
    package var description: String {
        let user = self.user.map { Self.encoded($0) + "@" } ?? ""
        let areInQuery = hosts.contains(where: \.isSocket)
        var query = options
        if areInQuery {
            query["host"] = hosts.map(\.name).joined(separator: ",")
            if hosts.contains(where: { $0.port != Self.defaultPort }) {
                query["port"] = hosts.map { "\($0.port)" }.joined(separator: ",")
            }
        }
        let list = areInQuery ? "" : hosts.map(\.inURL).joined(separator: ",")
        let pairs = query.sorted { $0.key < $1.key }.map { "\($0.key)=\(Self.encoded($0.value, keeping: "/,"))" }
        let tail = pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
        return "postgres://\(user)\(list)/\(Self.encoded(database))\(tail)"
    }

    /// Percent-encoded except letters, digits, `-._~` and `others`.
    static func encoded(_ text: String, keeping others: String = "") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                bytes.append(byte)
            case let byte where "-._~".utf8.contains(byte) || others.utf8.contains(byte): bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension PostgresAddress.Host {
    fileprivate var inURL: String { port == PostgresAddress.defaultPort ? bracketed : "\(bracketed):\(port)" }
}
