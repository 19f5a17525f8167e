internal import LosslessJSON

extension Selector {
    /// Whether a condition on `_id` has `_design/` in its operand: only then may a rule see design documents, which
    /// contain code and indexes. Negative conditions, such as `$ne` or `$not`, do not count.
    ///
    /// - Precondition: The selector is normalised.
    var namesDesignDocuments: Bool {
        switch self {
        case .all(let selectors), .any(let selectors): selectors.contains { $0.namesDesignDocuments }
        case .field(let path, let condition): path.isID && condition.namesDesignDocuments
        case .not, .none, .value: false
        }
    }

    /// Whether a part that names design documents lets this one match: of the alternatives in `$or`, only those that
    /// name them count.
    ///
    /// - Precondition: The selector is normalised, and matches the document.
    func admits(designDocument document: JSONValue, _ scratch: MatchScratch) throws(MatchError) -> Bool {
        switch self {
        case .all(let selectors):
            for selector in selectors where try selector.admits(designDocument: document, scratch) { return true }
            return false
        case .any(let selectors):
            for selector in selectors where selector.namesDesignDocuments {
                guard try selector.matches(document, scratch) else { continue }
                if try selector.admits(designDocument: document, scratch) { return true }
            }
            return false
        case .field, .not, .none, .value: return namesDesignDocuments
        }
    }
}

extension Condition {
    fileprivate var namesDesignDocuments: Bool {
        switch self {
        case .compare(.notEqual, _), .isNotIn, .not: false
        case .compare(_, let literal): Self.namesDesignDocuments(literal)
        case .isIn(let literals): literals.contains(where: Self.namesDesignDocuments)
        case .regex(let regex): Self.namesDesignDocuments(regex.pattern.replacing("\\/", with: "/"))
        case .beginsWith(let prefix): Self.namesDesignDocuments(String(decoding: prefix, as: UTF8.self))
        case .exists, .type, .size, .modulus, .all, .anyElement, .allElements, .anyKey: false
        }
    }

    private static func namesDesignDocuments(_ literal: Literal) -> Bool {
        literal.value.string.map(namesDesignDocuments) ?? false
    }

    private static func namesDesignDocuments(_ text: String) -> Bool { text.contains("_design/") }
}

extension JSONValue {
    private static let designPrefix = Array("_design/".utf8)

    /// Whether the document is a design document.
    var isDesignDocument: Bool { self["_id"]?.begins(with: Self.designPrefix) ?? false }
}
