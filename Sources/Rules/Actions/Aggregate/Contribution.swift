package import LosslessJSON

/// What one document adds to the totals of a rule with `aggregate`.
package struct Contribution: Sendable {
    /// The index of the rule in ``RuleSet/names``.
    package let rule: Int
    /// The id of the document that holds the totals.
    package let target: String
    /// In the order of ``AggregateRule/members``.
    package let amounts: [DecimalAmount]
    /// The members that the document with the totals gets besides, when it is made: an object.
    package let document: JSONText
}

/// A rule with `aggregate`, for those who keep its totals.
package struct AggregateRule: Sendable {
    /// Its index in ``RuleSet/names``.
    package let index: Int
    package let name: String
    /// A hash of all that it does.
    package let fingerprint: String
    /// The names of the members with its totals: counts, then sums.
    package let members: [String]
    /// The members that each of its documents has from the beginning with the same value.
    let marks: [(name: String, value: JSONText)]

    /// Whether a document may hold totals of this rule that are not zero, from a time that nobody remembers. Never, if
    /// the rule gives its documents nothing by which they can be told.
    package func mayHoldTotals(_ document: JSONValue) -> Bool {
        guard !marks.isEmpty else { return false }
        let hasMarks = marks.allSatisfy { mark in
            document[mark.name].map { $0.isEquivalent(to: mark.value.root) } ?? false
        }
        return hasMarks
            && members.contains { name in
                guard let value = document[name] else { return false }
                return value.kind != .number || DecimalAmount(number: value.bytes) != .zero
            }
    }
}
