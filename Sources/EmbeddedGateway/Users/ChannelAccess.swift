/// The channels of one collection that somebody has, and had.
struct ChannelAccess: Sendable {
    /// Each with the sequence at which he got it.
    private(set) var held: [String: Int]
    /// Those that he has no more, each with the sequence at which he lost it.
    private(set) var lost: [String: Int] = [:]

    init(held: [String: Int] = [Visitor.everybody: Store.guestSequence]) { self.held = held }

    /// He may have a channel in several ways: the earliest counts.
    mutating func hold(_ channel: String, since sequence: Int) {
        held[channel] = min(held[channel] ?? sequence, sequence)
    }

    /// He may have lost it in several ways: the last one counts, and only if none is left.
    mutating func lose(_ channel: String, at sequence: Int) { lost[channel] = max(lost[channel] ?? 0, sequence) }

    /// To be called once all ways are known.
    mutating func settle() {
        lost = held[Visitor.everything] == nil ? lost.filter { held[$0.key] == nil } : [:]
    }
}

extension ChannelAccess {
    /// What a user has by himself and by his roles, by collection.
    ///
    /// - Parameter roles: By their keys, also those that are gone but were his.
    static func of(_ user: Principal, roles: [String: Principal]) -> [String: ChannelAccess] {
        var access: [String: ChannelAccess] = [:]
        func reach(_ grant: Grant, _ change: (inout ChannelAccess, String) -> Void) {
            guard case .channel(let channel, let collection) = grant else { return }
            change(&access[collection, default: ChannelAccess()], channel)
        }
        for (grant, since) in user.grants {
            reach(grant) { $0.hold($1, since: since) }
            guard case .role(let name) = grant, let role = roles[Principal.role(name)] else { continue }
            for (lent, sequence) in role.grants { reach(lent) { $0.hold($1, since: max(since, sequence)) } }
            for (lent, end) in role.lost where end > since { reach(lent) { $0.lose($1, at: end) } }
        }
        for (grant, end) in user.lost {
            reach(grant) { $0.lose($1, at: end) }
            guard case .role(let name) = grant, let role = roles[Principal.role(name)] else { continue }
            for lent in role.grants.keys { reach(lent) { $0.lose($1, at: end) } }
            for (lent, lentEnd) in role.lost { reach(lent) { $0.lose($1, at: min(end, lentEnd)) } }
        }
        return access.mapValues { access in
            var access = access
            access.settle()
            return access
        }
    }
}
