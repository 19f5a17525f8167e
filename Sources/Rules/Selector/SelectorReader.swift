internal import LosslessJSON

/// Reads a Mango selector from a source tree. Makes implicit operators explicit, and moves field names to the
/// conditions.
///
/// Anything invalid becomes an error and a placeholder selector; the file is then rejected.
struct SelectorReader {
    fileprivate let errors: SourceErrors
    /// Inside `$elemMatch` and the like, where CouchDB does not support `$nor`.
    fileprivate let isWithinElement: Bool

    /// The normalised selector of `node`. Nil, with errors, if CouchDB would refuse it.
    static func read(_ node: SourceNode, errors: SourceErrors) -> Selector? {
        let before = errors.errors.count
        guard case .object(let members) = node.content else {
            errors.reportKind(
                of: node, "a selector must be an object", remedy: "write { field: value }; {} matches all")
            return nil
        }
        if members.isEmpty { return .all([]) }
        let reader = SelectorReader(errors: errors, isWithinElement: false)
        let selector = reader.selector(node, path: "").normalized
        if case .value = selector, errors.errors.count == before {
            errors.report(
                at: members[0].position, "a condition without a field name; write {field: {\(members[0].name): …}}")
        }
        return errors.errors.count == before ? selector : nil
    }

    private static let nothing = Selector.all([])

    private func selector(_ node: SourceNode, path: String) -> Selector {
        guard case .object(let members) = node.content, !members.isEmpty else {
            return field(path, .compare(.equal, Literal(node)), at: node.position)
        }
        if members.count == 1 { return selector(members[0], path: path) }
        return .all(members.map { selector($0, path: path) })
    }

    private func selector(_ member: SourceNode.Member, path: String) -> Selector {
        let argument = member.value
        switch member.name {
        case "$and": return combination(member, path) { .all($0) }
        case "$or": return combination(member, path) { .any($0) }
        case "$nor":
            if isWithinElement {
                errors.report(
                    at: member.position,
                    "CouchDB can't evaluate $nor inside $elemMatch, $allMatch or $keyMapMatch; "
                        + "write {$not: {$or: […]}}")
            }
            return combination(member, path) { .none($0) }
        case "$not":
            guard case .object = argument.content else { return badArgument(member, "an object") }
            return .not(selector(argument, path: path))
        case let name where name.hasPrefix("$"):
            guard let condition = condition(member) else { return Self.nothing }
            return field(path, condition, at: member.position)
        default:
            return selector(argument, path: path.isEmpty ? member.name : path + "." + member.name)
        }
    }

    private func combination(
        _ member: SourceNode.Member, _ path: String, _ combine: ([Selector]) -> Selector
    ) -> Selector {
        guard case .list(let elements) = member.value.content else { return badArgument(member, "a list of selectors") }
        return combine(elements.map { selector($0, path: path) })
    }

    private func field(_ path: String, _ condition: Condition, at position: SourcePosition) -> Selector {
        if path.isEmpty { return .value(condition) }
        if let path = FieldPath(path) { return .field(path, condition) }
        errors.report(
            at: position,
            "'\(path)' is not a field name: a part between its dots is empty; write '\\.' for a "
                + "literal dot")
        return Self.nothing
    }

    private func badArgument(_ member: SourceNode.Member, _ expected: String) -> Selector {
        SelectorOperators.reportArgument(of: member, expected, errors)
        return Self.nothing
    }

    private func condition(_ member: SourceNode.Member) -> Condition? {
        switch member.name {
        case "$elemMatch": elementSelector(member).map { .anyElement($0) }
        case "$allMatch": elementSelector(member).map { .allElements($0) }
        case "$keyMapMatch": elementSelector(member).map { .anyKey($0) }
        default: SelectorOperators.condition(member, errors)
        }
    }

    private func elementSelector(_ member: SourceNode.Member) -> Selector? {
        guard case .object = member.value.content else {
            SelectorOperators.reportArgument(of: member, "an object", errors)
            return nil
        }
        return SelectorReader(errors: errors, isWithinElement: true).selector(member.value, path: "")
    }
}
