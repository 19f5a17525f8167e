/// A user or role as stored: its grants and their sequences.
struct Principal: Sendable {
    /// The sequence of its newest change.
    var sequence: Int
    /// Current grants, each with its sequence.
    var grants: [Grant: Int] = [:]
    /// Lost grants, each with the sequence of the loss.
    var lost: [Grant: Int] = [:]

    /// The key of a user; nil stands for GUEST.
    static func user(_ name: String?) -> String { "user:\(name ?? "")" }
    /// The key of a role.
    static func role(_ name: String) -> String { "role:\(name)" }
    static func isRole(_ key: String) -> Bool { key.hasPrefix("role:") }
}
