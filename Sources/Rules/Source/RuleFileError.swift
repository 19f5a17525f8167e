/// One error in a rule file. Prints as `path:line:column: what is wrong and what to do`.
package struct RuleFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path of the file as given, or the option that is wrong.
    package let path: String
    /// Nil if the error is about the file itself: missing, unreadable.
    package let position: SourcePosition?
    /// What is wrong and what to do, on one line.
    package let message: String

    /// A message for one place.
    package init(path: String, position: SourcePosition?, message: String) {
        self.path = path
        self.position = position
        self.message = message
    }

    /// `PATH:LINE:COLUMN: MESSAGE`, without the position if there is none.
    package var description: String {
        guard let position else { return "\(path): \(message)" }
        return "\(path):\(position.line):\(position.column): \(message)"
    }
}

/// Why no rules were loaded: the errors of all files, in order.
package struct RuleFilesError: Error, Sendable, CustomStringConvertible {
    /// Decides the exit code.
    package enum Kind: Sendable {
        /// A given file or folder does not exist (exit code 66).
        case missing
        /// The request does not match the files: a rule or list that they don't have, or a list that they need (exit
        /// code 64).
        case usage
        /// A file is not valid (exit code 65). Takes precedence over ``missing``.
        case invalid
    }

    /// If there are several kinds, the one that takes precedence.
    package let kind: Kind
    /// Never empty.
    package let errors: [RuleFileError]

    package init(kind: Kind, errors: [RuleFileError]) { (self.kind, self.errors) = (kind, errors) }

    /// One line per error.
    package var description: String { errors.map(\.description).joined(separator: "\n") }
}

/// Collects the errors of one file while it is read.
final class SourceErrors {
    let path: String
    private(set) var errors: [RuleFileError] = []
    /// Of the file. A message about their line names them, because they can hardly be seen.
    var oddCharacters = OddCharacters.none

    init(path: String) { self.path = path }

    /// - Parameter isSyntax: Whether the cause may be on an earlier line.
    func report(at position: SourcePosition?, _ message: String, isSyntax: Bool = false) {
        let odd = position.flatMap { oddCharacters.nearest(to: $0.line, searchesBack: isSyntax) }
        let advice = odd.map { "; " + $0.advice(on: position?.line ?? 0) } ?? ""
        errors.append(RuleFileError(path: path, position: position, message: message + advice))
    }

    /// Adds errors that were reported elsewhere.
    func add(_ errors: [RuleFileError]) { self.errors += errors }

    /// Reports a value of the wrong kind: `'then' must be a list, not text; begin each with '- '`.
    ///
    /// - Parameter remedy: What to do, unless the value looks like a mistake with a remedy of its own.
    func reportKind(of node: SourceNode, _ demand: String, remedy: String) {
        report(at: node.position, "\(demand), not \(node.kindName); \(node.missingSpaceRemedy ?? remedy)")
    }

    static let beginningOfRules = "a rule file begins with 'version: 1' and has 'rules:'"

    /// - Parameter beginning: What a file of this kind begins with.
    func reportEmpty(_ beginning: String = beginningOfRules) { report(at: .start, "the file is empty; \(beginning)") }
}
