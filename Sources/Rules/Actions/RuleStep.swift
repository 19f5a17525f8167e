internal import LosslessJSON

/// One list element of `then`: an action, once or for each output of a program.
struct RuleStep: Sendable {
    /// The key beside the action that says for which elements it is done.
    static let elementsKey = "for_each"
    /// The most elements of one document.
    static let elementLimit = 1000
    /// The variables of the action's programs, if there are elements.
    private static let variables = ["item", "index"]

    let action: Action
    /// The program whose outputs are the elements, as an index in the ``ProgramList``. Nil: the action is done once.
    let elements: Int?
}

/// One output of a `for_each` program.
struct RuleElement: Sendable {
    /// `$item`.
    let item: JSONText
    /// `$index`, from 0.
    let index: Int

    /// As the locals of ``JQCall``.
    var locals: [(name: String, json: [UInt8])] {
        [("item", item.bytes), ("index", Array(String(index).utf8))]
    }
}

// MARK: - Reading

extension RuleStep {
    /// Nil, with errors, if the node is not an action.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let known = Action.names + [Self.elementsKey]
        guard let object = SourceObject(node, "an action", known: known, errors: reading.errors),
            case .object(let all) = node.content
        else { return nil }
        let elements = object.node(Self.elementsKey)
        let members = all.filter { $0.name != Self.elementsKey }
        // Only its body is not indented, which was reported.
        if let first = members.first, first.value.isNull, members.count > 1,
            members.dropFirst().allSatisfy({ !Action.names.contains($0.name) })
        {
            return nil
        }
        guard members.count == 1, let member = members.first else {
            let which = members.isEmpty ? all.first : members.dropFirst().first
            reading.errors.report(
                at: which?.position ?? node.position,
                members.isEmpty && elements != nil
                    ? "'for_each' stands beside an action, which is missing; write it below, as attach: …"
                    : "one list element is one action, not \(members.count); begin each with '- '")
            return nil
        }
        guard object.node(member.name) != nil else { return nil }
        guard let elements else {
            guard let action = Action.read(member, reading) else { return nil }
            self.init(action: action, elements: nil)
            return
        }
        guard let program = Self.program(elements, reading),
            let action = reading.with(locals: Self.variables, read: { Action.read(member, reading) })
        else { return nil }
        if case .delete = action {
            reading.errors.report(
                at: elements.position, "'delete' can be done once only; remove 'for_each', or say with 'if' when")
            return nil
        }
        if case .aggregate = action {
            reading.errors.report(
                at: elements.position,
                "a document adds to one document with totals: 'aggregate' can't have 'for_each'; remove it")
            return nil
        }
        if case .resolve = action {
            reading.errors.report(
                at: elements.position, "a document is resolved once: 'resolve' can't have 'for_each'; remove it")
            return nil
        }
        self.init(action: action, elements: program)
    }

    /// Reads `for_each: PROGRAM` or, as for other values, `for_each: { jq: PROGRAM }`.
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
    /// The action of a list element of `then`; nil if there is none.
    var actionMember: Member? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.name != RuleStep.elementsKey }
    }

    /// Whether the action of a list element of `then` is done for elements: any number of times, or never.
    var hasElements: Bool { member(RuleStep.elementsKey) != nil }
}
