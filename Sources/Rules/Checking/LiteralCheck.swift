internal import LosslessJSON

/// Finds names and values in selectors that look like mistakes.
enum LiteralCheck {
    static let types = ["null", "boolean", "number", "string", "array", "object"]

    static func warnings(_ rule: CheckedRule, _ outline: SelectorOutline) -> [RuleWarning] {
        outline.names.flatMap { name($0, rule) } + outline.leaves.flatMap { leaf($0, rule) }
    }

    // MARK: - Names

    /// `{ type: task, $ne: done }`: conditions without a field, which CouchDB applies to the whole document.
    static func missingFields(_ node: SourceNode, _ rule: CheckedRule) -> [RuleWarning] {
        switch node.content {
        case .list(let elements): return elements.flatMap { missingFields($0, rule) }
        case .object(let members):
            return members.flatMap { member -> [RuleWarning] in
                if ["$and", "$or", "$nor", "$not"].contains(member.name) { return missingFields(member.value, rule) }
                guard member.name.hasPrefix("$") else { return [] }
                return [
                    rule.warning(
                        at: member.position, .fieldName,
                        "'\(member.name)' has no field before it, so it tests the whole document; write "
                            + "field: { \(member.name): … }")
                ]
            }
        default: return []
        }
    }

    /// `a.$exists` is a field, not an operator.
    private static func name(_ member: SourceNode.Member, _ rule: CheckedRule) -> [RuleWarning] {
        if let message = member.missingSpace(readAs: "the name of a field") ?? missingDollar(member) {
            return [rule.warning(at: member.position, .fieldName, message)]
        }
        if member.name == "jq", let program = member.value.text {
            return [
                rule.warning(
                    at: member.position, .fieldName,
                    "'jq' is read as the name of a field, because selectors can't compute values; write if: "
                        + "'\(DisplayText.plain(program))' next to 'when'")
            ]
        }
        let parts = member.name.split(separator: ".")
        guard let index = parts.firstIndex(where: { $0.hasPrefix("$") }), index > 0 else { return [] }
        let path = parts[..<index].joined(separator: ".")
        let rest = parts[index...].joined(separator: ".")
        return [
            rule.warning(
                at: member.position, .fieldName,
                "'\(DisplayText.plain(member.name))' is read as the name of a field; write "
                    + "\(DisplayText.plain(path)): { \(DisplayText.plain(rest)): … }, or '\\$' if it is a field")
        ]
    }

    /// `{ regex: a }`: a field that was probably meant as an operator. Names that are common for fields are not
    /// reported.
    private static func missingDollar(_ member: SourceNode.Member) -> String? {
        let names = ["regex", "exists", "elemMatch", "allMatch", "beginsWith", "nin", "lt", "lte", "gt", "gte"]
        guard names.contains(member.name) else { return nil }
        return "'\(member.name)' is read as the name of a field; write '$\(member.name)' for the operator"
    }

    // MARK: - Values

    private static func leaf(_ leaf: SelectorOutline.Leaf, _ rule: CheckedRule) -> [RuleWarning] {
        if leaf.operatorName.wholeMatch(of: /\$[lg]te?/) != nil {
            let programs = forgottenProgram(leaf.argument, rule)
            guard programs.isEmpty else { return programs }
        }
        switch (leaf.operatorName, leaf.argument.content) {
        case ("$type", .string(let name)) where !types.contains(name):
            return [rule.warning(at: leaf.argument.position, .unknownType, unknownType(name))]
        case ("$eq", .string), ("$ne", .string): return text(leaf.argument, rule)
        case ("$ne", .list(let values)) where !values.isEmpty: return [listAsValue(leaf, rule)]
        case ("$in", .list(let values)), ("$nin", .list(let values)), ("$all", .list(let values)):
            return duplicates(values, rule) + values.flatMap { text($0, rule) }
        case ("$lt", .string(let text)), ("$lte", .string(let text)), ("$gt", .string(let text)),
            ("$gte", .string(let text)):
            if let message = numberAsText(text, leaf) { return [rule.warning(at: leaf.position, .mixedTypes, message)] }
            guard leaf.operatorName.hasPrefix("$l") else { return [] }
            guard leaf.siblings.allSatisfy({ ["$lt", "$lte", "$ne", "$exists"].contains($0) }) else { return [] }
            return [
                rule.warning(
                    at: leaf.position, .mixedTypes,
                    "\(leaf.operatorName) with a string also holds for null, booleans and numbers, which are less "
                        + "than any string; add a lower bound, $gte: \"\"")
            ]
        case ("$gt", .number), ("$gte", .number):
            guard !leaf.siblings.contains(where: { ["$lt", "$lte", "$type", "$mod", "$in", "$eq"].contains($0) }) else {
                return []
            }
            return [
                rule.warning(
                    at: leaf.position, .mixedTypes,
                    "\(leaf.operatorName) with a number also holds for strings, lists and objects, which are greater "
                        + "than any number; add $type: number")
            ]
        case ("$regex", .string(let pattern)):
            return PatternCheck.messages(pattern).map { rule.warning(at: leaf.argument.position, .regex, $0) }
        default: return []
        }
    }

    private static func text(_ node: SourceNode, _ rule: CheckedRule) -> [RuleWarning] {
        if let message = operatorAsText(node) { return [rule.warning(at: node.position, .notAnOperator, message)] }
        return yaml11Boolean(node, rule) + whiteSpace(node, rule) + forgottenProgram(node, rule)
    }

    private static func forgottenProgram(_ node: SourceNode, _ rule: CheckedRule) -> [RuleWarning] {
        guard let message = node.text.flatMap(ForgottenProgram.messageInSelector) else { return [] }
        return [rule.warning(at: node.position, .notAProgram, message)]
    }

    /// `task: '$regex:^a'`, in quotes or not.
    private static func operatorAsText(_ node: SourceNode) -> String? {
        guard case .string(let text) = node.content, let match = text.wholeMatch(of: /(\$[A-Za-z]+)\s*[: ]\s*(.+)/),
            SelectorOperators.known.contains(String(match.1))
        else { return nil }
        return "'\(DisplayText.plain(text))' is a string, not an operator; write "
            + "{ \(match.1): \(DisplayText.plain(argument(String(match.2)))) }"
    }

    /// The argument as YAML to paste: in quotes unless it is a word, a number, a list or an object.
    private static func argument(_ text: String) -> String {
        let isPlain = text.wholeMatch(of: /[A-Za-z0-9_.-]+|\[.*\]|\{.*\}|'.*'|".*"/) != nil
        return isPlain ? text : "'\(text)'"
    }

    private static func listAsValue(_ leaf: SelectorOutline.Leaf, _ rule: CheckedRule) -> RuleWarning {
        rule.warning(
            at: leaf.position, .mixedTypes,
            "$ne compares with the list as a whole, so it also holds for each value in the list; "
                + "write $nin to exclude these values"
        )
    }

    /// A string that spells a number, in an order comparison: strings are compared character by character. Digits of
    /// dates and times are fine as strings: `$gte: "2026"`, `$lt: "20261101"`.
    private static func numberAsText(_ text: String, _ leaf: SelectorOutline.Leaf) -> String? {
        guard !isCompactTime(text.trimmed), (try? JSONText(Array(text.trimmed.utf8)).root.kind) == .number else {
            return nil
        }
        return "\(leaf.operatorName) with the string \(DisplayText.json(leaf.argument.jsonText.root)) compares "
            + "strings, character by character, and a number is less than any string; without quotes it is the "
            + "number \(text.trimmed)"
    }

    /// A year, optionally followed by month, day, hour and minute, and seconds, without separators.
    private static func isCompactTime(_ text: Substring) -> Bool {
        [4, 6, 8, 12, 14].contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func unknownType(_ name: String) -> String {
        let other = [
            "int": "number", "integer": "number", "float": "number", "double": "number", "bool": "boolean",
            "list": "array", "map": "object", "dict": "object", "text": "string", "str": "string", "date": "string",
        ][name.lowercased()]
        let guess = (other ?? NearestName.of(name.lowercased(), among: types)).map { ": did you mean '\($0)'?" } ?? ";"
        return "no value is of type '\(DisplayText.plain(name))'\(guess) Types: \(types.joined(separator: ", "))"
    }

    /// `complete: no`, which was `false` in YAML 1.1.
    private static func yaml11Boolean(_ node: SourceNode, _ rule: CheckedRule) -> [RuleWarning] {
        yaml11Boolean(node).map { [rule.warning(at: node.position, .mixedTypes, $0)] } ?? []
    }

    /// The message for a value that is a boolean only in YAML 1.1.
    static func yaml11Boolean(_ node: SourceNode) -> String? {
        guard case .string(let text) = node.content, node.isPlain,
            let meaning = ["yes": "true", "on": "true", "no": "false", "off": "false"][text.lowercased()]
        else { return nil }
        return "\(text) is a string here; write \(meaning) for the boolean, or put the string in quotes"
    }

    private static func whiteSpace(_ node: SourceNode, _ rule: CheckedRule) -> [RuleWarning] {
        guard case .string(let text) = node.content, !text.trimmed.isEmpty,
            text.trimmed.utf8.count < text.utf8.count
        else { return [] }
        let shown = DisplayText.json(node.jsonText.root)
        let trimmed = DisplayText.plain(String(text.trimmed))
        return [
            rule.warning(
                at: node.position, .whiteSpace,
                "white space around a string is significant: \(shown) is not \"\(trimmed)\"; remove it")
        ]
    }

    /// The maximum number of values of a list that are compared by collation, not only by spelling.
    private static let comparedLimit = 1_000

    /// Values that equal an earlier one.
    private static func duplicates(_ values: [SourceNode], _ rule: CheckedRule) -> [RuleWarning] {
        var spellings: Set<[UInt8]> = []
        var seen: [JSONValue] = []
        return values.compactMap { node in
            let value = node.jsonText.root
            let isNew = spellings.insert(Array(value.bytes)).inserted
            if isNew, !seen.contains(where: { JSONCollation.areEqual($0, value) }) {
                if seen.count < comparedLimit { seen.append(value) }
                return nil
            }
            return rule.warning(
                at: node.position, .duplicateValue,
                "\(DisplayText.json(value)) appears twice in the list; remove one of the two")
        }
    }
}
