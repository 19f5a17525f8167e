internal import HTTPTransport

/// A login that the gateway identifies by a cookie. Kept in memory only, never printed.
struct GatewaySession: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// `NAME=VALUE`, as it is sent back.
    let cookie: String
    /// The credentials of the login: the session must not be used with others.
    let owner: GatewayCredentials
    /// When to log in again: a request with an expired cookie would be anonymous.
    let renewal: Instant

    /// Sync Gateway's lifetime, in seconds; CouchDB gives its own in `Max-Age`.
    private static let usualLifetime = 24 * 60 * 60

    /// Nil if none of `fields`, the values of `Set-Cookie`, begins a session.
    init?(_ fields: [String], of owner: GatewayCredentials, at now: Instant) {
        for field in fields {
            let parts = field.split(separator: ";").map { $0.drop { $0 == " " } }
            guard let cookie = parts.first, let equals = cookie.firstIndex(of: "="),
                !cookie[equals...].dropFirst().isEmpty,
                ["SyncGatewaySession", "AuthSession"].contains(String(cookie[..<equals]))
            else { continue }
            let age = parts.first { $0.lowercased().hasPrefix("max-age=") }.flatMap { Int($0.dropFirst(8)) }
            let lifetime = min(max(0, age ?? Self.usualLifetime), Self.usualLifetime)
            self.cookie = String(cookie)
            self.owner = owner
            renewal = now + .seconds(lifetime) * 0.9
            return
        }
        return nil
    }
}

extension GatewaySession: CustomStringConvertible, CustomReflectable {
    var description: String { "session" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
