package import LosslessJSON

/// What one document adds to the totals of a rule with `aggregate`.
package struct Contribution: Sendable {
    /// The index of the rule in ``RuleSet/names``.
    package let rule: Int
    /// The id of the document that holds the totals.
    package let target: String
    /// In the order of ``AggregateRule/members``.
    package let amounts: [DecimalAmount]
    /// The other members of a new totals document: an object.
    package let document: JSONText
}

/// A rule with `aggregate`, for the code that keeps its totals.
package struct AggregateRule: Sendable {
    /// Its index in ``RuleSet/names``.
    package let index: Int
    package let name: String
    /// A hash of everything that the rule does.
    package let fingerprint: String
    /// The names of its totals: counts, then sums.
    package let members: [String]
    /// The members that each of its documents has from the beginning with the same value.
    let literalMembers: [(name: String, value: JSONText)]

    /// Whether a document may hold totals of this rule that the state does not record: also zeros, so that it is known
    /// when another client changes them. Never, if the rule's documents have no members that identify them.
    package func mayHoldTotals(_ document: JSONValue) -> Bool {
        guard !literalMembers.isEmpty else { return false }
        let hasMarks = literalMembers.allSatisfy { mark in
            document[mark.name].map { $0.isEquivalent(to: mark.value.root) } ?? false
        }
        return hasMarks && members.contains { document[$0] != nil }
    }
}
