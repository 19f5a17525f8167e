internal import LosslessJSON

/// Finds the few rules that may fire on a document, so that a thousand rules cost little more than one.
///
/// The result is a superset: each rule found is then evaluated. A rule that is not found does not fire.
struct RuleIndex: Sendable {
    /// The rules indexed by one field.
    private struct Field: Sendable {
        /// Maps printable ASCII strings, case folded, to indexes of `rules`.
        var literals = LiteralTable([:], foldsCase: true)
        var rules: [[Int32]] = []
        /// For strings with escapes or non-ASCII characters: only collation can decide what they equal.
        var anyString: [Int32] = []
        /// For every string, because the rules' own values are not ASCII.
        var unusualStrings: [Int32] = []
        var others: [Int32] = []
        var arrays: [Int32] = []
    }

    private let names: LiteralTable
    private let fields: [Field]
    /// Rules that no field can exclude.
    private let always: RuleBits
    private let changes: RuleBits
    private let deletes: RuleBits
    /// The rules that may fire on design documents.
    private let design: RuleBits
    private let count: Int

    /// - Parameters:
    ///   - usesFields: Whether members of the document exclude rules. If not, each rule is evaluated.
    ///   - isPaused: Which rules are never found. Empty: none.
    init(_ rules: [Rule], usesFields: Bool = true, isPaused: [Bool] = []) {
        count = rules.count
        var always = RuleBits(count: count)
        let fires = isPaused.isEmpty ? rules.map { _ in true } : isPaused.map { !$0 }
        changes = RuleBits(zip(rules, fires).map { ($0.on.contains(.change) || $0.edges != nil) && $1 })
        deletes = RuleBits(zip(rules, fires).map { $0.on.contains(.delete) && $1 })
        design = RuleBits(rules.map(\.seesDesignDocuments))
        let keys = Self.chosenKeys(rules.map { usesFields ? IndexKey.keys(of: $0.scope) : [] })
        var grouped: [[UInt8]: [(rule: Int32, key: IndexKey)]] = [:]
        for index in rules.indices {
            let number = Int32(index)
            if let key = keys[index] {
                grouped[key.field, default: []].append((number, key))
            } else {
                always.insert(number)
            }
        }
        let ordered = Array(grouped)
        names = LiteralTable(
            Dictionary(uniqueKeysWithValues: ordered.enumerated().map { ($1.key, $0) }), foldsCase: false)
        fields = ordered.map { Self.field($0.value) }
        self.always = always
    }

    private static func field(_ entries: [(rule: Int32, key: IndexKey)]) -> Field {
        var field = Field()
        var places: [[UInt8]: Int] = [:]
        for (rule, key) in entries {
            for string in key.strings {
                let place = places[string] ?? field.rules.count
                if place == field.rules.count { field.rules.append([]) }
                places[string] = place
                field.rules[place].append(rule)
            }
            if key.hasUnusualStrings || !key.strings.isEmpty { field.anyString.append(rule) }
            if key.hasUnusualStrings { field.unusualStrings.append(rule) }
            if key.hasOthers { field.others.append(rule) }
            if key.holdsForArrays { field.arrays.append(rule) }
        }
        field.literals = LiteralTable(places, foldsCase: true)
        return field
    }

    /// Chooses for each rule the key that the fewest other rules share. In a tie chooses the last one, because authors
    /// tend to write common conditions (`type`) first.
    private static func chosenKeys(_ keys: [[IndexKey]]) -> [IndexKey?] {
        struct Use: Hashable {
            let field: [UInt8]
            /// Nil: any value that is not a string.
            let string: [UInt8]?
        }
        var uses: [Use: Int] = [:]
        for key in keys.joined() {
            for string in key.strings { uses[Use(field: key.field, string: string), default: 0] += 1 }
            if key.hasOthers { uses[Use(field: key.field, string: nil), default: 0] += 1 }
        }
        func cost(_ key: IndexKey) -> Int {
            var cost = key.hasUnusualStrings ? keys.count : 0
            if key.hasOthers { cost += uses[Use(field: key.field, string: nil), default: 0] }
            return key.strings.reduce(cost) { $0 + uses[Use(field: key.field, string: $1), default: 0] }
        }
        return keys.map { keys in keys.reversed().min { cost($0) < cost($1) } }
    }

    /// Finds the rules that may fire, into a set made by ``makeBits()``. Allocates nothing unless a member's name has
    /// escapes.
    func find(for document: JSONValue, isDeleted: Bool, into found: inout RuleBits) {
        if findAll(for: document, isDeleted: isDeleted, into: &found), document.isDesignDocument {
            found.formIntersection(design)
        }
    }

    /// Whether the rule may see the document, which may be a design document.
    func sees(_ document: JSONValue, _ rule: Int) -> Bool { design.contains(rule) || !document.isDesignDocument }

    /// The same, with those that do not see the document because it is a design document: few documents are, and to tell
    /// takes time. See ``sees(_:_:)``.
    ///
    /// - Returns: Whether there are any.
    func findAll(for document: JSONValue, isDeleted: Bool, into found: inout RuleBits) -> Bool {
        found.replace(with: always)
        if !fields.isEmpty {
            document.forEachMember { name, isEscaped, value in
                guard let field = number(of: name, isEscaped, before: value, in: document) else { return }
                // Each value of a duplicate member is looked up: the result is still a superset.
                find(in: fields[field], JSONValue(text: document.text, index: value), into: &found)
            }
        }
        return found.formIntersection(isDeleted ? deletes : changes)
    }

    func makeBits() -> RuleBits { RuleBits(count: count) }

    private func number(of name: Span<UInt8>, _ isEscaped: Bool, before value: Int, in document: JSONValue) -> Int? {
        guard isEscaped else { return names.number(of: name) }
        let name = JSONValue(text: document.text, index: value - 1).utf8 ?? []
        return names.number(of: name.span)
    }

    private func find(in field: Field, _ value: JSONValue, into found: inout RuleBits) {
        switch value.kind {
        case .string:
            guard value.isPlainASCII else {
                for rule in field.anyString { found.insert(rule) }
                return
            }
            let (place, hasDelete) = value.withRawContent { content in
                (field.literals.number(of: content), content.indices.contains { content[$0] == 0x7F })
            }
            // DEL needs no escape, and collation ignores it.
            if hasDelete { for rule in field.anyString { found.insert(rule) } }
            if let place { for rule in field.rules[place] { found.insert(rule) } }
            for rule in field.unusualStrings { found.insert(rule) }
        case .array: for rule in field.arrays { found.insert(rule) }
        case .null, .false, .true, .number, .object: for rule in field.others { found.insert(rule) }
        }
    }
}
