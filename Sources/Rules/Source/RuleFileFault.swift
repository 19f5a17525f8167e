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
}
