/// How one test of a rule file came out.
package struct RuleTestResult: Sendable {
    /// Something that is not as expected, as lines that can be compared.
    package struct Mismatch: Sendable {
        /// What it is: `fired`, `document` and so on.
        package let what: String
        package let expected: [String]
        package let actual: [String]
    }

    package let path: String
    package let position: SourcePosition
    package let name: String
    package let mismatches: [Mismatch]

    package var hasPassed: Bool { mismatches.isEmpty }
}
