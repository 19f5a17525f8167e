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
        }
        for member in members(in: rule.definition.source.member("then")) {
            if let message = member.missingSpace(readAs: "the name of a field") {
                warn(member.position, .fieldName, message)
            }
            if let message = mistypedProgram(member) { warn(member.position, .notAProgram, message) }
            if let (position, message) = dividedProgram(member.value) { warn(position, .notAProgram, message) }
        }
        for program in programs(in: rule.definition.source) {
            for message in ProgramCheck.messages(program.text) { warn(program.position, .program, message) }
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
            "the rule is for deletions only (on: [delete]), and this would write to a deleted document; "
            + "use put to write another one"
        return [(element.position, .writesDeleted, message)]
    }

    /// Warns of programs in a selector that read members that most tombstones lack: no document is related then.
    static func tombstoneFields(_ selector: SourceNode?, _ rule: Rule) -> [ActionWarning] {
        guard rule.on == .delete, let selector else { return [] }
        return programs(in: selector).compactMap { program in
            let names = ProgramReading(program.text).paths.compactMap { path -> String? in
                if case .member(let name)? = path.first { name } else { nil }
            }
            guard let name = names.first(where: { !FiringCheck.tombstoneMembers.contains($0) }) else { return nil }
            return (
                program.position, .tombstoneField,
                "a tombstone has '\(DisplayText.plain(name))' only if the deletion writes it (and never on Sync Gateway "
                    + "4), and without it nothing is related; if none does, let the documents name the _id"
            )
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

    /// Whether the member is a program, even a broken one: `jq` with other members beside it counts.
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

    /// `{ jg: .total }`.
    private static func mistypedProgram(_ member: SourceNode.Member) -> String? {
        guard ["jg", "qj", "jp", "hq"].contains(member.name.lowercased()) || ["JQ", "Jq", "jQ"].contains(member.name),
            let text = member.value.text, text.hasPrefix(".") || text.hasPrefix("$")
        else { return nil }
        return "'\(DisplayText.plain(member.name))' is read as the name of a field; did you mean jq?"
    }

    /// `{ jq: .a, .b }`: YAML ends the program at the comma.
    private static func dividedProgram(_ node: SourceNode) -> (SourcePosition, String)? {
        guard case .object(let members) = node.content, members.count > 1, members[0].name == "jq",
            let text = members[0].value.text, text.hasPrefix(".") || text.hasPrefix("$"),
            let rest = members.dropFirst().first(where: { $0.value.isPlain && $0.value.isNull })
        else { return nil }
        return (
            rest.position,
            "'\(DisplayText.plain(rest.name))' is read as a field beside 'jq'; put the whole program in quotes: jq: '…'"
        )
    }

    /// All programs below a node of a rule.
    static func programs(in node: SourceNode) -> [(text: String, position: SourcePosition)] {
        switch node.content {
        case .list(let elements): return elements.flatMap(programs)
        case .object(let members):
            return members.flatMap { member -> [(text: String, position: SourcePosition)] in
                if case .string(let text) = member.value.content,
                    ["if", "at", RuleStep.elementsKey].contains(member.name) || member.name == "jq" && node.isComputed
                {
                    return [(text, member.value.position)]
                }
                // Names in selectors are document fields.
                return member.name == "when" || member.name == "unless" ? [] : programs(in: member.value)
            }
        default: return []
        }
    }
}
