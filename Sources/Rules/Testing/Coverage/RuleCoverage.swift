/// Which outcomes of the rules' conditions and actions the tests have shown.
package struct RuleCoverage: Sendable {
    /// One rule file.
    package struct File: Sendable {
        /// As given.
        package let path: String
        package internal(set) var rules: [Rule]
        /// A mapping's `otherwise`. Nil if the file has none.
        package internal(set) var otherwise: CoveragePoint?

        package var points: [CoveragePoint] { rules.flatMap(\.points) + (otherwise.map { [$0] } ?? []) }
        package var share: Share { Share(points) }
    }

    /// One rule.
    package struct Rule: Sendable {
        package let name: String
        /// In the order of the file. The first one is the rule as a whole.
        package internal(set) var points: [CoveragePoint]
    }

    /// A share of outcomes.
    package struct Share: Sendable, Equatable {
        package let seen: Int
        package let possible: Int

        init(_ points: [CoveragePoint]) {
            let outcomes = points.flatMap(\.outcomes).filter(\.isPossible)
            possible = outcomes.count
            seen = outcomes.count { $0.testCount > 0 }
        }

        /// In tenths of a percent, rounded down: 1000 only if every outcome was seen. Also 1000 if there are none.
        package var permille: Int { possible == 0 ? 1000 : seen * 1000 / possible }
    }

    package let files: [File]

    package var share: Share { Share(files.flatMap(\.points)) }
}
