/// A user or role as stored: its grants and their sequences.
struct Principal: Sendable {
    /// The sequence of its newest change.
    var sequence: Int
    /// Current grants by the administrator, each with its sequence.
    var grants: [Grant: Int] = [:]
    /// Current grants by documents, through the sync function, each with its sequence.
    var computed: [Grant: Int] = [:]
    /// Lost grants, each with the sequence of the loss.
    var lost: [Grant: Int] = [:]

    /// All current grants. If something is granted several times, the earliest grant counts.
    var held: [Grant: Int] { computed.isEmpty ? grants : grants.merging(computed) { min($0, $1) } }

    /// The names of the roles, sorted.
    var roles: [String] {
        held.keys.compactMap { if case .role(let name) = $0 { name } else { nil } }.sorted()
    }

    /// The key of a user. Nil stands for GUEST.
    static func user(_ name: String?) -> String { "user:\(name ?? "")" }
    /// The key of a role.
    static func role(_ name: String) -> String { "role:\(name)" }
    static func isRole(_ key: String) -> Bool { key.hasPrefix("role:") }
}
