/// The changes of one selector of a rule.
struct SelectorMutations {
    private(set) var all: [Mutation] = []
    private let rule: SourceNode
    private let key: String
    private let points: Range<Int>
    private let covered: [CoveragePoint]
    /// The number of conditions visited.
    private var count = 0

    /// - Parameters:
    ///   - key: `when` or `unless`.
    ///   - points: The indexes of its conditions in `covered`.
    init(_ rule: SourceNode, _ key: String, _ points: Range<Int>, _ covered: [CoveragePoint]) {
        (self.rule, self.key, self.points, self.covered) = (rule, key, points, covered)
        if case .object(let members)? = rule.member(key)?.content { visit(members, at: [.member(key)]) }
    }

    // MARK: - Conditions, in the order of `SelectorConditions`

    private mutating func visit(_ members: [SourceNode.Member], at path: [SourceStep]) {
        for member in members { visit(member, at: path + [.member(member.name)]) }
    }

    private mutating func visit(_ member: SourceNode.Member, at path: [SourceStep]) {
        switch member.name {
        case "$and", "$or", "$nor":
            guard case .list(let elements) = member.value.content else { return }
            for (index, element) in elements.enumerated() { visit(element, at: path + [.element(index)]) }
        case "$not", "$elemMatch", "$allMatch", "$keyMapMatch": visit(member.value, at: path)
        case let name where name.hasPrefix("$"): addAll(name, member.value, at: path)
        default: visit(member.value, at: path)
        }
    }

    private mutating func visit(_ node: SourceNode, at path: [SourceStep]) {
        if case .object(let members) = node.content, !members.isEmpty {
            visit(members, at: path)
        } else {
            addAll(nil, node, at: path)
        }
    }

    // MARK: - Changes

    /// - Parameter name: The operator. Nil if it is omitted: `$eq`.
    private mutating func addAll(_ name: String?, _ argument: SourceNode, at path: [SourceStep]) {
        defer { count += 1 }
        guard points.lowerBound + count < points.upperBound else { return }
        addRemoval(at: path)
        guard let name else {
            let negated = SourceNode(argument, inOperator: "$ne")
            return add("", " negated", rule.replacing(path[...], with: negated))
        }
        addNegation(name, argument, at: path)
        for (changed, text) in Self.changes(of: name, argument) {
            add("", " " + text, rule.replacing(path[...], with: [changed]))
        }
    }

    private mutating func addRemoval(at path: [SourceStep]) {
        // Without a false result, nothing changes.
        let outcomes = covered[points.lowerBound + count].outcomes
        guard outcomes.allSatisfy(\.isPossible) else { return }
        let selector = rule.member(key)?.removing(path.dropFirst(), prunes: true)
        if let selector { return add("without ", "", rule.replacing([.member(key)], with: selector)) }
        guard key == "when" else { return add("without ", "", rule.removing([.member(key)], prunes: false) ?? rule) }
        let empty = SourceNode(content: .object([]), position: rule.position)
        add("without ", "", rule.replacing([.member(key)], with: empty))
    }

    private mutating func addNegation(_ name: String, _ argument: SourceNode, at path: [SourceStep]) {
        let siblings = rule[path.dropLast()]
        var negated: (name: String, value: SourceNode) = ("$not", SourceNode(argument, inOperator: name))
        if case .bool(let value) = argument.content, name == "$exists" {
            negated = (name, SourceNode(content: .bool(!value), position: argument.position))
        } else if let opposite = Self.opposites[name], siblings?.member(opposite) == nil {
            negated = (opposite, argument)
        }
        guard negated.name == name || siblings?.member(negated.name) == nil else { return }
        add("", " negated", rule.replacing(path[...], with: [negated]))
    }

    /// - Parameters:
    ///   - start: What the change's text has before the condition.
    ///   - end: What it has after the condition.
    private mutating func add(_ start: String, _ end: String, _ source: SourceNode) {
        let point = covered[points.lowerBound + count]
        all.append(
            Mutation(
                position: point.position, change: "\(start)`\(point.text)`\(end)", source: source,
                point: points.lowerBound + count, condition: (point.text, isException: key == "unless")))
    }

    private static let opposites = [
        "$eq": "$ne", "$ne": "$eq", "$in": "$nin", "$nin": "$in", "$lt": "$gte", "$gte": "$lt", "$gt": "$lte",
        "$lte": "$gt",
    ]

    /// The bound that differs only for the limit itself.
    private static let neighbours = ["$lt": "$lte", "$lte": "$lt", "$gt": "$gte", "$gte": "$gt"]

    private typealias Change = (member: (name: String, value: SourceNode), text: String)

    /// Changes that keep the kind of condition.
    private static func changes(of name: String, _ argument: SourceNode) -> [Change] {
        switch (name, argument.content) {
        case ("$lt", .number(let text)), ("$lte", .number(let text)), ("$gt", .number(let text)),
            ("$gte", .number(let text)), ("$size", .number(let text)):
            guard let number = Int(text), number < Int.max, number > Int.min else {
                return neighbour(of: name, argument)
            }
            return [number - 1, number + 1].map { number in
                let value = SourceNode(content: .number(String(number)), position: argument.position)
                return ((name, value), "with \(number)")
            }
        case ("$lt", _), ("$lte", _), ("$gt", _), ("$gte", _): return neighbour(of: name, argument)
        case ("$in", .list(let elements)), ("$nin", .list(let elements)), ("$all", .list(let elements)):
            guard elements.count > 1 else { return [] }
            return elements.indices.map { index in
                let left = elements[..<index] + elements[(index + 1)...]
                let value = SourceNode(content: .list(Array(left)), position: argument.position)
                return ((name, value), "without \(FlowText.text(elements[index]))")
            }
        case ("$regex", .string(let pattern)): return patterns(pattern, name, argument)
        case ("$beginsWith", .string(let prefix)) where prefix.count > 1:
            let value = SourceNode(content: .string(String(prefix.dropLast())), position: argument.position)
            return [((name, value), "with \(FlowText.text(value))")]
        default: return []
        }
    }

    private static func neighbour(of name: String, _ argument: SourceNode) -> [Change] {
        neighbours[name].map { [(($0, argument), "with \($0)")] } ?? []
    }

    /// Without `(?i)`, `^`, `$` or one of several alternatives.
    private static func patterns(_ pattern: String, _ name: String, _ argument: SourceNode) -> [Change] {
        var changed: [(String, String)] = []
        var body = pattern[...]
        var flags = ""
        if let match = pattern.prefixMatch(of: /\(\?[a-z]+\)/) {
            flags = String(match.0)
            body = pattern[match.0.endIndex...]
            if flags == "(?i)" { changed.append((String(body), flags)) }
        }
        if body.hasPrefix("^") { changed.append((flags + body.dropFirst(), "^")) }
        if body.hasSuffix("$"), !body.hasSuffix("\\$") { changed.append((flags + body.dropLast(), "$")) }
        changed += PatternAlternatives(pattern).shorter.map { pattern, alternative in
            (pattern, alternative.isEmpty ? "the empty alternative" : DisplayText.plain(alternative))
        }
        return changed.map { pattern, part in
            ((name, SourceNode(content: .string(pattern), position: argument.position)), "without \(part)")
        }
    }
}

extension SourceNode {
    /// An object with an operator: `{ $ne: 1 }`.
    fileprivate init(_ argument: SourceNode, inOperator name: String) {
        let member = Member(name: name, position: argument.position, value: argument)
        self.init(content: .object([member]), position: argument.position)
    }
}
