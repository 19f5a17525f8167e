internal import LosslessJSON

/// Prints normalised selectors as Mango, in YAML's flow style: `type: { $eq: "task" }`.
struct SelectorText {
    /// The maximum number of characters of a literal. Longer ones are cut and can't be parsed again.
    var literalLimit = DisplayText.limit

    /// One clause, without surrounding braces.
    func clause(_ selector: Selector) -> String {
        switch selector {
        case .all(let selectors): "$and: \(list(selectors))"
        case .any(let selectors): "$or: \(list(selectors))"
        case .none(let selectors): "$nor: \(list(selectors))"
        case .not(let selector): "$not: \(object(selector))"
        case .field(let path, let condition): "\(name(path)): { \(self.condition(condition)) }"
        case .value(let condition): self.condition(condition)
        }
    }

    /// One condition, without surrounding braces: `$gt: 5`.
    func condition(_ condition: Condition) -> String {
        switch condition {
        case .compare(let comparison, let literal): "\(comparison.operatorName): \(self.literal(literal))"
        case .isIn(let literals): "$in: \(list(literals))"
        case .isNotIn(let literals): "$nin: \(list(literals))"
        case .all(let literals): "$all: \(list(literals))"
        case .exists(let shouldExist): "$exists: \(shouldExist)"
        case .type(let name): "$type: \(quoted(name))"
        case .size(let size): "$size: \(size)"
        case .modulus(let modulus): "$mod: [\(modulus.divisor), \(modulus.remainder)]"
        case .regex(let regex): "$regex: \(quoted(regex.pattern))"
        case .beginsWith(let prefix): "$beginsWith: \(quoted(String(decoding: prefix, as: UTF8.self)))"
        case .anyElement(let selector): "$elemMatch: \(object(selector))"
        case .allElements(let selector): "$allMatch: \(object(selector))"
        case .anyKey(let selector): "$keyMapMatch: \(object(selector))"
        case .not(let condition): "$not: { \(self.condition(condition)) }"
        }
    }

    func literal(_ literal: Literal) -> String { DisplayText.json(literal.value, limit: literalLimit) }

    /// A field name as in selectors, quoted if YAML requires it.
    func name(_ path: FieldPath) -> String {
        let name = path.spelling
        return name.unicodeScalars.allSatisfy(Self.isPlain) && name.first != "-" ? name : quoted(name, limit: .max)
    }

    private static func isPlain(_ character: Unicode.Scalar) -> Bool {
        switch character {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "\\", "$": true
        default: false
        }
    }

    private func quoted(_ text: String) -> String { quoted(text, limit: literalLimit) }

    private func quoted(_ text: String, limit: Int) -> String {
        var json: [UInt8] = []
        json.appendJSONString(text.utf8)
        guard let value = try? JSONText(json) else { return DisplayText.plain(text, limit: limit) }
        return DisplayText.json(value.root, limit: limit)
    }

    private func list(_ literals: [Literal]) -> String { "[\(literals.map(literal).joined(separator: ", "))]" }

    private func list(_ selectors: [Selector]) -> String { "[\(selectors.map(object).joined(separator: ", "))]" }

    /// A selector with braces. Several clauses become members if their names differ; otherwise elements of `$and`.
    private func object(_ selector: Selector) -> String {
        if case .all(let selectors) = selector, let names = Self.distinctNames(selectors), !names.isEmpty {
            return "{ \(selectors.map(clause).joined(separator: ", ")) }"
        }
        return "{ \(clause(selector)) }"
    }

    /// Nil if the selectors can't be members of one object.
    private static func distinctNames(_ selectors: [Selector]) -> Set<String>? {
        var names: Set<String> = []
        for selector in selectors {
            let name: String
            switch selector {
            case .field(let path, _): name = path.spelling
            case .value(let condition): name = condition.operatorName
            default: return nil
            }
            guard names.insert(name).inserted else { return nil }
        }
        return names
    }
}

extension FieldPath {
    /// The path as in selectors: `taskList.owner`, `weird\.key`, `\$price`.
    var spelling: String {
        let names = steps.map { step in
            var name: [UInt8] = []
            for byte in step.name {
                if byte == UInt8(ascii: ".") { name.append(UInt8(ascii: "\\")) }
                name.append(byte)
            }
            return String(decoding: name, as: UTF8.self)
        }
        let text = names.joined(separator: ".")
        return text.hasPrefix("$") ? "\\" + text : text
    }
}

extension Condition {
    /// The outermost operator of the condition.
    var operatorName: String {
        switch self {
        case .compare(let comparison, _): comparison.operatorName
        case .isIn: "$in"
        case .isNotIn: "$nin"
        case .exists: "$exists"
        case .type: "$type"
        case .size: "$size"
        case .modulus: "$mod"
        case .regex: "$regex"
        case .beginsWith: "$beginsWith"
        case .all: "$all"
        case .anyElement: "$elemMatch"
        case .allElements: "$allMatch"
        case .anyKey: "$keyMapMatch"
        case .not: "$not"
        }
    }
}

extension Condition.Comparison {
    var operatorName: String {
        switch self {
        case .less: "$lt"
        case .lessOrEqual: "$lte"
        case .equal: "$eq"
        case .notEqual: "$ne"
        case .greaterOrEqual: "$gte"
        case .greater: "$gt"
        }
    }
}
