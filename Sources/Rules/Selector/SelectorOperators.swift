internal import LosslessJSON

/// Mango's condition operators and what each takes as its argument.
enum SelectorOperators {
    private static let known = [
        "$and", "$or", "$not", "$nor", "$all", "$elemMatch", "$allMatch", "$keyMapMatch", "$lt", "$lte", "$eq", "$ne",
        "$gte", "$gt", "$exists", "$type", "$in", "$nin", "$size", "$mod", "$regex", "$beginsWith",
    ]
    /// Answered by an index, not by looking at a document.
    private static let indexOnly: Set<String> = [
        "$text", "$default", "$where", "$geoWithin", "$geoIntersects", "$near", "$nearSphere",
    ]

    /// Nil, with a fault, if the operator or its argument is not one.
    static func condition(_ member: SourceNode.Member, _ faults: SourceFaults) -> Condition? {
        if let comparison = comparison(member.name) { return .compare(comparison, Literal(member.value)) }
        let (condition, expected) = self.condition(member.name, member.value)
        if let condition { return condition }
        if let expected {
            reportArgument(of: member, expected, faults)
        } else if member.name == "$regex", case .string(let pattern) = member.value.content {
            return regex(pattern, at: member.value.position, faults)
        } else if indexOnly.contains(member.name) {
            faults.report(
                at: member.position,
                "\(member.name) needs an index of the database and can't be asked of one document; use other operators")
        } else {
            reportUnknown(member, faults)
        }
        return nil
    }

    static func reportArgument(of member: SourceNode.Member, _ expected: String, _ faults: SourceFaults) {
        faults.report(
            at: member.value.position,
            "\(member.name) takes \(expected), not \(kindName(member.value)); \(remedy(for: member.value))")
    }

    /// `no` is a text: rule files are read as YAML 1.2.
    private static func remedy(for value: SourceNode) -> String {
        switch value.text?.lowercased() {
        case let word? where ["no", "off", "n"].contains(word): "'\(word)' is text in YAML 1.2: write false"
        case let word? where ["yes", "on", "y"].contains(word): "'\(word)' is text in YAML 1.2: write true"
        case let word? where ["true", "false"].contains(word): "write \(word), in small letters and without quotes"
        default: "replace it"
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

    /// The condition, or else what the operator expects; neither if it is not one of these.
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
        case ("$size", _): (integer(argument).flatMap { $0 < 0 ? nil : .size($0) }, "a whole number from 0 up")
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

    private static func regex(_ pattern: String, at position: SourcePosition, _ faults: SourceFaults) -> Condition? {
        do throws(RegularExpression.Fault) {
            return .regex(try RegularExpression(pattern))
        } catch {
            faults.report(
                at: position,
                "'\(pattern)' is not a regular expression: \(error.message) (behind its byte \(error.offset)); "
                    + "correct it")
            return nil
        }
    }

    private static func reportUnknown(_ member: SourceNode.Member, _ faults: SourceFaults) {
        let guess = NearestName.of(member.name, among: known).map { ": did you mean '\($0)'?" } ?? ";"
        faults.report(
            at: member.position,
            "'\(member.name)' is not an operator\(guess) write '\\\(member.name)' for a field of that name. "
                + "Operators: \(known.joined(separator: " "))")
    }

    private static func kindName(_ node: SourceNode) -> String {
        switch node.content {
        case .number(let text): text
        case .list(let elements): "a list of \(elements.count)"
        default: node.kindName
        }
    }
}
