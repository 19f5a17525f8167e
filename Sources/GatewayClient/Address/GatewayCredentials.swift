/// How the client identifies itself. Never prints its secret.
public enum GatewayCredentials: Hashable, Sendable {
    /// Basic authentication (RFC 7617), or the login of a session.
    case basic(user: String, password: String)
    /// RFC 6750. Never used for a session.
    case bearer(token: String)
}

extension GatewayCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `user NAME` or `bearer token`.
    public var description: String {
        switch self {
        case .basic(let user, _): "user \(user)"
        case .bearer: "bearer token"
        }
    }

    /// Same as ``description``: without the secret.
    public var debugDescription: String { description }
    /// Without children, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
