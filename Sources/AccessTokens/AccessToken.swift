/// A bearer token. Printing it does not show it.
package struct AccessToken: Sendable, Equatable {
    /// Sent as `Authorization: Bearer …`.
    package let text: String
    /// Tells the tokens of one source apart: a later one has a higher number.
    package let number: Int
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "access token \(number)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A new token, as a token server or a command gave it.
struct TokenAnswer: Sendable {
    let text: String
    /// Nil: unknown.
    let lifetime: Duration?
}
