/// Why there is no access token. The message names the server or the command, and the remedy; it contains no secret.
package struct TokenError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// No connection to the token server.
        case unreachable
        /// The token server fails, or asks to wait.
        case unavailable
        /// An answer that no token server gives, such as an HTML page.
        case malformed
        /// The token server refuses the client, its secret or its scope.
        case refused
        /// The calling task was cancelled.
        case cancelled
    }

    package let kind: Kind
    package let message: String
    /// How long until the next request for a token. Nil for the first failure.
    package var retryAfter: Duration?
    /// Whether nothing was sent, because the next request is not due.
    package var isHeldBack = false

    init(_ kind: Kind, _ message: String, retryAfter: Duration? = nil) {
        (self.kind, self.message, self.retryAfter) = (kind, message, retryAfter)
    }

    package var description: String { message }
}
