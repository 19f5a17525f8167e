internal import LosslessJSON

/// A condition on one value.
indirect enum Condition: Sendable {
    enum Comparison: Sendable {
        case less, lessOrEqual, equal, notEqual, greaterOrEqual, greater
    }

    case compare(Comparison, Literal)
    case isIn([Literal])
    case isNotIn([Literal])
    case exists(Bool)
    case type(String)
    case size(Int)
    case modulus(Modulus)
    case regex(RegularExpression)
    case beginsWith([UInt8])
    case all([Literal])
    case anyElement(Selector)
    case allElements(Selector)
    case anyKey(Selector)
    case not(Condition)
}

extension Condition {
    /// Whether the condition holds for an existing value.
    func matches(_ value: JSONValue, _ scratch: MatchScratch, order: ValueOrder) throws(MatchError) -> Bool {
        switch self {
        case .compare(let comparison, let literal): return comparison.holds(value, literal, order)
        case .isIn(let literals): return Self.isAny(of: literals, value, order)
        case .isNotIn(let literals): return !Self.isAny(of: literals, value, order)
        case .exists(let shouldExist): return shouldExist
        case .type(let name): return value.kind.name == name
        case .size(let size): return value.kind == .array && value.childCount == size
        case .modulus(let modulus): return try modulus.matches(value)
        case .regex(let regex): return try regex.matches(value, scratch)
        case .beginsWith(let prefix): return value.begins(with: prefix)
        case .all(let literals): return Self.areAll(literals, in: value)
        case .anyElement(let selector):
            for element in value.elements where try selector.matches(element, scratch, order: order) { return true }
            return false
        case .allElements(let selector):
            var isEmpty = true
            for element in value.elements {
                guard try selector.matches(element, scratch, order: order) else { return false }
                isEmpty = false
            }
            return !isEmpty
        case .anyKey(let selector):
            for member in value.members where try selector.matches(member.name, scratch, order: order) { return true }
            return false
        case .not(let condition): return try !condition.matches(value, scratch, order: order)
        }
    }

    /// An array matches if any of its elements does.
    private static func isAny(of literals: [Literal], _ value: JSONValue, _ order: ValueOrder) -> Bool {
        guard value.kind == .array else { return literals.contains { order.areEqual(value, $0) } }
        for element in value.elements where literals.contains(where: { order.areEqual(element, $0) }) { return true }
        return false
    }

    private static func areAll(_ literals: [Literal], in value: JSONValue) -> Bool {
        guard value.kind == .array, let first = literals.first else { return false }
        if literals.count == 1, first.value.kind == .array, first.isEqualTerm(to: value) { return true }
        return literals.allSatisfy { literal in value.elements.contains { literal.isSameTerm(as: $0) } }
    }
}

extension Condition.Comparison {
    func holds(_ value: JSONValue, _ literal: Literal, _ order: ValueOrder) -> Bool {
        switch self {
        case .equal: order.areEqual(value, literal)
        case .notEqual: !order.areEqual(value, literal)
        case .less: order.compare(value, literal) == .less
        case .lessOrEqual: order.compare(value, literal) != .greater
        case .greaterOrEqual: order.compare(value, literal) != .less
        case .greater: order.compare(value, literal) == .greater
        }
    }

    var negated: Self {
        switch self {
        case .less: .greaterOrEqual
        case .lessOrEqual: .greater
        case .equal: .notEqual
        case .notEqual: .equal
        case .greaterOrEqual: .less
        case .greater: .lessOrEqual
        }
    }
}

extension JSONValue {
    /// Whether the string begins with a prefix, as defined by Erlang's `string:prefix`: the prefix must end at a
    /// character boundary of the string, so `e` is not a prefix of `e` with a combining accent.
    func begins(with prefix: [UInt8]) -> Bool {
        guard kind == .string else { return false }
        guard isEscaped || !isPlainASCII else { return rawContent.starts(with: prefix) }
        guard let bytes = utf8, bytes.starts(with: prefix) else { return false }
        guard let lastStart = prefix.lastIndex(where: { $0 & 0xC0 != 0x80 }) else { return true }
        let characters = String(decoding: bytes[lastStart...], as: UTF8.self)
        return characters.first?.unicodeScalars.count == 1
    }
}
