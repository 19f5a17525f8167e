internal import LosslessJSON

/// A rule that was changed on purpose. A good test fails because of the change.
package struct Mutant: Sendable {
    /// The path of the rule file, as given.
    package let path: String
    /// The position of the change.
    package let position: SourcePosition
    /// The name of the rule.
    package let rule: String
    /// What is different, on one line, safe to print.
    package let change: String
    /// A document for which the change matters. Nil if none was found: then the change has probably no effect, if the
    /// rule is tested at all.
    package internal(set) var difference: Difference?
    /// Whether the rule fires in a test.
    package internal(set) var isRuleTested = true

    /// Whether a test is certainly missing.
    package var isUntested: Bool { difference != nil || !isRuleTested }
    /// The test to add. Nil if none was found, and if it would expect that the rule fails.
    package var missingTest: [String]? { difference.flatMap { $0.isFailure ? nil : $0.test } }

    /// How the changed rule differs for one document.
    package struct Difference: Sendable {
        /// The document, in YAML's flow style.
        package let document: String
        /// The member of `expect` that shows the difference.
        package let member: String
        /// Its value with the rule as written. In YAML's flow style, like the next one.
        package let expected: String
        /// Its value with the change.
        package let actual: String
        /// A test that fails because of the change: the lines of an element of `tests`, without indentation.
        package let test: [String]
        /// Whether the rule as written fails for the document: probably the rule is wrong, and not its tests.
        package let isFailure: Bool
    }
}

/// The result of the mutants of all rules.
package struct MutantRun: Sendable {
    /// The mutants of one rule file.
    package struct File: Sendable {
        /// As given.
        package let path: String
        package let count: Int
        /// The mutants that fail no test.
        package internal(set) var survivors: [Mutant]
    }

    package let files: [File]

    package var count: Int { files.reduce(0) { $0 + $1.count } }
    package var survivors: [Mutant] { files.flatMap(\.survivors) }

    /// The survivors for which a test is missing.
    package var untested: [Mutant] { survivors.filter(\.isUntested) }
}
