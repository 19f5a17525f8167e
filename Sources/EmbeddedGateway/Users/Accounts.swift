internal import Encodings
internal import NIOConcurrencyHelpers

/// Authenticates users by name and password.
final class Accounts: Sendable {
    private struct State {
        var users: EmbeddedGateway.Users?
        var principals: [String: Principal] = [:]
        /// For each user, the digest of the last correct password: PBKDF2 is slow, and clients send it with each
        /// request.
        var verified: [String: [UInt8]] = [:]
    }

    private let store: Store
    private let stranger: Visitor
    private let state = NIOLockedValueBox(State())
    let sessions: Sessions

    /// - Parameter stranger: The user of every request as long as there are no users.
    init(_ store: Store, sessions: Sessions = Sessions(), stranger: Visitor = .everyone) {
        self.store = store
        self.stranger = stranger
        self.sessions = sessions
    }

    /// Replaces all users; what changed gets sequences.
    func replace(with users: EmbeddedGateway.Users) async throws {
        let principals = try await store.settle(users)
        state.withLockedValue { $0 = State(users: users, principals: principals) }
    }

    /// Assigns sequences to the users again after the database was emptied.
    func settleAgain() async throws {
        if let users = state.withLockedValue({ $0.users }) { try await replace(with: users) }
    }

    /// The user of anonymous requests; nil if GUEST is disabled.
    var guest: Visitor? {
        state.withLockedValue { state in
            guard let users = state.users else { return stranger }
            return users.guest.isDisabled ? nil : Self.visitor(nil, state)
        }
    }

    /// The user with this name and password; nil if there is none, or it is disabled.
    func visitor(_ name: String, password: String) -> Visitor? {
        let (account, known) = state.withLockedValue { ($0.users?.accounts[name], $0.verified[name]) }
        guard let account, !account.isDisabled, let hash = account.password else { return nil }
        let digest = Digest.sha256(Array("\(name):\(password)".utf8))
        if digest != known {
            guard hash.matches(password) else { return nil }
            state.withLockedValue { $0.verified[name] = digest }
        }
        return visitor(name)
    }

    /// The user with this name, who is authenticated already; nil if the account is gone or disabled.
    func visitor(_ name: String) -> Visitor? {
        state.withLockedValue { state in
            guard let account = state.users?.accounts[name], !account.isDisabled else { return nil }
            return Self.visitor(name, state)
        }
    }

    private static func visitor(_ name: String?, _ state: State) -> Visitor? {
        guard let principal = state.principals[Principal.user(name)] else { return nil }
        return Visitor(
            name: name, sequence: principal.sequence,
            access: ChannelAccess.of(principal, roles: state.principals))
    }
}
