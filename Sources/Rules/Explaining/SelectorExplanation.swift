/// Why a selector holds or does not hold for a document: a tree of its clauses, each with the value that it tested.
package struct SelectorExplanation: Sendable {
    /// The result of a clause.
    package enum ClauseResult: Hashable, Sendable {
        case holds
        case fails
        /// Matching failed, so the whole rule is undecided.
        case noAnswer(reason: String)

        var opposite: ClauseResult {
            switch self {
            case .holds: .fails
            case .fails: .holds
            case .noAnswer: self
            }
        }
    }

    /// The value that a clause tested.
    package enum Finding: Hashable, Sendable {
        /// JSON, shortened and safe to print.
        case found(String)
        /// An object on the path has no such member.
        case missing
        /// The path leads into a value without members, or outside a list. No condition holds there, not even
        /// `$exists: false`.
        case noSuchPlace
    }

    /// The clause as Mango, or the operator that combines the ``children``, or the element that they test.
    package internal(set) var text: String
    /// The same as in matching.
    package let result: ClauseResult
    /// Nil if the ``children`` show the value.
    package private(set) var finding: Finding?
    /// A likely mistake of the rule's author. Nil if none is apparent.
    package private(set) var hint: String?
    /// The combined clauses, or the elements that were evaluated.
    package private(set) var children: [SelectorExplanation] = []
    /// The number of elements that the ``children`` omit.
    package private(set) var omittedCount = 0
}

extension SelectorExplanation {
    /// A clause about a value, possibly with elements as children.
    init(
        _ text: String, _ result: ClauseResult, _ finding: Finding, hint: String? = nil,
        elements: [SelectorExplanation] = [], omittedCount: Int = 0
    ) {
        self.text = text
        self.result = result
        self.finding = finding
        self.hint = hint
        children = elements
        self.omittedCount = omittedCount
    }

    /// A combination of clauses.
    ///
    /// - Parameters:
    ///   - decisive: The first child with this result decides. So does a child without an answer, as in matching.
    ///   - result: The result in that case. Otherwise its opposite.
    init(_ text: String, _ children: [SelectorExplanation], decisive: ClauseResult, gives result: ClauseResult) {
        self.text = text
        self.children = children
        self.result = Self.result(of: children.map(\.result), decisive: decisive, gives: result)
    }

    static func result(of results: [ClauseResult], decisive: ClauseResult, gives result: ClauseResult) -> ClauseResult {
        for child in results {
            if child == decisive { return result }
            if case .noAnswer = child { return child }
        }
        return result.opposite
    }
}
