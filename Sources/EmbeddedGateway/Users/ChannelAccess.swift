/// The channels of one collection that a user has or had.
struct ChannelAccess: Sendable {
    /// Current channels, each with the sequence of its grant.
    private(set) var held: [String: Int]
    /// Lost channels, each with the sequence of the loss.
    private(set) var lost: [String: Int] = [:]

    init(held: [String: Int] = [RequestUser.publicChannel: Store.guestSequence]) { self.held = held }

    /// Adds a grant. If a channel is granted several times, the earliest grant counts.
    mutating func hold(_ channel: String, since sequence: Int) {
        held[channel] = min(held[channel] ?? sequence, sequence)
    }

    /// Adds a loss. The last loss counts, and only if no grant remains.
    mutating func lose(_ channel: String, at sequence: Int) { lost[channel] = max(lost[channel] ?? 0, sequence) }

    /// Must be called after all grants and losses were added.
    mutating func settle() {
        lost = held[RequestUser.starChannel] == nil ? lost.filter { held[$0.key] == nil } : [:]
    }
}

extension ChannelAccess {
    /// The access of a user, directly and through roles, by collection.
    ///
    /// - Parameter roles: By key, including removed roles that the user had.
    static func of(_ user: Principal, roles: [String: Principal]) -> [String: ChannelAccess] {
        var access: [String: ChannelAccess] = [:]
        func reach(_ grant: Grant, _ change: (inout ChannelAccess, String) -> Void) {
            guard case .channel(let channel, let collection) = grant else { return }
            change(&access[collection, default: ChannelAccess()], channel)
        }
        for (grant, since) in user.held {
            reach(grant) { $0.hold($1, since: since) }
            guard case .role(let name) = grant, let role = roles[Principal.role(name)] else { continue }
            for (roleGrant, sequence) in role.held { reach(roleGrant) { $0.hold($1, since: max(since, sequence)) } }
            for (roleGrant, end) in role.lost where end > since { reach(roleGrant) { $0.lose($1, at: end) } }
        }
        for (grant, end) in user.lost {
            reach(grant) { $0.lose($1, at: end) }
            guard case .role(let name) = grant, let role = roles[Principal.role(name)] else { continue }
            for roleGrant in role.held.keys { reach(roleGrant) { $0.lose($1, at: end) } }
            for (roleGrant, roleGrantEnd) in role.lost { reach(roleGrant) { $0.lose($1, at: min(end, roleGrantEnd)) } }
        }
        return access.mapValues { access in
            var access = access
            access.settle()
            return access
        }
    }
}
