internal import Encodings
internal import NIOConcurrencyHelpers

/// Tells visitors by their names and passwords.
final class Accounts: Sendable {
    private struct State {
        var users: EmbeddedGateway.Users?
        var principals: [String: Principal] = [:]
        /// For each user the digest of the password that was right: PBKDF2 is slow, and a client sends it each time.
        var verified: [String: [UInt8]] = [:]
    }

    private let store: Store
    private let stranger: Visitor
    private let state = NIOLockedValueBox(State())
    let sessions: Sessions

    /// - Parameter stranger: Who everybody is as long as there are no users.
    init(_ store: Store, sessions: Sessions = Sessions(), stranger: Visitor = .everyone) {
        self.store = store
        self.stranger = stranger
        self.sessions = sessions
    }

    /// Takes users over in place of those before; what changed gets sequences.
    func replace(with users: EmbeddedGateway.Users) async throws {
        let principals = try await store.settle(users)
        state.withLockedValue { $0 = State(users: users, principals: principals) }
    }

    /// Gives the users sequences in a database that was emptied.
    func settleAgain() async throws {
        if let users = state.withLockedValue({ $0.users }) { try await replace(with: users) }
    }

    /// GUEST; nil if he is disabled.
    var guest: Visitor? {
        state.withLockedValue { state in
            guard let users = state.users else { return stranger }
            return users.guest.isDisabled ? nil : Self.visitor(nil, state)
        }
    }

    /// Who has this name and this password; nil if nobody has, or he is disabled.
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

    /// Who has this name, for one who has shown who he is already; nil if the account is gone or disabled.
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
