/// A selector of related documents, with its position.
package struct LocatedSelector: Sendable {
    /// The path of the file as given.
    package let path: String
    package let position: SourcePosition
    /// The name of the rule.
    package let rule: String
    /// The selector as JSON, with a text in place of each computed value.
    package let example: [UInt8]
    /// The fields of an index that serves the selector, spelled as in selectors: first the fields with a required
    /// value, then one with a range. Empty: no index serves it.
    package let indexFields: [String]
    /// Whether it tests a range of ids, which every database can search without another index.
    package let searchesIDRange: Bool
    /// Whether it names ids: these documents are read directly, not searched.
    package let namesIDs: Bool
    /// The warnings that the rule accepts.
    let allowed: Set<RuleWarning.Code>

    /// A warning about it. Nil if the rule accepts it.
    package func warning(_ code: RuleWarning.Code, _ message: String) -> RuleWarning? {
        allowed.contains(code)
            ? nil : RuleWarning(path: path, position: position, rule: rule, code: code, message: message)
    }
}

extension RuleFileSet {
    /// The selectors of related documents in all rules, in order.
    package var relatedSelectors: [LocatedSelector] { files.flatMap(\.rules).flatMap(\.relatedSelectors) }
}

extension Rule {
    fileprivate var relatedSelectors: [LocatedSelector] {
        locatedSteps.compactMap { placed in
            guard let related = placed.step.action as? RelatedAction else { return nil }
            let example = related.selector.example
            return LocatedSelector(
                path: definition.path, position: placed.element.position, rule: name, example: example.json,
                indexFields: example.selector.indexFields,
                searchesIDRange: example.selector.searchesIDRange, namesIDs: example.selector.namedIDs != nil,
                allowed: acceptedCodes)
        }
    }
}

extension Selector {
    /// See ``LocatedSelector/indexFields``. CouchDB uses an index only if the selector names all its fields.
    var indexFields: [String] {
        let conditions = requirements
        func fields(_ isWanted: (Condition) -> Bool) -> [String] {
            conditions.reduce(into: []) { fields, part in
                guard isWanted(part.condition), !fields.contains(part.path.spelling) else { return }
                fields.append(part.path.spelling)
            }
        }
        let equal = fields(\.isEquality)
        let ordered = fields(\.isRange).first { !equal.contains($0) }
        // CouchDB finds documents by id without another index.
        return (equal + [ordered].compactMap(\.self)).filter { $0 != "_id" }
    }

    var searchesIDRange: Bool { requirements.contains { $0.path.isID && $0.condition.isRange } }
}

extension Condition {
    fileprivate var isEquality: Bool {
        switch self {
        case .compare(.equal, _), .isIn: true
        default: false
        }
    }

    fileprivate var isRange: Bool {
        switch self {
        case .compare(.less, _), .compare(.lessOrEqual, _), .compare(.greater, _), .compare(.greaterOrEqual, _),
            .beginsWith:
            true
        default: false
        }
    }
}
