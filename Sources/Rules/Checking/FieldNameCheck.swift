/// Finds names in selectors, and in the member lists of rules, that look like mistakes.
enum FieldNameCheck {
    typealias Finding = LiteralCheck.Finding

    /// - Parameter node: A selector without errors.
    static func findings(_ node: SourceNode) -> [Finding] {
        SelectorOutline(node).names.compactMap { member in
            message(member).map { (member.position, .fieldName, $0) }
        } + missingFields(node)
    }

    /// `{ type: task, $ne: done }`: conditions without a field, which CouchDB applies to the whole document.
    private static func missingFields(_ node: SourceNode) -> [Finding] {
        switch node.content {
        case .list(let elements): return elements.flatMap(missingFields)
        case .object(let members):
            return members.flatMap { member -> [Finding] in
                if ["$and", "$or", "$nor", "$not"].contains(member.name) { return missingFields(member.value) }
                guard member.name.hasPrefix("$") else { return [] }
                return [
                    (
                        member.position, .fieldName,
                        "'\(member.name)' has no field before it, so it tests the whole document; write "
                            + "field: { \(member.name): … }"
                    )
                ]
            }
        default: return []
        }
    }

    /// `a.$exists` is a field, not an operator.
    private static func message(_ member: SourceNode.Member) -> String? {
        if let message = member.missingSpace(readAs: "the name of a field") ?? missingDollar(member)
            ?? spaced(member)
        {
            return message
        }
        if member.name == "jq", let program = member.value.text {
            return "'jq' is read as the name of a field, because selectors can't compute values; write if: "
                + "'\(DisplayText.plain(program))' next to 'when'"
        }
        let parts = member.name.split(separator: ".")
        guard let index = parts.firstIndex(where: { $0.hasPrefix("$") }), index > 0 else { return nil }
        let path = parts[..<index].joined(separator: ".")
        let rest = parts[index...].joined(separator: ".")
        return "'\(DisplayText.plain(member.name))' is read as the name of a field; write "
            + "\(DisplayText.plain(path)): { \(DisplayText.plain(rest)): … }, or '\\$' if it is a field"
    }

    /// `{ regex: a }`: a field that was probably meant as an operator. Names that are common for fields are not
    /// reported.
    private static func missingDollar(_ member: SourceNode.Member) -> String? {
        let names = ["regex", "exists", "elemMatch", "allMatch", "beginsWith", "nin", "lt", "lte", "gt", "gte"]
        guard names.contains(member.name) else { return nil }
        return "'\(member.name)' is read as the name of a field; write '$\(member.name)' for the operator"
    }

    // MARK: - Spaces

    /// `{ state broken: true }`. Quotes show that a name with a space is intended.
    private static func spaced(_ member: SourceNode.Member) -> String? {
        guard member.isPlain, member.name.contains(where: \.isWhitespace) else { return nil }
        if member.value.isNull, member.value.isPlain, let space = member.name.firstIndex(where: \.isWhitespace) {
            let (name, value) = (member.name[..<space], String(member.name[space...]).trimmed)
            return "'\(DisplayText.plain(member.name))' is read as the name of a field; write a colon after the name: "
                + "\(DisplayText.plain(String(name))): \(DisplayText.plain(String(value)))"
        }
        return "'\(DisplayText.plain(member.name))' is read as the name of one field; write each condition as "
            + "field: value, or put the name in quotes if the field has a space in its name"
    }

    /// Names with a space in a rule's `changed` and `remember`.
    static func findings(inMembersOf rule: SourceNode) -> [Finding] {
        ["changed", "remember"].flatMap { key -> [Finding] in
            guard case .list(let elements)? = rule.member(key)?.content else { return [] }
            return elements.compactMap { element in
                guard element.isPlain, let name = element.text, name.contains(where: \.isWhitespace) else { return nil }
                return (
                    element.position, .fieldName,
                    "'\(DisplayText.plain(name))' is read as one name; put a comma between two names, or put the name in "
                        + "quotes if the member has a space in its name"
                )
            }
        }
    }

    // MARK: - Keys of the rule

    /// Keys of the rule that are in a selector, because they are indented too far.
    static func misplacedKeys(in selector: SourceNode, named key: String) -> [Finding] {
        guard case .object(let members) = selector.content else { return [] }
        return members.filter(isKeyOfRule).map { member in
            (
                member.position, .fieldName,
                "'\(member.name)' in '\(key)' is read as the name of a field; if the rule's key is meant, write it next "
                    + "to '\(key)', not in it; if the field is meant, write \(member.name): { $eq: … }"
            )
        }
    }

    /// Whether a field is probably meant as a key of the rule. Names that are common for fields count only with a value
    /// that the key could have.
    private static func isKeyOfRule(_ member: SourceNode.Member) -> Bool {
        if case .object(let operators) = member.value.content, !operators.isEmpty,
            operators.allSatisfy({ SelectorOperators.known.contains($0.name) })
        {
            return ["$and", "$or", "$nor", "$not"].contains(operators[0].name) && member.name == "unless"
        }
        let texts = member.value.texts
        switch member.name {
        case "when", "unless", "then", "if", "on_error", "remember": return true
        case "on": return texts.contains { Rule.change(named: $0) != nil }
        case "changed", "allow": return !texts.isEmpty
        case "first": return texts.contains { EdgeCondition.FirstSightPolicy(rawValue: $0) != nil }
        case "at": return member.value.isComputed || texts.contains(where: ForgottenProgram.isProgram)
        default: return false
        }
    }
}

extension SourceNode {
    /// The text, or the elements of a list of texts.
    fileprivate var texts: [String] {
        switch content {
        case .string(let text): [text]
        case .list(let elements): elements.compactMap(\.text)
        default: []
        }
    }
}
