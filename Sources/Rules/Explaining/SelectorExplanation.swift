/// Why a selector holds for a document or does not: a tree of its clauses, each with what it found.
package struct SelectorExplanation: Sendable {
    package enum Verdict: Hashable, Sendable {
        case holds
        case fails
        /// Matching was given up, so that the whole rule is undecided.
        case noAnswer(reason: String)

        var opposite: Verdict {
            switch self {
            case .holds: .fails
            case .fails: .holds
            case .noAnswer: self
            }
        }
    }

    /// What a clause looked at.
    package enum Finding: Hashable, Sendable {
        /// JSON, cut and made safe to print.
        case found(String)
        /// An object on the way has no such member.
        case missing
        /// The path leads into what has no members, or out of a list. No condition holds there, not even
        /// `$exists: false`.
        case noSuchPlace
    }

    /// The clause as Mango, or the operator that combines the ``children``, or which element they are about.
    package internal(set) var text: String
    package let verdict: Verdict
    /// Nil where the ``children`` say it.
    package private(set) var finding: Finding?
    /// What the author of the rule may have overlooked.
    package private(set) var hint: String?
    /// Clauses, or the elements that were looked at.
    package private(set) var children: [SelectorExplanation] = []
    /// Elements that are not among the ``children``.
    package private(set) var omittedCount = 0
}

extension SelectorExplanation {
    /// A clause about a value, its elements perhaps among the children.
    init(
        _ text: String, _ verdict: Verdict, _ finding: Finding, hint: String? = nil,
        elements: [SelectorExplanation] = [], omittedCount: Int = 0
    ) {
        self.text = text
        self.verdict = verdict
        self.finding = finding
        self.hint = hint
        children = elements
        self.omittedCount = omittedCount
    }

    /// A combination of clauses.
    ///
    /// - Parameters:
    ///   - decisive: The verdict of a child that ends the matter for all; the first one that has it, or has no answer,
    ///     decides, as it does when matching stops there.
    ///   - verdict: What the combination is then. Its opposite otherwise.
    init(_ text: String, _ children: [SelectorExplanation], decisive: Verdict, gives verdict: Verdict) {
        self.text = text
        self.children = children
        self.verdict = Self.verdict(of: children.map(\.verdict), decisive: decisive, gives: verdict)
    }

    static func verdict(of verdicts: [Verdict], decisive: Verdict, gives verdict: Verdict) -> Verdict {
        for child in verdicts {
            if child == decisive { return verdict }
            if case .noAnswer = child { return child }
        }
        return verdict.opposite
    }
}
