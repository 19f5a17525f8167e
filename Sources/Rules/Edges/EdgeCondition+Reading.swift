internal import LosslessJSON

extension EdgeCondition {
    /// The keys of a rule for this condition.
    static let keys = ["changed", "remember", "first"]

    /// Whether a rule compares documents with earlier states, so that its programs have `$changed` and `$before`.
    static func isUsed(in object: SourceObject, on: Rule.Changes) -> Bool {
        object.node("changed") != nil || !on.isDisjoint(with: [.enter, .leave])
    }

    /// Nil if the rule compares nothing. Also nil, with errors, if the condition is invalid.
    ///
    /// - Parameter keepsValues: Whether a program of the rule reads `$before`.
    init?(_ object: SourceObject, _ on: Rule.Changes, when: Selector?, keepsValues: Bool, _ reading: RuleReading) {
        let errors = reading.errors
        let before = errors.errors.count
        let changed = object.node("changed").flatMap { MemberPath.list($0, "changed", errors) } ?? []
        let remembered = object.node("remember").flatMap { MemberPath.list($0, "remember", errors) } ?? []
        let first = object.node("first").flatMap { Self.first($0, errors) }
        guard Self.isUsed(in: object, on: on) else {
            for name in ["first", "remember"] {
                guard let node = object.node(name) else { continue }
                errors.report(
                    at: node.position,
                    "'\(name)' needs 'changed', or enter or leave in 'on'; add one, or remove '\(name)'")
            }
            return nil
        }
        Self.check(object, on, first, reading)
        guard errors.errors.count == before, let when else { return nil }
        self.init(
            on, changed: changed, remembered: remembered + (keepsValues ? changed : []), first: first, when: when)
    }

    private static func first(_ node: SourceNode, _ errors: SourceErrors) -> FirstSightPolicy? {
        if let first = node.text.flatMap(FirstSightPolicy.init) { return first }
        errors.report(
            at: node.position,
            "'first' must be fire or learn, and says whether the rule fires for a document that it sees for the first "
                + "time; write one of them")
        return nil
    }

    private static func check(
        _ object: SourceObject, _ on: Rule.Changes, _ first: FirstSightPolicy?, _ reading: RuleReading
    ) {
        let errors = reading.errors
        guard reading.kind == .rules else {
            return errors.report(
                at: object.position,
                "a mapping sees each document once, so it can't have 'changed', 'enter' or 'leave'; remove them")
        }
        if reading.isScheduled {
            errors.report(
                at: object.position,
                "a rule with 'changed', 'enter' or 'leave' follows the feed, and the rules of a file with 'every' don't; "
                    + "move it to a file without 'every'")
        }
        if let node = object.node("at") {
            errors.report(
                at: node.position,
                "'at' can't be combined with 'changed', 'enter' or 'leave'; let this rule write a date into the document, "
                    + "and another rule wait for it")
        }
        checkEdges(object, on, first)
    }

    /// Reports keys that contradict `on`.
    private static func checkEdges(_ object: SourceObject, _ on: Rule.Changes, _ first: FirstSightPolicy?) {
        let errors = object.errors
        if let node = object.node("changed"), !on.contains(.change) {
            let remedy = on == .delete ? "remove 'changed' or 'on'" : "add change to 'on', or remove 'changed'"
            errors.report(at: node.position, "'changed' only restricts change, which 'on' does not include; \(remedy)")
        } else if let node = object.node("changed"), on.contains(.delete) {
            errors.report(
                at: node.position,
                "'changed' can't be combined with delete in 'on': a deleted document has no members; "
                    + "write two rules, or replace delete with leave")
        }
        if let node = object.node("first"), first == .fire, on == .leave {
            errors.report(
                at: node.position,
                "first: fire has no effect if 'on' is only leave: a document that the rule never saw can't leave; "
                    + "remove 'first'")
        }
        if let node = object.node("remember"), on == .enter {
            errors.report(
                at: node.position,
                "'remember' has no effect if 'on' is only enter: no values are remembered of documents that don't match; "
                    + "remove it")
        }
    }

    /// Reports an `if` that reads earlier values although it determines which documents enter and leave.
    static func check(_ condition: SourceNode?, _ errors: SourceErrors) {
        guard let program = condition?.member("jq") ?? condition, let text = program.text,
            let name = (Edge.variables + ["change.edge"]).first(where: { text.contains("$\($0)") })
        else { return }
        errors.report(
            at: program.position,
            "with enter or leave, 'if' determines which documents match, so it can't read $\(name); compare in 'then', "
                + "or write a rule with 'changed'")
    }

    /// Reports actions that a rule with `leave` can't have.
    static func check(_ steps: [RuleStep], _ node: SourceNode?, _ on: Rule.Changes, _ errors: SourceErrors) {
        guard case .list(let elements)? = node?.content else { return }
        for (element, step) in zip(elements, steps) {
            let kind = type(of: step.action)
            if let refusal = kind.onlyActionErrors {
                errors.report(at: element.position, refusal.edges)
            } else if on.contains(.leave), kind.phase == .editing, !kind.isOutside, !kind.writesOthers {
                errors.report(
                    at: element.position,
                    "'\(kind.name)' changes the document, which may be deleted when it leaves; use put, related, webhook "
                        + "or emit, or move it to another rule")
            }
        }
    }
}
