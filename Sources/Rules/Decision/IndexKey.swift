internal import LosslessJSON

/// A necessary condition of a selector: one top-level field equals one of a few values.
struct IndexKey {
    let field: [UInt8]
    /// Possible values of the field: printable ASCII strings, in lower case.
    private(set) var strings: Set<[UInt8]> = []
    /// Whether any value is a string that equals different strings under collation.
    private(set) var hasUnusualStrings = false
    /// Whether any value is not a string.
    private(set) var hasOthers = false
    /// Whether an array can also match: `$in` looks into it, or a value is an array.
    private(set) var holdsForArrays = false

    private init(field: [UInt8]) { self.field = field }

    private init(field: [UInt8], _ literals: [Literal], looksIntoArrays: Bool) {
        self.init(field: field)
        holdsForArrays = looksIntoArrays
        for literal in literals { add(literal.value) }
    }

    private mutating func add(_ value: JSONValue) {
        if value.kind == .array { holdsForArrays = true }
        guard let bytes = value.utf8 else {
            hasOthers = true
            return
        }
        if bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) {
            strings.insert(Self.lowercase(bytes))
        } else {
            hasUnusualStrings = true
        }
    }

    /// All keys of a normalised selector. Any one of them suffices to find it.
    static func keys(of selector: Selector) -> [IndexKey] {
        switch selector {
        case .all(let selectors): return selectors.flatMap(keys)
        case .field(let path, let condition):
            guard path.steps.count == 1 else { return [] }
            return key(of: condition, field: path.steps[0].name).map { [$0] } ?? []
        case .any, .not, .none, .value: return []
        }
    }

    private static func key(of condition: Condition, field: [UInt8]) -> IndexKey? {
        switch condition {
        case .compare(.equal, let literal): return IndexKey(field: field, [literal], looksIntoArrays: false)
        case .isIn(let literals): return IndexKey(field: field, literals, looksIntoArrays: true)
        case .regex(let regex):
            guard let words = anchoredWords(of: regex.pattern) else { return nil }
            var key = IndexKey(field: field)
            key.strings = Set(words.map(lowercase))
            return key
        default: return nil
        }
    }

    /// The words of `^word$`, `^(one|two)$` and `^(?:one|two)$`, with or without `(?i)`. Nil for other patterns.
    private static func anchoredWords(of pattern: String) -> [[UInt8]]? {
        var rest = Substring(pattern)
        if rest.hasPrefix("(?i)") { rest = rest.dropFirst(4) }
        guard rest.hasPrefix("^"), rest.hasSuffix("$"), rest.count >= 2 else { return nil }
        rest = rest.dropFirst().dropLast()
        if rest.hasPrefix("("), rest.hasSuffix(")") {
            rest = rest.dropFirst(rest.hasPrefix("(?:") ? 3 : 1).dropLast()
        } else if rest.contains("|") {
            return nil
        }
        let words = rest.split(separator: "|", omittingEmptySubsequences: false).map { Array($0.utf8) }
        let areLiteral = words.allSatisfy { word in
            word.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: " "), UInt8(ascii: "_"), UInt8(ascii: "-"),
                    UInt8(ascii: ":"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
        }
        return areLiteral ? words : nil
    }

    private static func lowercase(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
}
