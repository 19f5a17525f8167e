/// One thing that is wrong in a rule file. Prints as `path:line:column: what is wrong and what to do`.
package struct RuleFileFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let path: String
    /// Nil where the fault is the file itself: missing, unreadable.
    package let position: SourcePosition?
    package let message: String

    package var description: String {
        guard let position else { return "\(path): \(message)" }
        return "\(path):\(position.line):\(position.column): \(message)"
    }
}

/// Why no rules were loaded: everything that is wrong in any of the files, in their order.
package struct RuleFilesError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// A file or folder that was named is not there (exit code 66).
        case missing
        /// What was asked for does not fit the files: a rule or a list that they have not, or a list that they need and
        /// that was not given (exit code 64).
        case usage
        /// A file says what rule files can't say (exit code 65). Stands above ``missing`` where both are true.
        case invalid
    }

    package let kind: Kind
    package let faults: [RuleFileFault]

    /// One fault a line.
    package var description: String { faults.map(\.description).joined(separator: "\n") }
}

/// The faults of one file, gathered while it is read.
final class SourceFaults {
    let path: String
    private(set) var faults: [RuleFileFault] = []

    init(path: String) { self.path = path }

    func report(at position: SourcePosition?, _ message: String) {
        faults.append(RuleFileFault(path: path, position: position, message: message))
    }
    /// That a value is of another kind than it must be: `'then' must be a list, not text; begin each with '- '`.
    ///
    /// - Parameter remedy: What to do, unless the value looks like a slip that has a remedy of its own.
    func reportKind(of node: SourceNode, _ demand: String, remedy: String) {
        report(at: node.position, "\(demand), not \(node.kindName); \(node.missingSpaceRemedy ?? remedy)")
    }

    static let beginningOfRules = "a rule file begins with 'version: 1' and has 'rules:'"

    /// - Parameter beginning: What a file of this kind begins with.
    func reportEmpty(_ beginning: String = beginningOfRules) { report(at: .start, "the file is empty; \(beginning)") }
}
