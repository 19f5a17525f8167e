internal import LosslessJSON

extension Selector {
    /// Whether the selector has no condition, only negative conditions, or only conditions on `_id` that always hold.
    var matchesEverything: Bool {
        guard hasRequirement else { return true }
        let scratch = MatchScratch()
        return Self.bareDocuments.allSatisfy { document in
            do throws(MatchError) { return try matches(document.root, scratch) } catch { return false }
        }
    }

    /// Documents with only an id. A selector that matches all of them matches because of what every document has.
    private static let bareDocuments: [JSONText] = ["0", "Zz", "a:b", "t-1", "~", "é", "_design/x"].compactMap { id in
        try? JSONText(#"{"_id":"\#(id)","_rev":"1-a"}"#)
    }

    /// Whether the selector requires a field with certain values.
    private var hasRequirement: Bool {
        switch self {
        case .all(let selectors): selectors.contains(where: \.hasRequirement)
        case .any(let selectors): !selectors.isEmpty && selectors.allSatisfy(\.hasRequirement)
        case .not, .none, .value: false
        case .field(_, let condition): condition.hasRequirement
        }
    }
}

extension Condition {
    fileprivate var hasRequirement: Bool {
        switch self {
        case .compare(.notEqual, _), .isNotIn, .exists(false), .not: false
        case .compare, .isIn, .exists, .type, .size, .modulus, .regex, .beginsWith, .all, .anyElement, .allElements,
            .anyKey:
            true
        }
    }
}
