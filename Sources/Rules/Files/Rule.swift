internal import LosslessJSON

/// One rule: when it fires, and what it does then.
final class Rule: Sendable {
    struct Changes: OptionSet, Sendable {
        let rawValue: UInt8

        /// A document that was written.
        static let change = Changes(rawValue: 1)
        /// A tombstone.
        static let delete = Changes(rawValue: 2)
    }

    let name: String
    let on: Changes
    let when: Selector
    let unless: Selector?
    let then: [Action]
    /// All that the rule's decisions depend on, whatever the file's format, comments and key order.
    let canonical: [UInt8]

    init(name: String, on: Changes, when: Selector, unless: Selector?, then: [Action], canonical: [UInt8]) {
        self.name = name
        self.on = on
        self.when = when
        self.unless = unless
        self.then = then
        self.canonical = canonical
    }

    /// Whether `when` holds and `unless` does not.
    func fires(on document: JSONValue, _ scratch: MatchScratch) throws(MatchFault) -> Bool {
        guard document.kind == .object, try when.matches(document, scratch) else { return false }
        guard let unless else { return true }
        return try !unless.matches(document, scratch)
    }
}

extension Rule {
    private static let keys = ["name", "when", "unless", "on", "then"]

    /// Nil, with faults, if the node is not a rule.
    convenience init?(_ node: SourceNode, _ faults: SourceFaults, _ files: AttachmentFiles) {
        guard let object = SourceObject(node, "a rule", known: Self.keys, faults: faults) else { return nil }
        let before = faults.faults.count
        let name = object.requiredText("name", "give each rule a name of its own")
        let on = Self.changes(object)
        let whenNode = object.required("when", "say which documents it is for; when: {} is for all")
        let when = whenNode.flatMap { SelectorReader.read($0, faults: faults) }
        let unlessNode = object.node("unless")
        let unless = unlessNode.flatMap { SelectorReader.read($0, faults: faults) }
        let then = object.required("then", "say what to do; then: [] only counts").flatMap {
            Self.actions($0, faults, files)
        }
        guard faults.faults.count == before, let name, let whenNode, let when, let then else { return nil }
        self.init(
            name: name, on: on, when: when, unless: unless, then: then,
            canonical: Self.canonical(name: name, on: on, when: whenNode, unless: unlessNode, then: then))
    }

    private static func changes(_ object: SourceObject) -> Changes {
        guard let node = object.node("on") else { return .change }
        guard case .list(let elements) = node.content, !elements.isEmpty else {
            object.faults.report(
                at: node.position, "'on' must be a list: [change] (the default), [delete] or [change, delete]")
            return []
        }
        var changes: Changes = []
        for element in elements {
            switch element.content {
            case .string("change"): changes.insert(.change)
            case .string("delete"): changes.insert(.delete)
            default: object.faults.report(at: element.position, "'on' knows only change and delete; write one of them")
            }
        }
        return changes
    }

    private static func actions(
        _ node: SourceNode, _ faults: SourceFaults, _ files: AttachmentFiles
    ) -> [Action]? {
        guard case .list(let elements) = node.content else {
            faults.report(
                at: node.position, "'then' must be a list of actions, not \(node.kindName); begin each with '- '")
            return nil
        }
        return elements.compactMap { Action.read($0, faults, files) }
    }

    private static func canonical(
        name: String, on: Changes, when: SourceNode, unless: SourceNode?, then: [Action]
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("name", string: name)
            writer.member("on", integer: on.rawValue)
            writer.member("when", raw: when.json)
            if let unless { writer.member("unless", raw: unless.json) }
            writer.name("then")
            writer.array { writer in for action in then { action.writeCanonical(to: &writer) } }
        }
        return writer.bytes
    }
}
