internal import LosslessJSON

/// The user that a gateway recognizes: `{"userCtx":{"name","channels","roles"}}`.
package struct LoginInfo: Sendable, Equatable {
    /// Nil for anonymous users, and on the admin port of Sync Gateway.
    package let user: String?
    /// The channels that the user may read, sorted (Sync Gateway). Nil if the answer has none: for anonymous users, and
    /// for databases with named collections.
    package let channels: [String]?
    /// The user's roles, sorted (CouchDB): `_admin` for administrators.
    package let roles: [String]

    init(_ answer: SmallJSON) {
        let context = answer["userCtx"]
        user = context?["name"]?.string
        if case .object(let channels)? = context?["channels"] {
            self.channels = channels.keys.sorted()
        } else {
            channels = nil
        }
        roles = (context?["roles"]?.elements?.compactMap(\.string) ?? []).sorted()
    }

    /// Stores the values unchanged.
    package init(user: String?, channels: [String]?, roles: [String] = []) {
        self.user = user
        self.channels = channels
        self.roles = roles
    }
}
