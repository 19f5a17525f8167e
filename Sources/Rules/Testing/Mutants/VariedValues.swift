internal import LosslessJSON

/// Variants of documents near the limits of the conditions of rules.
struct VariedValues {
    /// The maximum number of values for one member that come from other tests.
    private static let foreignLimit = 8

    /// The values that the members have in the tests' documents, in their order.
    private var foreign: [(name: String, value: SourceNode)] = []

    init(_ documents: [JSONText]) {
        var seen: [String: Set<[UInt8]>] = [:]
        for document in documents {
            guard case .object(let members)? = document.node?.content else { continue }
            for member in members where member.name != "_id" && member.name != "_rev" {
                guard seen[member.name, default: []].count < Self.foreignLimit,
                    seen[member.name, default: []].insert(member.value.json).inserted
                else { continue }
                foreign.append((member.name, member.value))
            }
        }
    }

    /// The variants with one change, then those with two, at most `limit`.
    func variants(of document: SourceNode, for rules: [Rule], limit: Int) -> [SourceNode] {
        let paths = rules.flatMap { rule in
            Self.conditions(rule.when) + (rule.unless.map(Self.conditions) ?? [])
        }
        var edits: [(SourceNode) -> SourceNode?] = []
        for (path, condition) in paths {
            let names = path.steps.map { String(decoding: $0.name, as: UTF8.self) }
            let present = document[names.map(SourceStep.member)]
            edits.append { $0.removing(names.map(SourceStep.member)[...], prunes: false) }
            // Real values first: they make better tests.
            for (name, value) in foreign where name == names[0] { edits.append { $0.setting([name], to: value) } }
            for value in condition.examples(near: present) { edits.append { $0.setting(names[...], to: value) } }
        }
        for member in rules.flatMap({ $0.edges?.changed ?? [] }) {
            let names = member.path.steps.map { String(decoding: $0.name, as: UTF8.self) }
            for value in [SourceNode.example(.string("x")), .example(.number("7"))] {
                edits.append { $0.setting(names[...], to: value) }
            }
        }
        let ownCount = edits.count
        for (name, value) in foreign { edits.append { $0.setting([name], to: value) } }
        if case .object(let members) = document.content {
            for member in members where member.name != "_id" {
                edits.append { $0.removing([.member(member.name)], prunes: false) }
                for value in Self.neighbours(of: member.value) { edits.append { $0.setting([member.name], to: value) } }
            }
        }
        return Self.apply(edits, ownCount, to: document, limit: limit)
    }

    private static func apply(
        _ edits: [(SourceNode) -> SourceNode?], _ ownCount: Int, to document: SourceNode, limit: Int
    ) -> [SourceNode] {
        var seen: Set<[UInt8]> = [document.json]
        var variants: [SourceNode] = []
        func add(_ variant: SourceNode?) {
            if let variant, variants.count < limit, seen.insert(variant.json).inserted { variants.append(variant) }
        }
        for edit in edits { add(edit(document)) }
        for first in edits.prefix(ownCount) {
            guard variants.count < limit, let changed = first(document) else { continue }
            for second in edits.prefix(ownCount) { add(second(changed)) }
        }
        return variants
    }

    /// The document with values for which the conditions of `when` hold, as far as they are found.
    static func matching(_ document: SourceNode, _ rule: Rule) -> SourceNode {
        let scratch = MatchScratch()
        return rule.when.conjuncts.reduce(document) { document, clause in
            let holds = { (document: SourceNode) in
                (try? clause.matches(document.jsonText.root, scratch)) == true
            }
            if holds(document) { return document }
            for (path, condition) in conditions(clause) {
                let names = path.steps.map { String(decoding: $0.name, as: UTF8.self) }
                for value in condition.examples(near: nil) {
                    if let changed = document.setting(names[...], to: value), holds(changed) { return changed }
                }
            }
            return document
        }
    }

    /// The conditions on members of the document, at any depth.
    private static func conditions(_ selector: Selector) -> [(FieldPath, Condition)] {
        switch selector {
        case .all(let selectors), .any(let selectors), .none(let selectors): selectors.flatMap(conditions)
        case .not(let selector): conditions(selector)
        case .field(let path, let condition): [(path, condition)]
        case .value: []
        }
    }

    /// Other values of the same type.
    static func neighbours(of value: SourceNode) -> [SourceNode] {
        switch value.content {
        case .string(let text):
            return [
                text + "x", "x" + text, " " + text, text.uppercased(), text.lowercased(), text + " x", "x " + text, "",
                text + "\n", text + ".", "." + text,
            ].map { .example(.string($0)) }
        case .number(let text):
            guard let number = Int(text), number < Int.max, number > Int.min else { return [] }
            return [number + 1, number - 1, 0].map { .example(.number(String($0))) }
        case .bool(let value): return [.example(.bool(!value)), .example(.null)]
        case .list(let elements):
            return [.example(.list([]))] + elements.indices.map { .example(.list([elements[$0]])) }
        case .null, .object: return []
        }
    }
}

extension SourceNode {
    fileprivate static func example(_ content: Content) -> SourceNode { SourceNode(content: content, position: .start) }
}

extension Condition {
    /// Values for which it holds or nearly holds.
    ///
    /// - Parameter present: The document's value. Nil if it has none.
    fileprivate func examples(near present: SourceNode?) -> [SourceNode] {
        let others: [SourceNode] = [.example(.null), .example(.string("x")), .example(.number("7"))]
        let varied = present.map(VariedValues.neighbours) ?? []
        switch self {
        case .compare(_, let literal): return Self.around(literal) + others + varied
        case .isIn(let literals), .isNotIn(let literals): return literals.compactMap(\.node) + others + varied
        case .all(let literals):
            let nodes = literals.compactMap(\.node)
            let lists = nodes.indices.map { index in
                SourceNode.example(.list(Array(nodes[..<index] + nodes[(index + 1)...])))
            }
            return [.example(.list(nodes))] + lists + others
        case .exists: return varied + others
        case .regex(let expression):
            let examples = PatternAlternatives(expression.pattern).examples.map { SourceNode.example(.string($0)) }
            return examples + varied + others
        case .type: return others + [.example(.bool(true)), .example(.list([])), .example(.object([]))] + varied
        case .size(let size):
            return [size - 1, size, size + 1].filter { $0 >= 0 && $0 < 100 }.map { count in
                .example(.list((0..<count).map { .example(.number(String($0))) }))
            }
        case .modulus(let modulus):
            return [modulus.remainder, modulus.remainder &+ 1, modulus.divisor].map { .example(.number(String($0))) }
        case .beginsWith(let prefix):
            let text = String(decoding: prefix, as: UTF8.self)
            return [text, text + "x", "x" + text, String(text.dropLast())].map { .example(.string($0)) } + others
        case .anyElement(let selector), .allElements(let selector):
            let inner = selector.valueConditions.flatMap { $0.examples(near: nil) }
            return inner.map { .example(.list([$0])) } + [.example(.list([]))] + others
        case .anyKey: return varied + others
        case .not(let condition): return condition.examples(near: present)
        }
    }

    private static func around(_ literal: Literal) -> [SourceNode] {
        guard let node = literal.node else { return [] }
        return [node] + VariedValues.neighbours(of: node)
    }
}

extension Literal {
    fileprivate var node: SourceNode? { JSONSource.read(Array(value.bytes), errors: SourceErrors(path: "")) }
}

extension Selector {
    /// The conditions on an element itself.
    fileprivate var valueConditions: [Condition] {
        switch self {
        case .all(let selectors), .any(let selectors), .none(let selectors): selectors.flatMap(\.valueConditions)
        case .not(let selector): selector.valueConditions
        case .value(let condition): [condition]
        case .field: []
        }
    }
}
