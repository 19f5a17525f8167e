internal import LosslessJSON

/// One rule: when it fires, and what it does.
final class Rule: Sendable {
    struct Changes: OptionSet, Sendable {
        let rawValue: UInt8

        /// A written document.
        static let change = Changes(rawValue: 1)
        /// A tombstone.
        static let delete = Changes(rawValue: 2)
        /// A document that the rule matches now, and did not match before.
        static let enter = Changes(rawValue: 4)
        /// A document that the rule no longer matches, is deleted, or can't be seen.
        static let leave = Changes(rawValue: 8)
    }

    /// What to do with a decision if the rule fails.
    enum ErrorPolicy: String, Sendable {
        /// The document is dead-lettered.
        case setAside = "set-aside"
        /// The decision is made without the rule.
        case skip
    }

    let name: String
    let kind: RuleFileKind
    let on: Changes
    /// How the rule compares a document with the state that it last saw. Nil: it does not compare.
    let edges: EdgeCondition?
    let when: Selector
    let unless: Selector?
    /// The jq program of `at:`, as an index in the ``ProgramList``: the time from which the rule may fire. Nil without
    /// `at:`.
    let time: Int?
    /// The jq program of `if:`, as an index in the ``ProgramList``. Nil without `if:`.
    let condition: Int?
    let then: [RuleStep]
    /// The phase of a decision in which the rule runs.
    let phase: DecisionPhase
    let definition: Definition
    /// Whether the rule may fire on design documents because its `when` names them. For related documents,
    /// `RelatedDecider.matches(_:)` decides.
    let seesDesignDocuments: Bool

    /// A rule as in its file.
    struct Definition {
        let source: SourceNode
        /// The path of the file as given.
        let path: String
        /// Warnings of `rules check` that the author has accepted.
        let allow: [AllowedWarning]
        /// Whether the rule runs over all documents at the times of the file's `every`, and not when documents change.
        let isScheduled: Bool
        let onError: ErrorPolicy
        /// Everything that the rule's decisions depend on, independent of the file's format, comments and key order.
        let canonical: [UInt8]
        /// Its programs, including those of `if` and `at`.
        let programs: [ProgramUse]
    }

    private init(
        name: String, kind: RuleFileKind, on: Changes, edges: EdgeCondition? = nil, when: Selector, unless: Selector?,
        time: Int?, condition: Int?,
        then: [RuleStep], onError: ErrorPolicy, allow: [AllowedWarning], isScheduled: Bool,
        source: SourceNode, path: String, programs: [ProgramUse], isRelated: Bool = false
    ) {
        self.name = name
        self.kind = kind
        self.on = on
        self.edges = edges
        self.when = when
        self.unless = unless
        self.time = time
        self.condition = condition
        self.then = then
        phase = then.first.map { type(of: $0.action).phase } ?? .editing
        definition = Definition(
            source: source, path: path, allow: allow, isScheduled: isScheduled, onError: onError,
            canonical: Self.canonical(source, on, then, onError), programs: programs)
        seesDesignDocuments = isRelated || when.namesDesignDocuments
    }

    /// The rule's `aggregate` action. Nil if it has none.
    var aggregate: AggregateAction? { then.first?.action as? AggregateAction }

    /// The start of the rule in its file.
    var position: SourcePosition { definition.source.position }

    /// The keyspaces that its actions name, including actions on related documents.
    var otherKeyspaces: Set<String> {
        then.reduce(into: []) { $0.formUnion($1.action.otherKeyspaces) }
    }

    /// The documents that the rule must look at when they change: those that match this selector, and with `enter` or
    /// `leave` those that matched before.
    var scope: Selector { edges?.scope ?? when }

    /// Whether the rule must look at a document, even if it was not known before.
    func looks(at document: JSONValue, _ scratch: MatchScratch) throws(MatchError) -> Bool {
        guard let edges else { return try fires(on: document, scratch) }
        guard document.kind == .object, seesDesignDocuments || !document.isDesignDocument else { return false }
        return try edges.scope.matches(document, scratch)
    }

    /// Whether `when` holds and `unless` does not. ``condition`` must still be evaluated.
    func fires(on document: JSONValue, _ scratch: MatchScratch) throws(MatchError) -> Bool {
        guard document.kind == .object, try when.matches(document, scratch), try sees(document, scratch) else {
            return false
        }
        guard let unless else { return true }
        return try !unless.matches(document, scratch)
    }

    /// Whether the rule may see a document that matches its `when`: a design document only through a condition that
    /// names design documents.
    func sees(_ document: JSONValue, _ scratch: MatchScratch) throws(MatchError) -> Bool {
        guard seesDesignDocuments, document.isDesignDocument, when.namesDesignDocuments else { return true }
        return try when.admits(designDocument: document, scratch)
    }
}

// MARK: - Reading

extension Rule {
    private static let keys =
        ["name", "when", "unless", "at", "if", "on"] + EdgeCondition.keys + ["then", "on_error", "allow"]

    /// Nil, with errors, if the node is not a rule.
    convenience init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "a rule", known: Self.keys, errors: errors) else { return nil }
        let before = errors.errors.count
        let earlier = reading.uses.count
        ComputedKeys.check(object)
        let name = object.requiredText("name", "give each rule a unique name")
        if let name { reading.add(name, at: node.position) }
        let on = Self.changes(object)
        let when = object.required("when", "say which documents it matches; when: {} matches all").flatMap {
            SelectorReader.read($0, errors: errors)
        }
        let unless = object.node("unless").flatMap { SelectorReader.read($0, errors: errors) }
        let time = Self.time(object, on, reading)
        let (condition, then) = Self.programs(object, on, reading)
        Self.checkSoleActions(object, on, then ?? [], isScheduled: reading.isScheduled)
        let readsBefore = reading.uses[earlier...].contains { reading.text(of: $0).contains("$before") }
        let edges = EdgeCondition(object, on, when: when, keepsValues: readsBefore, reading)
        if let edges, edges.tracksMatches { EdgeCondition.check(object.node("if"), reading.errors) }
        let onError = Self.errorPolicy(object, reading.kind)
        let allow = AllowedWarning.read(object)
        guard errors.errors.count == before, let name, let when, let then else { return nil }
        self.init(
            name: name, kind: reading.kind, on: on, edges: edges, when: when, unless: unless, time: time,
            condition: condition,
            then: then, onError: onError, allow: allow, isScheduled: reading.isScheduled, source: node,
            path: errors.path, programs: Array(reading.uses[earlier...]))
    }

    /// The rule without conditions for documents that `related` finds. Nil, with errors, if `then` is not a list of
    /// actions.
    ///
    /// - Parameter node: The argument of `related`.
    convenience init?(relatedTo node: SourceNode, then: SourceNode, _ reading: RuleReading) {
        let before = reading.errors.errors.count
        let earlier = reading.uses.count
        guard let steps = Self.steps(then, reading), reading.errors.errors.count == before else { return nil }
        self.init(
            name: "related", kind: .rules, on: .change, when: .all([]), unless: nil, time: nil, condition: nil,
            then: steps, onError: .setAside, allow: [], isScheduled: false, source: node, path: reading.errors.path,
            programs: Array(reading.uses[earlier...]), isRelated: true)
    }

    /// Reads `if` and `then`. Their programs have more variables if the rule compares documents with earlier states.
    private static func programs(
        _ object: SourceObject, _ on: Changes, _ reading: RuleReading
    ) -> (condition: Int?, then: [RuleStep]?) {
        let comparesWithBefore = EdgeCondition.isUsed(in: object, on: on)
        return reading.with(locals: comparesWithBefore ? Edge.variables : []) {
            let condition = object.node("if").flatMap {
                program($0, "'if' has no type: everything but false and null is true; remove 'type'", reading)
            }
            let then = object.required("then", "list the actions; then: [] only counts the documents").flatMap {
                steps($0, reading)
            }
            if comparesWithBefore { EdgeCondition.check(then ?? [], object.node("then"), on, reading.errors) }
            return (condition, then)
        }
    }

    private static let changeNames: [(name: String, change: Changes)] = [
        ("change", .change), ("delete", .delete), ("enter", .enter), ("leave", .leave),
    ]

    private static func changes(_ object: SourceObject) -> Changes {
        guard let node = object.node("on") else { return .change }
        guard case .list(let elements) = node.content, !elements.isEmpty else {
            object.errors.report(
                at: node.position,
                "'on' must be a list of change (the default), delete, enter and leave; \(remedy(ofUnlisted: node))")
            return []
        }
        var changes: Changes = []
        for element in elements {
            if let change = element.text.flatMap(change(named:)) {
                changes.insert(change)
            } else {
                let meant = element.text.flatMap(nearestChange).map { "did you mean \($0)?" } ?? "write one of them"
                object.errors.report(
                    at: element.position, "'on' can contain only change, delete, enter and leave; \(meant)")
            }
        }
        return changes
    }

    /// The change with this name in `on`. Nil if there is none.
    static func change(named name: String) -> Changes? { changeNames.first { $0.name == name }?.change }

    private static func nearestChange(_ name: String) -> String? {
        let synonyms = [
            "update": "change", "updated": "change", "modify": "change", "remove": "delete", "exit": "leave",
        ]
        let name = name.lowercased()
        return synonyms[name] ?? NearestName.of(name, among: changeNames.map(\.name))
    }

    /// What to write for `on: enter` and `on: enter, leave`.
    private static func remedy(ofUnlisted node: SourceNode) -> String {
        let names = node.text?.split { ", ".contains($0) }.map { nearestChange(String($0)) } ?? []
        let known = names.compactMap(\.self)
        guard !names.isEmpty, known.count == names.count else { return "write on: [change], or remove it" }
        return "write on: [\(known.joined(separator: ", "))]"
    }

    private static func errorPolicy(_ object: SourceObject, _ kind: RuleFileKind) -> ErrorPolicy {
        guard let node = object.node("on_error") else { return .setAside }
        guard kind == .rules else {
            object.errors.report(
                at: node.position,
                "'on_error' has no meaning in a mapping, which rejects a document if a rule fails; remove it")
            return .setAside
        }
        if case .string(let text) = node.content, let policy = ErrorPolicy(rawValue: text) { return policy }
        object.errors.report(at: node.position, "'on_error' must be set-aside (the default) or skip; write one of them")
        return .setAside
    }

    /// Reads `if: PROGRAM` or, as with other values, `if: { jq: PROGRAM }`.
    ///
    /// - Parameter refusal: The message if it has a `type`.
    private static func program(_ node: SourceNode, _ refusal: String, _ reading: RuleReading) -> Int? {
        guard let computation = node.computation else { return reading.program(node) }
        if let type = computation.type {
            reading.errors.report(at: type.position, refusal)
            return nil
        }
        return reading.program(computation.program)
    }

    /// Reads `at`, in the same two spellings.
    private static func time(_ object: SourceObject, _ on: Changes, _ reading: RuleReading) -> Int? {
        guard let node = object.node("at") else { return nil }
        guard reading.kind == .rules else {
            object.errors.report(
                at: node.position,
                "'at' has no meaning in a mapping, which imports each document when it reads it; "
                    + "remove it")
            return nil
        }
        if on.contains(.delete) {
            object.errors.report(
                at: node.position,
                "'at' needs an existing document, and a deleted one is gone; remove delete from "
                    + "'on'")
        }
        if let date = TimeReading.bareDate(node.member("jq") ?? node) {
            object.errors.report(
                at: node.position,
                "'at' is a jq program, in which \(date) is not a date; write the date as a string in the program: "
                    + "at: '\"\(date)\"'")
            return nil
        }
        return program(node, "'at' has no type: it gives seconds since 1970 or a date; remove 'type'", reading)
    }

    private static func steps(_ node: SourceNode, _ reading: RuleReading) -> [RuleStep]? {
        guard case .list(let elements) = node.content else {
            reading.errors.reportKind(of: node, "'then' must be a list of actions", remedy: "begin each with '- '")
            return nil
        }
        let steps = elements.map { (element: $0, step: RuleStep($0, reading)) }
        for (step, next) in zip(steps, steps.dropFirst()) {
            if let action = step.step?.action, type(of: action).isLast {
                reading.errors.report(
                    at: next.element.position, "no action can follow '\(action.name)'; move it up")
            }
        }
        return steps.compactMap(\.step)
    }

    private static func checkSoleActions(
        _ object: SourceObject, _ on: Changes, _ then: [RuleStep], isScheduled: Bool
    ) {
        for kind in ActionRegistry.all {
            guard let refusals = kind.onlyActionErrors, then.contains(where: { type(of: $0.action) == kind }) else {
                continue
            }
            if then.count > 1, let node = object.node("then") {
                object.errors.report(at: node.position, refusals.others)
            }
            if let position = object.node("at")?.position ?? (isScheduled ? object.position : nil) {
                object.errors.report(at: position, refusals.time)
            }
            if on.contains(.delete), let node = object.node("on") {
                object.errors.report(at: node.position, refusals.deletions)
            }
        }
    }

    /// - Precondition: `source` was read into `then` without an error.
    private static func canonical(_ source: SourceNode, _ on: Changes, _ then: [RuleStep], _ onError: ErrorPolicy)
        -> [UInt8]
    {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("on", integer: on.rawValue)
            if onError != .setAside { writer.member("on_error", string: onError.rawValue) }
            for name in ["name", "when", "unless", "at", "if"] + EdgeCondition.keys {
                if let node = source.member(name) { writer.member(name, raw: node.json) }
            }
            writer.name("then")
            writer.array { writer in
                for placed in LocatedStep.all(source, then) {
                    placed.step.action.writeCanonical(of: placed.element, to: &writer)
                }
            }
        }
        return writer.bytes
    }
}

extension SourceNode {
    /// The value of a member. Nil if this is not an object or has no such member.
    func member(_ name: String) -> SourceNode? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.name == name }?.value
    }
}
