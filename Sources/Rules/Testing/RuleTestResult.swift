/// The result of one test of a rule file.
package struct RuleTestResult: Sendable {
    /// A difference from what was expected, as lines to compare.
    package struct Mismatch: Sendable {
        /// The key under `expect`: `fired`, `document` and so on.
        package let what: String
        /// Lines to show as missing.
        package let expected: [String]
        /// Lines to show instead of them.
        package let actual: [String]
    }

    /// The rule file, as it was given.
    package let path: String
    /// The start of the test in the file.
    package let position: SourcePosition
    /// The test's name, as the file has it.
    package let name: String
    /// Empty if the test passed.
    package let mismatches: [Mismatch]

    /// Whether everything is as expected.
    package var hasPassed: Bool { mismatches.isEmpty }
}
