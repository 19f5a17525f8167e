/// The address of a keyspace: `http(s)://host[:port][/prefix]/KEYSPACE`.
///
/// User info is stored separately, so that this type can be printed anywhere.
public struct GatewayURL: Hashable, Sendable {
    /// Scheme, host, port and path prefix, without a trailing slash: `https://example.org:4984/sync`.
    public let base: String
    /// The last segment of the path.
    public let keyspace: KeyspaceName
    /// The part before the "@", percent-decoded; nil if there is none. Not part of the address.
    public let userInfo: GatewayCredentials?

    /// Scheme and host become lower case; slashes at the end are dropped.
    ///
    /// - Throws: ``GatewayURLError`` with a message for the user.
    public init(_ text: String) throws(GatewayURLError) {
        guard let schemeEnd = text.range(of: "://") else {
            let isFile = text.hasSuffix(".sqlite")
            throw .init(
                "'\(Self.redacted(text))' is not a URL; write "
                    + (isFile ? "embedded:\(Self.redacted(text)) for a file" : "http://HOST:PORT/DATABASE"))
        }
        let scheme = text[..<schemeEnd.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { throw Self.error(scheme: scheme) }
        let rest = text[schemeEnd.upperBound...]
        guard !rest.contains(where: { $0 == "?" || $0 == "#" || $0.isWhitespace }) else {
            throw .init("a gateway's URL must not contain a query, a fragment or spaces")
        }
        let authorityEnd = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<authorityEnd]
        let hostStart = authority.lastIndex(of: "@").map(authority.index(after:)) ?? authority.startIndex
        let host = authority[hostStart...].lowercased()
        guard !host.isEmpty, !host.hasPrefix(":") else { throw .init("the URL has no host") }
        guard Self.hasValidPort(host), !rest[authorityEnd...].contains("@") else {
            // This may be half a password, so none of it is printed.
            throw .init(
                "the URL's port must be a number from 1 to 65535; in user info, write '/' as %2F, '@' as %40, ':' as %3A"
            )
        }
        userInfo = try Self.credentials(in: authority[..<hostStart].dropLast())

        let segments = rest[authorityEnd...].split(separator: "/")
        guard let last = segments.last else {
            throw .init("the URL has no keyspace: it must end in /DATABASE or /DATABASE.SCOPE.COLLECTION")
        }
        keyspace = try KeyspaceName(String(last))
        base = (["\(scheme)://\(host)"] + segments.dropLast().map(String.init)).joined(separator: "/")
    }

    private init(base: String, keyspace: KeyspaceName, userInfo: GatewayCredentials?) {
        self.base = base
        self.keyspace = keyspace
        self.userInfo = userInfo
    }

    /// Another keyspace of the same server.
    public func sibling(_ keyspace: KeyspaceName) -> GatewayURL {
        GatewayURL(base: base, keyspace: keyspace, userInfo: userInfo)
    }

    /// Scheme, host and port.
    var origin: Substring {
        guard let scheme = base.range(of: "://") else { return base[...] }
        return base[..<(base[scheme.upperBound...].firstIndex(of: "/") ?? base.endIndex)]
    }

    /// The address in a `Location` header if it has this server's scheme, host and port; nil otherwise.
    func address(ofMoveTo location: String) -> String? {
        if location.hasPrefix("/"), !location.hasPrefix("//"), !location.hasPrefix("/\\") { return origin + location }
        return location.hasPrefix("\(origin)/") ? location : nil
    }

    /// A hint for a missing database: `/todo/x` names the database `x`, not `todo`. Nil for an address without a path
    /// prefix.
    var advice: String? {
        guard let scheme = base.range(of: "://"), let slash = base[scheme.upperBound...].lastIndex(of: "/") else {
            return nil
        }
        let part = base[base.index(after: slash)...]
        return "the last part of the path names the database, here '\(keyspace.database)'; "
            + "if you mean the database '\(part)', write \(base)"
    }

    /// Whether the gateway is on this machine: `localhost`, `127.…`, `[::1]`.
    package var isLoopback: Bool {
        guard let scheme = base.range(of: "://") else { return false }
        let authority = base[scheme.upperBound...].prefix { $0 != "/" }
        if authority.hasPrefix("[") { return authority.prefix { $0 != "]" } == "[::1" }
        let host = authority.prefix { $0 != ":" }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return host == "localhost" || host.hasSuffix(".localhost")
            || numbers.first == "127" && numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil }
    }

    private static func error(scheme: String) -> GatewayURLError {
        switch scheme {
        case "ws", "wss":
            .init(
                "changebot speaks the REST API, not the replication protocol: write \(scheme == "ws" ? "http" : "https")://"
            )
        default: .init("the scheme '\(scheme)' is not supported: write http:// or https://")
        }
    }

    private static func credentials(in userInfo: Substring) throws(GatewayURLError) -> GatewayCredentials? {
        guard !userInfo.isEmpty else { return nil }
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count > 1 else {
            throw .init("the URL names a user without a password: write user:password@, or user:@ if it is empty")
        }
        guard let user = parts[0].percentDecoded, let password = parts[1].percentDecoded else {
            throw .init("the user info of the URL is not percent-encoded UTF-8")
        }
        return .basic(user: user, password: password)
    }

    private static func hasValidPort(_ host: String) -> Bool {
        // The colons of an IPv6 address are in brackets.
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return true }
        let port = host[host.index(after: colon)...]
        return port.allSatisfy { $0.isASCII && $0.isNumber } && Int(port).map { (1...65535).contains($0) } == true
    }

    /// The text without anything that may be user info.
    private static func redacted(_ text: String) -> Substring {
        text.lastIndex(of: "@").map { text[text.index(after: $0)...] } ?? text[...]
    }
}

extension GatewayURL: CustomStringConvertible {
    /// The whole address, without user info.
    public var description: String { "\(base)/\(keyspace)" }
}

/// Why a text is not the address of a keyspace.
public struct GatewayURLError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong and what to write instead. Contains no user info.
    public let description: String

    init(_ description: String) { self.description = description }
}
