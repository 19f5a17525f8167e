internal import LosslessJSON

/// Keeps counts and sums over documents in a totals document: the changed document contributes its share.
struct AggregateAction: Action {
    static let name = "aggregate"
    static let synonyms = ["reduce", "totals", "group"]
    static let isAllowedInRelated = false
    static let phase = DecisionPhase.counting
    static let forEachError: String? =
        "'aggregate' adds each document to a single document with totals; remove 'for_each'"
    /// The action counts the document as the other rules left it.
    static let onlyActionErrors: OnlyActionErrors? = OnlyActionErrors(
        others: "'aggregate' must be the only action of its rule; move the others to another rule",
        time: "'aggregate' counts documents as they change, not at set times; remove 'at' or 'every'",
        deletions: "'aggregate' already subtracts what a deleted document added; remove 'on'",
        edges:
            "'aggregate' already counts each document once, and subtracts documents that no longer match; remove 'changed', "
            + "'enter' or 'leave'")

    static let keys = ["into", "document", "count", "sum"]
    static let untestedKeys: Set = ["document"]

    /// When a document counts.
    fileprivate enum Condition: Sendable {
        case always
        case selector(Selector)
        case program(Int)
    }

    private let into: TextTemplate
    private let document: Template
    private let counts: [(name: String, value: Condition)]
    private let sums: [(name: String, value: Template)]
    /// The literal members of ``document``.
    let literalMembers: [(name: String, value: JSONText)]

    /// The names of the members with totals: counts, then sums.
    var members: [String] { counts.map(\.name) + sums.map(\.name) }

    var programs: [Int] {
        into.programs + document.programs + counts.flatMap(\.value.programs) + sums.flatMap(\.value.programs)
    }

    /// Nil, with errors, if a value is missing or wrong.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "aggregate", known: Self.keys, errors: errors) else { return nil }
        let before = errors.errors.count
        if reading.kind == .mapping {
            errors.report(
                at: node.position,
                "'aggregate' follows the changes of a database, so a mapping can't use it; remove "
                    + "it")
        }
        let remedy = "say which document holds the totals: into: { jq: '…' }"
        let into = reading.requiredText(object, "into", remedy)
        if let node = object.node("into"), let id = node.text, id.begins(with: "_") {
            errors.report(
                at: node.position,
                "'into' can't begin with '_': such documents belong to the gateway; "
                    + "rename it")
        }
        counts = Self.members(object, "count") { Condition($0, reading) }
        sums = Self.members(object, "sum") { Self.sum($0, reading) }
        let documentNode = object.node("document") ?? SourceNode(content: .object([]), position: node.position)
        Self.check(documentNode, totals: [object.node("count"), object.node("sum")], errors)
        let document = Template(documentNode, reading)
        guard errors.errors.count == before, let into, let document else { return nil }
        if counts.isEmpty, sums.isEmpty {
            errors.report(
                at: node.position,
                "aggregate needs 'count' or 'sum'; write count: { documents: true } to count all documents")
            return nil
        }
        self.into = into
        self.document = document
        literalMembers = Self.literalMembers(documentNode)
    }

    private static func members<Value>(
        _ object: SourceObject, _ key: String, read: (SourceNode) -> Value?
    ) -> [(name: String, value: Value)] {
        guard let node = object.node(key) else { return [] }
        guard case .object(let members) = node.content, !node.isComputed else {
            object.errors.reportKind(
                of: node, "'\(key)' must be an object with a name for each total",
                remedy: key == "count"
                    ? "write count: { done: { complete: true } }" : "write sum: { hours: { jq: .hours } }")
            return []
        }
        return members.compactMap { member in
            guard !member.name.begins(with: "_") else {
                object.errors.report(
                    at: member.position,
                    "a total can't be named '\(member.name)': members that begin with '_' belong to the gateway; "
                        + "rename it")
                return nil
            }
            return read(member.value).map { (member.name, $0) }
        }
    }

    /// `.seeds` for `seeds`.
    private static func summand(_ text: String) -> String {
        let member = text.hasPrefix(".") ? text : "." + text
        return member.wholeMatch(of: /[.\w]+/) == nil
            ? "write { jq: '\(DisplayText.plain(text))' }" : "write { jq: \(member) }"
    }

    private static func sum(_ node: SourceNode, _ reading: RuleReading) -> Template? {
        if case .number(let text) = node.content {
            if DecimalAmount(number: text.utf8) == nil {
                reading.errors.report(
                    at: node.position, "the number is too large for a sum; write one with at most 16 digits")
            }
        } else if !node.isComputed {
            reading.errors.reportKind(
                of: node, "a sum takes a number or { jq: PROGRAM }",
                remedy: node.text.map(Self.summand) ?? "write sum: { hours: { jq: .hours } }")
            return nil
        }
        return Template(node, reading)
    }

    /// Reports members that the totals document can't have.
    private static func check(_ document: SourceNode, totals: [SourceNode?], _ errors: SourceErrors) {
        guard case .object(let members) = document.content, !document.isComputed else {
            errors.reportKind(
                of: document, "'document' must be an object with the other members of the totals document",
                remedy: "write document: { type: list-counts }")
            return
        }
        var seen: Set<ExactString> = []
        for member in totals.flatMap({ $0?.objectMembers ?? [] })
        where !seen.insert(ExactString(member.name)).inserted {
            errors.report(at: member.position, "'\(member.name)' is the name of a count and of a sum; rename one")
        }
        for member in members {
            if member.name.begins(with: "_") {
                errors.report(
                    at: member.position,
                    "aggregate can't set '\(member.name)': members that begin with '_' belong to the gateway; remove "
                        + "it")
            } else if seen.contains(ExactString(member.name)) {
                errors.report(
                    at: member.position, "'\(member.name)' is already a total; remove it from 'document', or rename it")
            }
        }
    }

    private static func literalMembers(_ document: SourceNode) -> [(name: String, value: JSONText)] {
        document.objectMembers.compactMap { member in
            switch member.value.content {
            case .string, .number, .bool: (member.name, member.value.jsonText)
            case .null, .list, .object: nil
            }
        }
    }
}

// MARK: - Applying

extension AggregateAction {
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        var rest = outputs[...]
        func next(_ programs: [Int]) -> [[JSONText]] {
            defer { rest = rest.dropFirst(programs.count) }
            return Array(rest.prefix(programs.count))
        }
        guard let target = try into.text(next(into.programs), of: "'into'") else { return }
        try check(target, draft.document)
        guard let document = try document.value(next(document.programs), of: "'document'") else { return }
        var amounts: [DecimalAmount] = []
        let scratch = counts.contains(where: \.value.isSelector) ? MatchScratch() : nil
        for (name, condition) in counts {
            let holds = try condition.holds(draft.document.root, next(condition.programs), name, scratch)
            amounts.append(holds ? .one : .zero)
        }
        for (name, value) in sums { amounts.append(try amount(value, next(value.programs), name)) }
        draft.contributions.append(
            Contribution(rule: draft.origin.rule, target: target, amounts: amounts, document: document))
    }

    private func check(_ target: String, _ source: JSONText) throws(ActionError) {
        if target.begins(with: "_") {
            throw .failed(
                "'into' can't begin with '_' ('\(target)'): such documents belong to the gateway; add a prefix")
        }
        if target.utf8.contains(0) { throw .failed("'into' contains U+0000, which gateways refuse; remove it") }
        if source.root["_id"]?.isString(target) == true {
            throw .failed("'into' names the changed document itself ('\(target)'); keep the totals in another document")
        }
    }

    private func amount(
        _ value: Template, _ outputs: [[JSONText]], _ name: String
    ) throws(ActionError) -> DecimalAmount {
        guard let number = try value.value(outputs, of: "'\(name)'") else { return .zero }
        guard number.root.kind == .number else {
            throw .failed(
                "'\(name)' must be a number or null; the program gives \(number.excerpt)\(number.numberRemedy)")
        }
        guard let amount = DecimalAmount(number: number.root.bytes) else {
            throw .failed("'\(name)' is too large for a sum: \(number.excerpt); a sum takes up to 16 digits")
        }
        return amount
    }
}

extension AggregateAction.Condition {
    /// Reads `true`, `{ jq: PROGRAM }` or a selector.
    fileprivate init?(_ node: SourceNode, _ reading: RuleReading) {
        switch node.content {
        case .bool(true): self = .always
        case .object:
            if let computation = node.computation {
                if let type = computation.type {
                    reading.errors.report(
                        at: type.position,
                        "a count has no type: everything but false and null counts; remove 'type'")
                    return nil
                }
                guard let program = reading.program(computation.program) else { return nil }
                self = .program(program)
            } else {
                guard let selector = SelectorReader.read(node, errors: reading.errors) else { return nil }
                self = .selector(selector)
            }
        default:
            reading.errors.reportKind(
                of: node, "a count takes true, a selector or { jq: PROGRAM }",
                remedy: "write count: { done: { complete: true } }")
            return nil
        }
    }

    fileprivate var programs: [Int] { if case .program(let program) = self { [program] } else { [] } }

    fileprivate var isSelector: Bool { if case .selector = self { true } else { false } }

    /// - Parameter outputs: The outputs of ``programs``.
    fileprivate func holds(
        _ document: JSONValue, _ outputs: [[JSONText]], _ name: String, _ scratch: MatchScratch?
    ) throws(ActionError) -> Bool {
        switch self {
        case .always: return true
        case .selector(let selector):
            do throws(MatchError) { return try selector.matches(document, scratch ?? MatchScratch()) } catch {
                throw .failed("'\(name)': \(error)")
            }
        case .program:
            let values = outputs.first ?? []
            guard values.count <= 1 else {
                throw .failed("'\(name)': the program gives \(values.count) values, not one")
            }
            switch values.first?.root.kind {
            case nil, .null, .false: return false
            default: return true
            }
        }
    }
}

// MARK: - Checks

extension AggregateAction {
    func databaseNeeds(_ element: SourceNode) -> [(position: SourcePosition, kind: LocatedWrite.Kind)] {
        element.member(Self.name)?.member("into").flatMap(LocatedWrite.Kind.init(id:)).map { [(element.position, $0)] }
            ?? []
    }

    func link(_ element: SourceNode, rule: Int) -> RuleLink? {
        element.member(Self.name).flatMap { RuleLink(aggregate: $0, element, rule) }
    }
}

extension SourceNode {
    /// The members of an object. Empty for any other value.
    var objectMembers: [Member] { if case .object(let members) = content { members } else { [] } }

    /// The elements of a list. Empty for any other value.
    var listElements: [SourceNode] { if case .list(let elements) = content { elements } else { [] } }
}
