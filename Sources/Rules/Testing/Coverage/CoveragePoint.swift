/// A place in a rule file at which an evaluation can have different outcomes: a condition, a program, an action.
package struct CoveragePoint: Sendable {
    /// The key of the rule that contains the place.
    package enum Kind: String, Sendable {
        /// The rule as a whole.
        case rule
        case on, when, unless, changed, at
        case `if`
        case forEach = "for_each"
        /// An action.
        case then
        case otherwise
    }

    /// What an evaluation can give.
    package enum Result: String, Sendable {
        case `true`, `false`
        /// The rule fires.
        case fires
        /// The action is done.
        case runs
        /// No rule of the mapping fires.
        case applies
    }

    package struct Outcome: Sendable {
        package let result: Result
        /// Whether a document can lead to this outcome. False only if that is certain.
        package var isPossible = true
        /// The number of tests in which it was seen.
        package internal(set) var testCount = 0

        init(_ result: Result) { self.result = result }

        /// Whether tests should show it, and none does.
        package var isMissing: Bool { isPossible && testCount == 0 }
    }

    package let kind: Kind
    package let position: SourcePosition
    /// What is evaluated, on one line, safe to print.
    package let text: String
    package internal(set) var outcomes: [Outcome]

    init(_ kind: Kind, at position: SourcePosition, _ text: String, _ results: [Result]) {
        self.kind = kind
        self.position = position
        self.text = text
        outcomes = results.map(Outcome.init)
    }

    /// The outcomes that no test has shown.
    package var missing: [Result] { outcomes.filter(\.isMissing).map(\.result) }
}

extension CoveragePoint {
    /// What no test has shown: `never true`. Nil if nothing is missing.
    package var complaint: String? {
        if missing.isEmpty { return nil }
        return switch (kind, missing[0]) {
        case (_, .fires): "never fires"
        case (_, .runs): "never runs"
        case (_, .applies): "never applies"
        case (.on, .false) where missing.count == 1: "never false: add a test whose before already matches"
        default: missing.count == 2 ? "never evaluated" : "never \(missing[0].rawValue)"
        }
    }
}
