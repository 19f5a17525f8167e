internal import LosslessJSON

/// One list element of `then`: an action, done once or for each output of a program.
struct RuleStep: Sendable {
    /// The key of the program that gives the elements.
    static let elementsKey = "for_each"
    /// The maximum number of elements of one document.
    static let elementLimit = 1000
    /// The additional variables of the action's programs if there are elements.
    private static let variables = ["item", "index"]

    let action: any Action
    /// The program whose outputs are the elements, as an index in the ``ProgramList``. Nil: the action is done once.
    let elements: Int?
}

/// A step with its source in the rule file.
struct LocatedStep {
    let step: RuleStep
    /// The list element of `then`.
    let element: SourceNode
    /// The value of the action.
    let argument: SourceNode

    /// - Parameters:
    ///   - source: A rule, or the value of `related`.
    ///   - steps: What was read from its `then`, without an error.
    static func all(_ source: SourceNode, _ steps: [RuleStep]) -> [LocatedStep] {
        guard case .list(let elements)? = source.member("then")?.content else { return [] }
        return zip(elements, steps).compactMap { element, step in
            element.member(step.action.name).map { LocatedStep(step: step, element: element, argument: $0) }
        }
    }
}

extension Rule {
    var locatedSteps: [LocatedStep] { LocatedStep.all(definition.source, then) }

    /// The rule's actions of one type.
    func actions<Kind: Action>(of kind: Kind.Type) -> [Kind] { then.compactMap { $0.action as? Kind } }
}

/// One output of a `for_each` program.
struct RuleElement: Sendable {
    /// `$item`.
    let item: JSONText
    /// `$index`, from 0.
    let index: Int

    /// The element as the locals of ``JQCall``.
    var locals: [(name: String, json: [UInt8])] {
        [("item", item.bytes), ("index", Array(String(index).utf8))]
    }
}

// MARK: - Reading

extension RuleStep {
    /// Nil, with errors, if the node is not an action.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let known = ActionRegistry.names + [Self.elementsKey]
        let places = Self.places(node)
        guard
            let object = SourceObject(
                node, "an action", known: known, places: places, errors: reading.errors),
            case .object(let all) = node.content
        else { return nil }
        let elements = object.node(Self.elementsKey)
        let members = all.filter { $0.name != Self.elementsKey && places[$0.name] == nil }
        // The missing indentation of its body was already reported.
        if let first = members.first, first.value.isNull, members.count > 1,
            members.dropFirst().allSatisfy({ !ActionRegistry.names.contains($0.name) })
        {
            return nil
        }
        guard members.count == 1, let member = members.first else {
            let which = members.isEmpty ? all.first : members.dropFirst().first
            reading.errors.report(
                at: which?.position ?? node.position,
                members.isEmpty && elements != nil
                    ? "'for_each' needs an action next to it; add one below, such as attach: …"
                    : "each list element must be one action, not \(members.count); begin each with '- '")
            return nil
        }
        guard object.node(member.name) != nil, let kind = ActionRegistry.action(named: member.name) else { return nil }
        guard let elements else {
            guard let action = kind.init(member.value, reading) else { return nil }
            self.init(action: action, elements: nil)
            return
        }
        let program = Self.program(elements, reading)
        let action = reading.with(locals: Self.variables) { kind.init(member.value, reading) }
        guard let program, let action else { return nil }
        if let refusal = kind.forEachError {
            reading.errors.report(at: elements.position, refusal)
            return nil
        }
        self.init(action: action, elements: program)
    }

    /// Where the keys belong that are next to the action, but are keys of its value.
    private static func places(_ node: SourceNode) -> [String: String] {
        guard case .object(let members) = node.content else { return [:] }
        let actions = members.filter { !$0.value.isNull }.compactMap { ActionRegistry.action(named: $0.name) }
        guard actions.count == 1, let action = actions.first else { return [:] }
        let names = members.map(\.name).filter { action.keys.contains($0) && ActionRegistry.action(named: $0) == nil }
        return Dictionary(
            names.map { ($0, "write it in the value of '\(action.name)', indented further, or in its braces") }
        ) { first, _ in first }
    }

    /// Reads `for_each: PROGRAM` or, as with other values, `for_each: { jq: PROGRAM }`.
    private static func program(_ node: SourceNode, _ reading: RuleReading) -> Int? {
        guard let computation = node.computation else { return reading.program(node) }
        if let type = computation.type {
            reading.errors.report(
                at: type.position, "'for_each' has no type: each output is an element; remove 'type'")
            return nil
        }
        return reading.program(computation.program)
    }
}

extension SourceNode {
    /// The action of a list element of `then`. Nil if there is none.
    var actionMember: Member? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.name != RuleStep.elementsKey }
    }
}
