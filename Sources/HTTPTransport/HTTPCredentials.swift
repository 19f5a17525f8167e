/// The credentials of a request: a user and a password, or a bearer token.
///
/// Sent in the `Authorization` header of the one request they were given for, never in a URL. Redirects are not
/// followed, so the secret never reaches another host. Printing, interpolating or dumping shows only the scheme.
///
/// - Note: Source: RFC 7617 (basic), RFC 6750 (bearer).
package struct HTTPCredentials: Sendable, Hashable {
    enum Secret: Hashable {
        case basic(user: String, password: String)
        case bearer(token: String)
    }

    let secret: Secret

    /// The user must not contain a colon, since the server would read the rest as the password: such a request fails
    /// with `.invalidRequest`.
    package static func basic(user: String, password: String) -> HTTPCredentials {
        HTTPCredentials(secret: .basic(user: user, password: password))
    }

    /// The token must not contain control characters: such a request fails with `.invalidRequest`.
    package static func bearer(token: String) -> HTTPCredentials {
        HTTPCredentials(secret: .bearer(token: token))
    }
}

extension HTTPCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The scheme without the secret: `basic credentials` or `bearer credentials`.
    package var description: String {
        switch secret {
        case .basic: "basic credentials"
        case .bearer: "bearer credentials"
        }
    }

    /// Same as ``description``: without the secret.
    package var debugDescription: String { description }

    /// No children, so that `dump` has nothing to show.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
