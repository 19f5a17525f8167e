internal import LosslessJSON

/// Finds actions that gateways will refuse or that remove more than they say, and programs that YAML misreads.
enum ActionCheck {
    static func warnings(_ rule: Rule) -> [RuleWarning] {
        var found: [RuleWarning] = []
        func warn(_ position: SourcePosition, _ code: RuleWarning.Code, _ message: String) {
            found.append(
                RuleWarning(
                    path: rule.definition.path, position: position, rule: rule.name, code: code, message: message))
        }
        for (position, code, message) in messages(rule) { warn(position, code, message) }
        for node in texts(in: rule.definition.source.member("then")) {
            if let message = node.text.flatMap(ForgottenProgram.message) { warn(node.position, .notAProgram, message) }
            if let message = LiteralCheck.yaml11Boolean(node) { warn(node.position, .mixedTypes, message) }
            if let message = LiteralCheck.typographicQuotes(node) { warn(node.position, .quotes, message) }
            if let message = node.text.flatMap({ LiteralCheck.invisible($0, isPlain: node.isPlain) }) {
                warn(node.position, .whiteSpace, message)
            }
        }
        for member in members(in: rule.definition.source.member("then")) {
            if let message = member.missingSpace(readAs: "the name of a field") {
                warn(member.position, .fieldName, message)
            }
            if let message = LiteralCheck.invisible(member.name, isPlain: member.isPlain) {
                warn(member.position, .whiteSpace, message)
            }
            if let message = mistypedProgram(member) { warn(member.position, .notAProgram, message) }
            if let message = decimalComma(member) { warn(member.position, .fieldName, message) }
        }
        for (position, code, message) in StepCheck.messages(rule.definition.source) { warn(position, code, message) }
        let groups = GroupCheck(rule)
        for program in programs(of: rule.definition.source) {
            for message in ProgramCheck.messages(program.text) { warn(program.position, .program, message) }
            for message in AssignmentCheck.messages(program.text, isCondition: program.isCondition) {
                warn(program.position, .assignment, message)
            }
            for message in groups.messages(program.text, isRelated: program.isRelated) {
                warn(program.position, .unknownGroup, message)
            }
        }
        return found
    }

    /// The warnings of the rule's actions, including those on related documents.
    static func messages(_ rule: Rule) -> [ActionWarning] {
        rule.locatedSteps.flatMap { $0.step.action.warnings($0.element, of: rule) }
    }

    /// Warns of an action that writes to the changed document.
    static func writesDeleted(_ element: SourceNode, _ rule: Rule) -> [ActionWarning] {
        guard rule.kind == .rules, rule.on == .delete else { return [] }
        let message =
            "the rule is for deletions only (on: [delete]), and this would write to a deleted document; use put to "
            + "write another document"
        return [(element.position, .writesDeleted, message)]
    }

    /// Warns of programs in a selector that read members that most tombstones lack: no document is related then.
    static func tombstoneFields(_ selector: SourceNode?, _ rule: Rule) -> [ActionWarning] {
        guard rule.on == .delete, let selector else { return [] }
        return programs(in: selector).compactMap { program in
            guard let name = membersRead(program).first(where: { !FiringCheck.tombstoneMembers.contains($0) }) else {
                return nil
            }
            return (
                program.position, .tombstoneField,
                "a tombstone has '\(DisplayText.plain(name))' only if the deletion writes it (never on Sync Gateway "
                    + "4), and without it no document is related; if deletions don't write it, let the related "
                    + "documents refer to the _id"
            )
        }
    }

    /// Warns of programs that copy members of a deleted document: most tombstones lack them.
    static func copiesOfTombstone(_ document: SourceNode?, _ rule: Rule) -> [ActionWarning] {
        guard rule.kind == .rules, rule.on == .delete, rule.edges == nil, let document else { return [] }
        return programs(in: document).compactMap { program in
            guard let name = membersRead(program).first(where: { !FiringCheck.tombstoneMembers.contains($0) }) else {
                return nil
            }
            let shown = DisplayText.plain(name)
            return (
                program.position, .tombstoneField,
                "a tombstone has '\(shown)' only if the deletion writes it (never on Sync Gateway 4), and otherwise it "
                    + "is null here; to have its last value, write on: [leave], remember: [\(shown)] and $before.\(shown)"
            )
        }
    }

    private static func membersRead(_ program: LocatedProgram) -> [String] {
        ProgramReading(program.text).paths.compactMap { path in
            if case .member(let name)? = path.first { name } else { nil }
        }
    }

    /// All strings outside programs.
    private static func texts(in node: SourceNode?) -> [SourceNode] {
        switch node?.content {
        case .string: return node.map { [$0] } ?? []
        case .list(let elements): return elements.flatMap { texts(in: $0) }
        case .object(let members):
            guard node?.isComputed != true else { return [] }
            return members.flatMap { member in
                isProgram(member) || mistypedProgram(member) != nil ? [] : texts(in: member.value)
            }
        default: return []
        }
    }

    /// Whether the member is a program, even a broken one: `jq` with other members next to it counts.
    private static func isProgram(_ member: SourceNode.Member) -> Bool {
        ["jq", RuleStep.elementsKey].contains(member.name)
    }

    /// All members of objects outside programs.
    private static func members(in node: SourceNode?) -> [SourceNode.Member] {
        switch node?.content {
        case .list(let elements): return elements.flatMap { members(in: $0) }
        case .object(let own): return node?.isComputed == true ? [] : own + own.flatMap { members(in: $0.value) }
        default: return []
        }
    }

    /// `{ price: 1,5 }`: the comma begins another member.
    private static func decimalComma(_ member: SourceNode.Member) -> String? {
        guard member.isPlain, member.value.isNull, member.value.isPlain, !member.name.isEmpty,
            member.name.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
        else { return nil }
        return "'\(member.name)' is read as the name of a field without a value; a decimal number needs a point: "
            + "1.\(member.name)"
    }

    /// `{ jg: .total }`.
    private static func mistypedProgram(_ member: SourceNode.Member) -> String? {
        guard ["jg", "qj", "jp", "hq"].contains(member.name.lowercased()) || ["JQ", "Jq", "jQ"].contains(member.name),
            let text = member.value.text, text.hasPrefix(".") || text.hasPrefix("$")
        else { return nil }
        return "'\(DisplayText.plain(member.name))' is read as the name of a field; did you mean jq?"
    }
}

// MARK: - Programs

/// A jq program in a rule.
struct LocatedProgram {
    let text: String
    let position: SourcePosition
    /// Whether its result is true or false.
    var isCondition = false
    /// Whether it is for related documents.
    var isRelated = false
}

extension ActionCheck {
    /// All programs of a rule.
    static func programs(of rule: SourceNode) -> [LocatedProgram] {
        let conditions = ["if", "at"].flatMap { key -> [LocatedProgram] in
            guard let node = rule.member(key), let text = (node.member("jq") ?? node).text else { return [] }
            return [
                LocatedProgram(
                    text: text, position: (node.member("jq") ?? node).position, isCondition: key == "if")
            ]
        }
        return conditions + (rule.member("then").map { programs(in: $0) } ?? [])
    }

    /// All programs below a node of a rule's actions.
    static func programs(in node: SourceNode, isRelated: Bool = false) -> [LocatedProgram] {
        switch node.content {
        case .list(let elements): return elements.flatMap { programs(in: $0, isRelated: isRelated) }
        case .object(let members):
            let isCondition = node.member("type")?.text == "boolean"
            return members.flatMap { member -> [LocatedProgram] in
                if let text = member.value.text, isProgram(member) {
                    return [
                        LocatedProgram(
                            text: text, position: member.value.position,
                            isCondition: isCondition && member.name == "jq", isRelated: isRelated)
                    ]
                }
                guard member.name == RelatedAction.name, let then = member.value.member("then") else {
                    return programs(in: member.value, isRelated: isRelated)
                }
                return (member.value.member("selector").map { programs(in: $0) } ?? [])
                    + programs(in: then, isRelated: true)
            }
        default: return []
        }
    }
}
