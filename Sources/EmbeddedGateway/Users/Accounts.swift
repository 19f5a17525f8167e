internal import Encodings
internal import Locking
internal import NIOConcurrencyHelpers

/// Authenticates users by name and password.
final class Accounts: Sendable {
    private struct State {
        var users: EmbeddedGateway.Users?
        /// For each user, the digest of the last correct password: PBKDF2 is slow, and clients send the password with
        /// each request.
        var verified: [String: [UInt8]] = [:]
    }

    private let store: Store
    private let defaultUser: RequestUser
    private let state = NIOLockedValueBox(State())
    /// Held while users change.
    private let changes = TaskLock()
    let sessions: Sessions

    /// - Parameter stranger: The user of every request while there are no users.
    init(_ store: Store, sessions: Sessions = Sessions(), defaultUser: RequestUser = .unrestricted) {
        self.store = store
        self.defaultUser = defaultUser
        self.sessions = sessions
    }

    /// Replaces all users. Changes get sequences.
    func replace(with users: EmbeddedGateway.Users) async throws {
        try await store.settle(users)
        state.withLockedValue { $0 = State(users: users) }
    }

    /// Changes the current users. If there were none, GUEST gets full access first.
    func change(_ change: @Sendable (inout EmbeddedGateway.Users) throws(RequestError) -> Void) async throws {
        try await changes.withLock {
            var users = current
            try change(&users)
            try await replace(with: users)
        }
    }

    var current: EmbeddedGateway.Users {
        state.withLockedValue { $0.users } ?? EmbeddedGateway.Users(guest: .init(channels: [RequestUser.starChannel]))
    }

    /// Assigns sequences to the users again after the database was emptied.
    func settleAgain() async throws {
        if let users = state.withLockedValue({ $0.users }) { try await replace(with: users) }
    }

    /// The user of anonymous requests. Nil if GUEST is disabled.
    var guest: RequestUser? {
        state.withLockedValue { state in
            guard let users = state.users else { return defaultUser }
            return users.guest.isDisabled ? nil : requestUser(of: nil)
        }
    }

    /// The user with this name and password. Nil if there is none, or it is disabled.
    func requestUser(_ name: String, password: String) -> RequestUser? {
        let (account, known) = state.withLockedValue { ($0.users?.accounts[name], $0.verified[name]) }
        guard let account, !account.isDisabled, let hash = account.password else { return nil }
        let digest = Digest.sha256(Array("\(name):\(password)".utf8))
        if digest != known {
            guard hash.matches(password) else { return nil }
            state.withLockedValue { $0.verified[name] = digest }
        }
        return requestUser(name)
    }

    /// The user with this name, already authenticated. Nil if the account was removed or disabled.
    func requestUser(_ name: String) -> RequestUser? {
        state.withLockedValue { state in
            guard let account = state.users?.accounts[name], !account.isDisabled else { return nil }
            return requestUser(of: name)
        }
    }

    /// The user with current access, for a waiting feed. Unchanged if the account was removed.
    func refreshed(_ requestUser: RequestUser) -> RequestUser {
        guard requestUser.isRestricted else { return requestUser }
        return (requestUser.name.map { self.requestUser($0) } ?? guest)?.entering(like: requestUser) ?? requestUser
    }

    private func requestUser(of name: String?) -> RequestUser? {
        let principals = store.principals.all
        guard let principal = principals[Principal.user(name)] else { return nil }
        return RequestUser(
            name: name, sequence: principal.sequence, access: ChannelAccess.of(principal, roles: principals))
    }
}
