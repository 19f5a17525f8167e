internal import LosslessJSON

/// Finds names and values in selectors that look like mistakes.
enum LiteralCheck {
    /// A probable mistake in a selector.
    typealias Finding = (position: SourcePosition, code: RuleWarning.Code, message: String)

    static let types = ["null", "boolean", "number", "string", "array", "object"]

    /// - Parameter node: A selector without errors.
    static func findings(_ node: SourceNode) -> [Finding] {
        let odd = oddTexts(in: node)
        let places = Set(odd.map(\.position))
        let others = FieldNameCheck.findings(node) + SelectorOutline(node).leaves.flatMap(leaf)
        return odd + others.filter { !places.contains($0.position) }
    }

    /// Names and strings with characters that can't be seen, and names in typographic quotes.
    private static func oddTexts(in node: SourceNode) -> [Finding] {
        switch node.content {
        case .string(let text):
            return invisible(text, isPlain: node.isPlain).map { [(node.position, .whiteSpace, $0)] } ?? []
        case .list(let elements): return elements.flatMap(oddTexts)
        case .object(let members):
            return members.flatMap { member -> [Finding] in
                let own: Finding? =
                    if let message = invisible(member.name, isPlain: member.isPlain) {
                        (member.position, .whiteSpace, message)
                    } else {
                        typographicQuotes(member.name, isPlain: member.isPlain).map { (member.position, .quotes, $0) }
                    }
                return [own].compactMap(\.self) + oddTexts(in: member.value)
            }
        case .null, .bool, .number: return []
        }
    }

    // MARK: - Values

    private static func leaf(_ leaf: SelectorOutline.Leaf) -> [Finding] {
        if let program = programObject(leaf.argument) { return [program] }
        if ["$lt", "$lte", "$gt", "$gte"].contains(leaf.operatorName) {
            let programs = forgottenProgram(leaf.argument)
            guard programs.isEmpty else { return programs }
        }
        switch (leaf.operatorName, leaf.argument.content) {
        case ("$type", .string(let name)) where !types.contains(name):
            return [(leaf.argument.position, .unknownType, unknownType(name))]
        case ("$eq", .string(let value)), ("$ne", .string(let value)):
            if let message = ComparisonText.message(value) {
                return [(leaf.argument.position, .notAnOperator, message)]
            }
            return text(leaf.argument)
        case ("$ne", .list(let values)) where !values.isEmpty: return [listAsValue(leaf)]
        case ("$in", .list(let values)), ("$nin", .list(let values)), ("$all", .list(let values)):
            return duplicates(values) + values.flatMap(text)
        case ("$lt", .string(let text)), ("$lte", .string(let text)), ("$gt", .string(let text)),
            ("$gte", .string(let text)):
            return orderWithString(text, leaf)
        case ("$gt", .number), ("$gte", .number): return orderWithNumber(leaf)
        case ("$regex", .string(let pattern)):
            return PatternCheck.messages(pattern).map { (leaf.argument.position, .regex, $0) }
        default: return []
        }
    }

    private static func orderWithString(_ text: String, _ leaf: SelectorOutline.Leaf) -> [Finding] {
        if let message = numberAsText(text, leaf) ?? ComparisonText.timeMessage(text) {
            return [(leaf.position, .mixedTypes, message)]
        }
        guard leaf.operatorName.hasPrefix("$l"),
            leaf.siblings.allSatisfy({ ["$lt", "$lte", "$ne", "$exists"].contains($0) })
        else { return [] }
        return [
            (
                leaf.position, .mixedTypes,
                "\(leaf.operatorName) with a string also holds for null, booleans and numbers, which are less "
                    + "than any string; add a lower bound, $gte: \"\""
            )
        ]
    }

    private static func orderWithNumber(_ leaf: SelectorOutline.Leaf) -> [Finding] {
        let others = ["$lt", "$lte", "$type", "$mod", "$in", "$eq"]
        guard !leaf.siblings.contains(where: others.contains) else { return [] }
        return [
            (
                leaf.position, .mixedTypes,
                "\(leaf.operatorName) with a number also holds for strings, lists and objects, which are greater "
                    + "than any number; add $type: number"
            )
        ]
    }

    /// `$lt: { jq: $now }`: an object as the argument, which is compared as it is.
    private static func programObject(_ node: SourceNode) -> Finding? {
        switch node.content {
        case .object(let members) where members.count == 1 && members[0].name == "jq":
            return (
                node.position, .notAProgram,
                "selectors can't compute values, so this compares with the object { jq: … } itself; compare in a "
                    + "program: if: .field == .other"
            )
        case .list(let elements): return elements.lazy.compactMap(programObject).first
        default: return nil
        }
    }

    private static func text(_ node: SourceNode) -> [Finding] {
        if let message = typographicQuotes(node) { return [(node.position, .quotes, message)] }
        if let message = operatorAsText(node) { return [(node.position, .notAnOperator, message)] }
        return oldBoolean(node) + whiteSpace(node) + forgottenProgram(node)
    }

    private static func forgottenProgram(_ node: SourceNode) -> [Finding] {
        guard let message = node.text.flatMap(ForgottenProgram.messageInSelector) else { return [] }
        return [(node.position, .notAProgram, message)]
    }

    /// `task: '$regex:^a'`, in quotes or not.
    private static func operatorAsText(_ node: SourceNode) -> String? {
        guard case .string(let text) = node.content, text.hasPrefix("$"),
            let match = text.wholeMatch(of: /(\$[A-Za-z]+)\s*[: ]\s*(.+)/),
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

    private static func listAsValue(_ leaf: SelectorOutline.Leaf) -> Finding {
        (
            leaf.position, .mixedTypes,
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
        let advice = NearestName.advice(
            other ?? NearestName.of(name.lowercased(), among: types), among: types, as: "types")
        return "no value is of type '\(DisplayText.plain(name))'\(advice)"
    }

    /// `complete: no`, which was `false` in YAML 1.1.
    private static func oldBoolean(_ node: SourceNode) -> [Finding] {
        yaml11Boolean(node).map { [(node.position, .mixedTypes, $0)] } ?? []
    }

    /// The message for a value that is a boolean only in YAML 1.1.
    static func yaml11Boolean(_ node: SourceNode) -> String? {
        guard case .string(let text) = node.content, node.isPlain,
            let meaning = ["yes": "true", "on": "true", "no": "false", "off": "false"][text.lowercased()]
        else { return nil }
        return "\(text) is a string here; write \(meaning) for the boolean, or put the string in quotes"
    }

    /// `type: “task”`, copied from a word processor or a page.
    static func typographicQuotes(_ node: SourceNode) -> String? {
        node.text.flatMap { typographicQuotes($0, isPlain: node.isPlain) }
    }

    private static func typographicQuotes(_ text: String, isPlain: Bool) -> String? {
        let text = text.trimmed
        guard isPlain, let first = text.first, let last = text.last,
            text.count > 1, "“”„‘’‚«»".contains(first), "“”‘’«»".contains(last)
        else { return nil }
        return "the quotes in \(DisplayText.plain(String(text))) are part of the string; write straight quotes, "
            + "\"\(DisplayText.plain(String(text.dropFirst().dropLast())))\", or none"
    }

    /// A name or string with a character that can't be seen, copied from a page or a word processor.
    static func invisible(_ text: String, isPlain: Bool) -> String? {
        guard isPlain, let odd = text.unicodeScalars.first(where: OddCharacter.isInvisible) else { return nil }
        return "'\(DisplayText.plain(text))' contains \(OddCharacter.name(of: odd)); remove it, or put the text in "
            + "quotes if it belongs there"
    }

    private static func whiteSpace(_ node: SourceNode) -> [Finding] {
        guard case .string(let text) = node.content, !text.trimmed.isEmpty,
            text.trimmed.utf8.count < text.utf8.count
        else { return [] }
        let shown = DisplayText.json(node.jsonText.root)
        let trimmed = DisplayText.plain(String(text.trimmed))
        return [
            (
                node.position, .whiteSpace,
                "white space around a string is significant: \(shown) is not \"\(trimmed)\"; remove it"
            )
        ]
    }

    /// The maximum number of values of a list that are compared by collation, not only by spelling.
    private static let comparedLimit = 1_000

    /// Values that equal an earlier one.
    private static func duplicates(_ values: [SourceNode]) -> [Finding] {
        var spellings: Set<[UInt8]> = []
        var seen: [JSONValue] = []
        return values.compactMap { node in
            let value = node.jsonText.root
            let isNew = spellings.insert(Array(value.bytes)).inserted
            if isNew, !seen.contains(where: { JSONCollation.areEqual($0, value) }) {
                if seen.count < comparedLimit { seen.append(value) }
                return nil
            }
            return (
                node.position, .duplicateValue,
                "\(DisplayText.json(value)) appears twice in the list; remove one of the two"
            )
        }
    }
}
