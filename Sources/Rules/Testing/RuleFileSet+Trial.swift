package import LosslessJSON

/// A document of a rule file's tests.
package struct TestedDocument: Sendable {
    /// The name of the test.
    package let test: String
    package let given: JSONText
    /// The document as the rules last saw it. Nil: they see it for the first time.
    package let before: JSONText?
}

extension RuleFileSet {
    /// The documents of all tests, in order.
    package var testedDocuments: [TestedDocument] {
        files.flatMap(\.tests).map { TestedDocument(test: $0.name, given: $0.given, before: $0.before) }
    }

    /// The rules of the first file as its tests run them: a `slurp` name stands for a file without documents. Nil if
    /// there is no file.
    ///
    /// - Parameter earlier: A set whose processes run the jq programs too, if they are the same.
    package func firstFileRules(sharing earlier: RuleSet?) -> RuleSet? {
        files.first.map { ruleSet(for: $0, slurps: [], sharing: earlier) }
    }
}
