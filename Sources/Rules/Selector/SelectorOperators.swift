internal import LosslessJSON

/// Mango's condition operators and their arguments.
enum SelectorOperators {
    static let known = [
        "$and", "$or", "$not", "$nor", "$all", "$elemMatch", "$allMatch", "$keyMapMatch", "$lt", "$lte", "$eq", "$ne",
        "$gte", "$gt", "$exists", "$type", "$in", "$nin", "$size", "$mod", "$regex", "$beginsWith",
    ]
    /// Operators that need an index and can't be evaluated on a single document.
    private static let indexOnly: Set<String> = [
        "$text", "$default", "$geoWithin", "$geoIntersects", "$near", "$nearSphere",
    ]
    /// Operator names in other query languages.
    private static let synonyms = [
        "$not_in": "$nin", "$notin": "$nin", "$neq": "$ne", "$not_eq": "$ne", "$noteq": "$ne", "$equals": "$eq",
        "$is": "$eq", "$lessthan": "$lt", "$greaterthan": "$gt", "$ge": "$gte", "$le": "$lte", "$min": "$gte",
        "$max": "$lte", "$length": "$size", "$count": "$size", "$len": "$size", "$any": "$elemMatch",
        "$some": "$elemMatch", "$every": "$allMatch", "$startswith": "$beginsWith", "$starts_with": "$beginsWith",
        "$prefix": "$beginsWith", "$matches": "$regex", "$match": "$regex", "$re": "$regex", "$pattern": "$regex",
        "$has": "$exists", "$present": "$exists", "$defined": "$exists", "$typeof": "$type",
    ]
    /// Alternatives for operators without an equivalent.
    private static let replacements = [
        "$options": "write the flags into the pattern: { $regex: '(?i)^a' }",
        "$like": "write a regular expression: { $regex: '(?i)part' }",
        "$ilike": "write a regular expression: { $regex: '(?i)part' }",
        "$contains": "write { $regex: part } for a substring, { $elemMatch: { $eq: value } } for a list",
        "$includes": "write { $regex: part } for a substring, { $elemMatch: { $eq: value } } for a list",
        "$endswith": "write a regular expression: { $regex: 'end$' }",
        "$ends_with": "write a regular expression: { $regex: 'end$' }",
        "$between": "write { $gte: lowest, $lte: highest }", "$range": "write { $gte: lowest, $lte: highest }",
        "$expr": "write the condition as a jq program: if: .a == .b",
        "$where": "write the condition as a jq program: if: .a == .b",
        "$isnull": "write $eq: null, or $exists: false for a missing field",
        "$null": "write $eq: null, or $exists: false for a missing field",
        "$isempty": "write $eq: '' for a string, $size: 0 for a list",
        "$empty": "write $eq: '' for a string, $size: 0 for a list",
        "$xor": "write { $or: […], $nor: […] }",
    ]

    /// Nil, with an error, if the operator is unknown or its argument is wrong.
    static func condition(_ member: SourceNode.Member, _ errors: SourceErrors) -> Condition? {
        if let comparison = comparison(member.name) { return .compare(comparison, Literal(member.value)) }
        let (condition, expected) = self.condition(member.name, member.value)
        if let condition { return condition }
        if let expected {
            reportArgument(of: member, expected, errors)
        } else if member.name == "$regex", case .string(let pattern) = member.value.content {
            return regex(pattern, at: member.value.position, errors)
        } else if indexOnly.contains(member.name) {
            errors.report(
                at: member.position,
                "\(member.name) needs a database index and can't be evaluated on a single document; use other "
                    + "operators")
        } else {
            reportUnknown(member, errors)
        }
        return nil
    }

    static func reportArgument(of member: SourceNode.Member, _ expected: String, _ errors: SourceErrors) {
        errors.report(
            at: member.value.position,
            "\(member.name) takes \(expected), not \(kindName(member.value)); \(remedy(for: member, expected))")
    }

    private static func remedy(for member: SourceNode.Member, _ expected: String) -> String {
        let value = member.value
        if let remedy = value.missingSpaceRemedy { return remedy }
        switch (member.name, value.content) {
        case ("$exists", _): return booleanRemedy(value)
        case ("$in", _), ("$nin", _), ("$all", _):
            return "put the values in brackets: \(member.name): [\(value.text.map { DisplayText.plain($0) } ?? "…")]"
        case ("$and", _), ("$or", _), ("$nor", _): return "put the selectors in brackets: \(member.name): [{…}, {…}]"
        case ("$type", .list): return "combine several types with $or"
        case ("$not", .list): return "write $nin for values, $nor for selectors"
        case ("$not", _): return "write $ne for a value"
        case ("$size", .string(let text)) where Int(text) != nil: return "write \(text), without quotes"
        case ("$mod", _): return "write $mod: [10, 0] for multiples of 10"
        case ("$elemMatch", .list), ("$allMatch", .list): return "write \(member.name): { $in: […] }"
        case ("$elemMatch", _), ("$allMatch", _), ("$keyMapMatch", _): return "write \(member.name): { $eq: value }"
        case ("$regex", _), ("$beginsWith", _): return "put it in quotes"
        default: return "write \(expected)"
        }
    }

    /// The remedy for words such as `no`, which are strings in YAML 1.2.
    private static func booleanRemedy(_ value: SourceNode) -> String {
        switch value.text?.lowercased() {
        case let word? where ["no", "off", "n"].contains(word): "'\(word)' is text in YAML 1.2: write false"
        case let word? where ["yes", "on", "y"].contains(word): "'\(word)' is text in YAML 1.2: write true"
        case let word? where ["true", "false"].contains(word): "write \(word), in lower case and without quotes"
        default:
            switch value.content {
            case .number("0"): "write false"
            case .number("1"): "write true"
            default: "write one of them"
            }
        }
    }

    private static func comparison(_ name: String) -> Condition.Comparison? {
        switch name {
        case "$lt": .less
        case "$lte": .lessOrEqual
        case "$eq": .equal
        case "$ne": .notEqual
        case "$gte": .greaterOrEqual
        case "$gt": .greater
        default: nil
        }
    }

    /// The condition, or what the operator expects. Neither for other operators.
    private static func condition(_ name: String, _ argument: SourceNode) -> (Condition?, expected: String?) {
        switch (name, argument.content) {
        case ("$in", .list(let values)): (.isIn(values.map(Literal.init)), nil)
        case ("$nin", .list(let values)): (.isNotIn(values.map(Literal.init)), nil)
        case ("$all", .list(let values)): (.all(values.map(Literal.init)), nil)
        case ("$in", _), ("$nin", _), ("$all", _): (nil, "a list of values")
        case ("$exists", .bool(let value)): (.exists(value), nil)
        case ("$exists", _): (nil, "true or false")
        case ("$type", .string(let name)): (.type(name), nil)
        case ("$type", _): (nil, "one of null, boolean, number, string, array, object")
        case ("$size", _): (integer(argument).flatMap { $0 < 0 ? nil : .size($0) }, "a whole number of at least 0")
        case ("$mod", _): (modulus(argument), "a list of two whole numbers: divisor and remainder")
        case ("$beginsWith", .string(let prefix)): (.beginsWith(Array(prefix.utf8)), nil)
        case ("$beginsWith", _): (nil, "text")
        case ("$regex", .string): (nil, nil)
        case ("$regex", _): (nil, "a regular expression as text")
        default: (nil, nil)
        }
    }

    private static func modulus(_ argument: SourceNode) -> Condition? {
        guard case .list(let elements) = argument.content, elements.count == 2, let divisor = integer(elements[0]),
            let remainder = integer(elements[1])
        else { return nil }
        return .modulus(Modulus(divisor: divisor, remainder: remainder))
    }

    private static func integer(_ node: SourceNode) -> Int? {
        guard case .number(let text) = node.content else { return nil }
        return Int(text)
    }

    private static func regex(_ pattern: String, at position: SourcePosition, _ errors: SourceErrors) -> Condition? {
        do throws(RegularExpression.CompileError) {
            return .regex(try RegularExpression(pattern))
        } catch {
            errors.report(
                at: position,
                "'\(pattern)' is not a regular expression: \(error.message) (after byte \(error.offset)); correct it")
            return nil
        }
    }

    private static func reportUnknown(_ member: SourceNode.Member, _ errors: SourceErrors) {
        let name = member.name.lowercased()
        if let replacement = replacements[name] {
            return errors.report(at: member.position, "'\(member.name)' is not an operator here; \(replacement)")
        }
        if let match = member.name.prefixMatch(of: /(\$[A-Za-z]+)(?::| +:?) *(.+)/), known.contains(String(match.1)) {
            return errors.report(
                at: member.position,
                "'\(DisplayText.plain(member.name))' is read as one name; write a colon and a space after the operator: "
                    + "\(match.1): \(DisplayText.plain(String(match.2)))")
        }
        let meant =
            synonyms[name] ?? known.first { $0.lowercased() == name } ?? NearestName.of(member.name, among: known)
        let guess = meant.map { ": did you mean '\($0)'?" } ?? "."
        errors.report(
            at: member.position,
            "'\(member.name)' is not an operator\(guess) Operators: \(known.joined(separator: " ")). "
                + "For a field of that name write '\\\(member.name)'")
    }

    private static func kindName(_ node: SourceNode) -> String {
        switch node.content {
        case .number(let text): text
        case .list(let elements): "a list of \(elements.count)"
        default: node.kindName
        }
    }
}
