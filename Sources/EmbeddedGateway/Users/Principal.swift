/// A user or a role as it stands in the file: what it was given, and when.
struct Principal: Sendable {
    /// The sequence of its newest change.
    var sequence: Int
    /// What it has, each with the sequence at which it was given.
    var grants: [Grant: Int] = [:]
    /// What it had, each with the sequence at which it was taken away.
    var lost: [Grant: Int] = [:]

    /// The key of a user; of GUEST for nil.
    static func user(_ name: String?) -> String { "user:\(name ?? "")" }
    /// The key of a role.
    static func role(_ name: String) -> String { "role:\(name)" }
    static func isRole(_ key: String) -> Bool { key.hasPrefix("role:") }
}
