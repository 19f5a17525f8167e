internal import LosslessJSON

extension Selector {
    /// Whether it asks nothing of a document, only says what a document is not, or holds for any `_id`.
    var matchesEverything: Bool {
        guard asksForSomething else { return true }
        let scratch = MatchScratch()
        return Self.bareDocuments.allSatisfy { document in
            do throws(MatchError) { return try matches(document.root, scratch) } catch { return false }
        }
    }

    /// Documents with nothing but an id: what matches them all matches because of what every document has.
    private static let bareDocuments: [JSONText] = ["0", "Zz", "a:b", "t-1", "~", "é", "_design/x"].compactMap { id in
        try? JSONText(#"{"_id":"\#(id)","_rev":"1-a"}"#)
    }

    /// Whether a document must have some field, and it must be as the selector says.
    private var asksForSomething: Bool {
        switch self {
        case .all(let selectors): selectors.contains(where: \.asksForSomething)
        case .any(let selectors): !selectors.isEmpty && selectors.allSatisfy(\.asksForSomething)
        case .not, .none, .value: false
        case .field(_, let condition): condition.asksForSomething
        }
    }
}

extension Condition {
    fileprivate var asksForSomething: Bool {
        switch self {
        case .compare(.notEqual, _), .isNotIn, .exists(false), .not: false
        case .compare, .isIn, .exists, .type, .size, .modulus, .regex, .beginsWith, .all, .anyElement, .allElements,
            .anyKey:
            true
        }
    }
}
