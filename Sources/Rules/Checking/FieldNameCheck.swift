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
            ?? spaced(member) ?? pathOfOthers(member) ?? alternatives(member)
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
        guard names.contains(member.name) || takesArgument(member) else { return nil }
        return "'\(member.name)' is read as the name of a field; write '$\(member.name)' for the operator"
    }

    /// Whether a name that is common for fields has a value as the operator needs it: `or: [{ a: 1 }]`, `in: [a, b]`.
    private static func takesArgument(_ member: SourceNode.Member) -> Bool {
        switch (member.name, member.value.content) {
        case ("or", .list(let elements)), ("and", .list(let elements)), ("nor", .list(let elements)):
            return !elements.isEmpty && elements.allSatisfy { if case .object = $0.content { true } else { false } }
        case ("in", .list): return true
        case ("not", .object(let members)): return !members.isEmpty
        case ("ne", .string), ("ne", .bool), ("ne", .null), ("eq", .string), ("eq", .bool), ("eq", .null): return true
        default: return false
        }
    }

    /// `beds[0].crop`, `beds[].crop`, `beds.*.crop`: paths of other languages.
    private static func pathOfOthers(_ member: SourceNode.Member) -> String? {
        // Regular expressions are slow, and nearly all names have no such character.
        guard member.name.contains(where: { $0 == "[" || $0 == "*" }) else { return nil }
        let shown = DisplayText.plain(member.name)
        if member.name.firstMatch(of: /\w\[\d+\]/) != nil {
            let path = member.name.replacing(/\[(\d+)\]/) { ".\($0.output.1)" }
            return "'\(shown)' is read as the name of a field; write \(DisplayText.plain(path)) for an element of "
                + "a list"
        }
        guard let match = member.name.firstMatch(of: /^(\w+)(?:\[\*?\]|\.\*)\.?(.*)$/) else { return nil }
        let rest = match.2.isEmpty ? "…" : "{ \(DisplayText.plain(String(match.2))): … }"
        return "'\(shown)' is read as the name of a field; write \(DisplayText.plain(String(match.1))): "
            + "{ $elemMatch: \(rest) } for any element of a list"
    }

    /// `type: [loan, gift]`: a type is no list.
    private static func alternatives(_ member: SourceNode.Member) -> String? {
        guard member.name == "type", case .list(let values) = member.value.content, values.count > 1,
            values.allSatisfy({ $0.text != nil })
        else { return nil }
        let texts = values.compactMap(\.text).joined(separator: ", ")
        return "'type' is compared with the list as a whole; for any of these values write "
            + "type: { $in: [\(DisplayText.plain(texts))] }"
    }

    // MARK: - Spaces

    /// `{ state broken: true }`. Quotes show that a name with a space is intended.
    private static func spaced(_ member: SourceNode.Member) -> String? {
        guard member.isPlain || member.name.trimmed.utf8.count < member.name.utf8.count,
            member.name.contains(where: \.isWhitespace)
        else { return nil }
        if !member.isPlain {
            return "'\(DisplayText.plain(member.name))' is read as a name with a space around it; remove the space"
        }
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

    /// A selector without the keys that ``misplacedKeys(in:named:)`` reports: what is in them is no selector.
    static func withoutMisplacedKeys(_ selector: SourceNode) -> SourceNode {
        guard case .object(let members) = selector.content else { return selector }
        return SourceNode(
            content: .object(members.filter { !isKeyOfRule($0) }), position: selector.position)
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
