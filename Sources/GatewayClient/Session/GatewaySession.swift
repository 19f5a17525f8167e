/// A login that the gateway identifies by a cookie. Kept in memory only, never printed.
struct GatewaySession: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// One cookie of the login.
    private struct Cookie: Sendable {
        let name: String
        var value: String
        /// `Max-Age`, in seconds; nil if the server gives none.
        var age: Int?

        /// Nil for a field without a name or a value: an empty value ends a session.
        init?(field: String) {
            let parts = field.split(separator: ";").map { $0.drop { $0 == " " } }
            guard let pair = parts.first, let equals = pair.firstIndex(of: "="), equals > pair.startIndex else {
                return nil
            }
            name = String(pair[..<equals])
            value = String(pair[equals...].dropFirst())
            age = parts.first { $0.lowercased().hasPrefix("max-age=") }.flatMap { Int($0.dropFirst(8)) }
            if value.isEmpty || value == #""""# { return nil }
        }
    }

    /// The usual names of the session cookie. Sync Gateway can be configured with another one (`session_cookie_name`).
    private static let usualNames = ["SyncGatewaySession", "AuthSession"]
    /// Sync Gateway's lifetime, in seconds; CouchDB sends its own in `Max-Age`.
    private static let usualLifetime = 24 * 60 * 60

    private var cookies: [Cookie]
    /// The credentials of the login. The session must not be used for others.
    let owner: GatewayCredentials
    /// When to log in again: a request with an expired cookie would be anonymous.
    private(set) var renewal: Instant

    /// `NAME=VALUE; …`, as it is sent back: all cookies of the login, because a proxy may need its own.
    var cookie: String { cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ") }

    /// The secret parts of ``cookie``.
    var values: [String] { cookies.map(\.value) }

    /// Nil if `fields`, the values of a login's `Set-Cookie`, contain no cookie.
    init?(_ fields: [String], of owner: GatewayCredentials, at now: Instant) {
        cookies = fields.compactMap(Cookie.init)
        guard !cookies.isEmpty else { return nil }
        self.owner = owner
        renewal = Self.renewal(of: cookies, at: now)
    }

    /// The session after an answer with these `Set-Cookie` values; nil if it renews no cookie of the login.
    func renewed(by fields: [String], at now: Instant) -> GatewaySession? {
        let new = fields.compactMap(Cookie.init).filter { cookie in cookies.contains { $0.name == cookie.name } }
        guard !new.isEmpty else { return nil }
        var session = self
        for cookie in new {
            for index in session.cookies.indices where session.cookies[index].name == cookie.name {
                session.cookies[index] = cookie
            }
        }
        // A proxy's cookie does not concern the session.
        if Self.sessionCookies(cookies).contains(where: { known in new.contains { $0.name == known.name } }) {
            session.renewal = Self.renewal(of: session.cookies, at: now)
        }
        return session
    }

    /// The cookies that identify the session: those with a usual name, or all if none has one.
    private static func sessionCookies(_ cookies: [Cookie]) -> [Cookie] {
        let usual = cookies.filter { usualNames.contains($0.name) }
        return usual.isEmpty ? cookies : usual
    }

    private static func renewal(of cookies: [Cookie], at now: Instant) -> Instant {
        let age = sessionCookies(cookies).compactMap(\.age).min()
        return now + .seconds(min(max(0, age ?? usualLifetime), usualLifetime)) * 0.9
    }
}

extension GatewaySession: CustomStringConvertible, CustomReflectable {
    var description: String { "session" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
