/// A selector of related documents, and where it is.
package struct PlacedSelector: Sendable {
    /// The file as it was given.
    package let path: String
    package let position: SourcePosition
    /// The name of the rule.
    package let rule: String
    /// The selector as JSON, with a text in place of each computed value.
    package let example: [UInt8]
    /// The fields of an index that serves it, as selectors name them: first those that must have a certain value, then
    /// one with an order. Empty: no index serves it.
    package let indexFields: [String]
    /// Whether it asks for a range of ids, by which every database is ordered.
    package let asksForIDs: Bool
    /// Whether it names ids: such documents are read, not searched.
    package let namesIDs: Bool
}

extension RuleFileSet {
    /// The selectors of related documents in all rules, in order.
    package var relatedSelectors: [PlacedSelector] { files.flatMap(\.rules).flatMap(\.relatedSelectors) }
}

extension Rule {
    fileprivate var relatedSelectors: [PlacedSelector] {
        placedSteps.compactMap { placed in
            guard let related = placed.step.action as? RelatedAction else { return nil }
            let example = related.selector.example
            return PlacedSelector(
                path: path, position: placed.element.position, rule: name, example: example.json,
                indexFields: example.selector.indexFields,
                asksForIDs: example.selector.asksForIDs, namesIDs: example.selector.namedIDs != nil)
        }
    }
}

extension Selector {
    /// See ``PlacedSelector/indexFields``. CouchDB uses an index only if the selector names all its fields.
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
        // Every document has an id: CouchDB finds it without an index.
        return (equal + [ordered].compactMap(\.self)).filter { $0 != "_id" }
    }

    var asksForIDs: Bool { requirements.contains { $0.path.isID && $0.condition.isRange } }
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
