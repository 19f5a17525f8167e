/// The result of one test of a rule file.
package struct RuleTestResult: Sendable {
    /// A difference from the expectation, as lines to compare.
    package struct Mismatch: Sendable {
        /// The key under `expect`: `fired`, `document` and so on.
        package let what: String
        /// Lines that are missing.
        package let expected: [String]
        /// Lines that appear instead. If ``isPartial``, without the members that the test does not name.
        package let actual: [String]
        /// Whether only the members are compared that the test names.
        package var isPartial = false

        /// What is compared, for the first line of a difference.
        package var title: String { what + (isPartial ? " (without the members that the test does not name)" : "") }
    }

    /// The path of the rule file, as given.
    package let path: String
    /// The start of the test in the file.
    package let position: SourcePosition
    /// The test's name, as in the file.
    package let name: String
    /// Empty if the test passed.
    package let mismatches: [Mismatch]

    /// Whether the test passed.
    package var hasPassed: Bool { mismatches.isEmpty }

    /// What differs: `fired and patch differ from what the test expects`.
    package var reason: String {
        let names = mismatches.map(\.what)
        return "\(names.joined(separator: ", ")) \(names.count == 1 ? "differs" : "differ") from what the test expects"
    }

    /// The lines that differ, without colours.
    package var differences: [String] {
        mismatches.flatMap { mismatch in
            [mismatch.title + ":"] + LineDiff(mismatch.expected, mismatch.actual).plainLines.map { "  " + $0 }
        }
    }
}
