/// How the conflicting leaves of a document become one.
package enum ConflictPolicy: Sendable, Equatable {
    /// A deletion of a revision that others have edited wins over these edits; without one, as ``merge``.
    case deletesWin
    /// Each member is taken from the side that changed it since the common ancestor.
    case merge
    /// The leaf with the latest date stays.
    case lastUpdateWins
    /// The leaf that the server shows stays.
    case winner
    /// The document is left in conflict, and named.
    case setAside
    /// A jq program makes a document of all leaves: an index in the programs of ``ConflictPolicies``.
    case jq(Int)

    /// Whether it looks at the revisions that leaves come from.
    package var looksAtAncestors: Bool {
        switch self {
        case .deletesWin, .merge, .jq: true
        case .lastUpdateWins, .winner, .setAside: false
        }
    }

    private static let named: [(name: String, policy: ConflictPolicy)] = [
        ("deletes-win", .deletesWin), ("merge", .merge), ("last-update-wins", .lastUpdateWins), ("winner", .winner),
        ("set-aside", .setAside),
    ]

    /// The names that options and rule files may use.
    package static var names: [String] { named.map(\.name) }

    /// Nil if there is no such policy; `jq:` is none.
    init?(name: String) {
        guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
        self = found.policy
    }

    /// As in options.
    package var name: String { Self.named.first { $0.policy == self }?.name ?? "jq" }
}

/// Why a policy can't be used. For the user.
package struct ConflictPolicyError: Error, CustomStringConvertible, Equatable {
    package let description: String

    package init(description: String) { self.description = description }
}
