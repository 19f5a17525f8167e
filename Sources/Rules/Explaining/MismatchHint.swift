internal import LosslessJSON

/// Finds a likely mistake when a condition does not hold for an existing value, as far as cheap checks can.
enum MismatchHint {
    /// The maximum number of bytes of a string that is compared again.
    private static let lengthLimit = 1_000
    /// The maximum number of values of a list that are compared again.
    private static let countLimit = 100

    /// Nil without a hint worth showing.
    static func of(_ condition: Condition, _ value: JSONValue, _ scratch: MatchScratch) -> String? {
        switch condition {
        case .compare(.equal, let literal): return difference(value, literal.value)
        case .compare(.notEqual, _): return nil
        case .compare(_, let literal): return otherType(value, literal.value)
        case .isIn(let literals):
            return literals.prefix(countLimit).lazy.compactMap { difference(value, $0.value) }.first
        case .regex(let regex) where value.kind == .string: return difference(value, regex, scratch)
        case .beginsWith(let prefix) where value.kind == .string: return difference(value, prefix: prefix)
        default: return of(condition, value)
        }
    }

    /// The kind of value that the condition needs, if the value is of another kind.
    static func of(_ condition: Condition, _ value: JSONValue) -> String? {
        let name = condition.operatorName
        switch condition {
        case .regex, .beginsWith: return value.kind == .string ? nil : "\(name) applies only to text"
        case .size, .all, .anyElement, .allElements: return value.kind == .array ? nil : "\(name) applies only to lists"
        case .anyKey: return value.kind == .object ? nil : "\(name) applies only to objects"
        case .modulus: return value.isInteger ? nil : "\(name) applies only to whole numbers"
        default: return nil
        }
    }

    // MARK: - Texts

    private static func difference(_ value: JSONValue, _ literal: JSONValue) -> String? {
        guard let text = shortText(value), let wanted = shortText(literal) else { return otherType(value, literal) }
        if text.trimmed == wanted.trimmed { return "differs only in surrounding white space" }
        if text.lowercased() == wanted.lowercased() { return "differs only in case" }
        let differsInCaseOrSpace = text.trimmed.lowercased() == wanted.trimmed.lowercased()
        return differsInCaseOrSpace ? "differs only in case and surrounding white space" : nil
    }

    private static func difference(_ value: JSONValue, prefix: [UInt8]) -> String? {
        guard let text = shortText(value) else { return nil }
        let prefix = String(decoding: prefix, as: UTF8.self)
        if text.lowercased().hasPrefix(prefix.lowercased()) { return "differs only in case" }
        return text.trimmed.hasPrefix(prefix) ? "has leading white space" : nil
    }

    private static func difference(
        _ value: JSONValue, _ regex: RegularExpression, _ scratch: MatchScratch
    ) -> String? {
        guard let text = shortText(value) else { return nil }
        if let folded = try? RegularExpression("(?i)" + regex.pattern), (try? folded.matches(value, scratch)) == true {
            return "differs only in case; a pattern that begins with (?i) matches both"
        }
        var json: [UInt8] = []
        json.appendJSONString(text.trimmed.utf8)
        guard let trimmed = try? JSONText(json).root, (try? regex.matches(trimmed, scratch)) == true else { return nil }
        return "would match without surrounding white space"
    }

    /// Nil for a long string, and for anything but a string.
    private static func shortText(_ value: JSONValue) -> String? {
        value.range.count <= lengthLimit ? value.string : nil
    }

    // MARK: - Types

    /// Whether one of the two is a string that spells a number or a boolean.
    private static func otherType(_ value: JSONValue, _ literal: JSONValue) -> String? {
        let hasSwappedTypes = isString(value, spellingKindOf: literal) || isString(literal, spellingKindOf: value)
        return hasSwappedTypes ? "the document has \(description(value)), the rule has \(description(literal))" : nil
    }

    private static func isString(_ value: JSONValue, spellingKindOf other: JSONValue) -> Bool {
        guard let text = shortText(value), let spelled = try? JSONText(String(text.trimmed)).root.kind else {
            return false
        }
        switch other.kind {
        case .number: return spelled == .number
        case .true, .false: return spelled == .true || spelled == .false
        default: return false
        }
    }

    private static func description(_ value: JSONValue) -> String {
        let text = DisplayText.json(value)
        return switch value.kind {
        case .string: "the string \(text)"
        case .number: "the number \(text)"
        default: text
        }
    }
}

extension String {
    /// Without white space around it.
    var trimmed: Substring {
        var rest = Substring(self)
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
