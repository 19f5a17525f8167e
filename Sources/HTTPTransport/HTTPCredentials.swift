/// The credentials of a request: a user and a password, or a bearer token.
///
/// Sent in the `Authorization` header of the one request it was given with, never in a URL. A redirect is not
/// followed, so the secret never reaches another host. Printing, interpolating or dumping shows the scheme only.
///
/// - Note: Source: RFC 7617 (basic), RFC 6750 (bearer).
package struct HTTPCredentials: Sendable, Hashable {
    enum Secret: Hashable {
        case basic(user: String, password: String)
        case bearer(token: String)
    }

    let secret: Secret

    /// The user must not contain a colon: the server would read the rest as the password.
    package static func basic(user: String, password: String) -> HTTPCredentials {
        HTTPCredentials(secret: .basic(user: user, password: password))
    }

    package static func bearer(token: String) -> HTTPCredentials {
        HTTPCredentials(secret: .bearer(token: token))
    }
}

extension HTTPCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        switch secret {
        case .basic: "basic credentials"
        case .bearer: "bearer credentials"
        }
    }

    package var debugDescription: String { description }

    /// No children, so that `dump` has nothing to show.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
