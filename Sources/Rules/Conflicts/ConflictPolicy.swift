/// How the conflicting leaves of a document are reduced to one.
package enum ConflictPolicy: Sendable, Equatable {
    /// A deletion of a revision that other leaves descend from wins over them. Without such a deletion, like ``merge``.
    case deletesWin
    /// Each member is taken from the side that changed it since the common ancestor.
    case merge
    /// Keeps the leaf with the latest date.
    case lastUpdateWins
    /// Keeps the winning revision.
    case winner
    /// Leaves the document in conflict, and reports it.
    case setAside
    /// A jq program makes one document of all leaves. The value is an index in the programs of ``ConflictPolicies``.
    case jq(Int)

    /// Whether the policy needs the ancestors of the leaves.
    package var needsAncestors: Bool {
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

    /// Nil for an unknown name, and for `jq:`.
    init?(name: String) {
        guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
        self = found.policy
    }

    /// The name in options.
    package var name: String { Self.named.first { $0.policy == self }?.name ?? "jq" }
}

/// Why a policy can't be used, for the user.
package struct ConflictPolicyError: Error, CustomStringConvertible, Equatable {
    package let description: String
    /// The program that does not compile, and why. Nil if something else is wrong.
    private(set) var program: (text: String, diagnosis: ProgramDiagnosis)?

    package init(description: String) { self.description = description }

    init(program text: String, _ diagnosis: ProgramDiagnosis) {
        let place = diagnosis.place.map { place in
            (text.contains("\n") ? "line \(place.line), " : "") + "column \(place.offset + 1): "
        }
        description = "'\(DisplayText.plain(text))' is not a jq program: \(place ?? "")\(diagnosis.text)"
        program = (text, diagnosis)
    }

    package static func == (left: Self, right: Self) -> Bool { left.description == right.description }
}
