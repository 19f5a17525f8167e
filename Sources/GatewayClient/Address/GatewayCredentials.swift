/// Who the client says it is. Never prints its secret.
public enum GatewayCredentials: Hashable, Sendable {
    case basic(user: String, password: String)
    case bearer(token: String)
}

extension GatewayCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        switch self {
        case .basic(let user, _): "user \(user)"
        case .bearer: "bearer token"
        }
    }

    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
