/// Finds keys next to `jq` that a computed value can't have.
enum ComputedKeys {
    private static let known = ["jq", "type"]
    private static let defaults = ["default", "fallback", "else", "otherwise", "orElse"]

    /// Reports each unknown key of the computed values of a rule: in its conditions and in its actions.
    static func check(_ rule: SourceObject) {
        for name in ["if", "at", "then"] {
            if let node = rule.node(name) { check(node, rule.errors) }
        }
    }

    private static func check(_ node: SourceNode, _ errors: SourceErrors) {
        switch node.content {
        case .null, .bool, .number, .string: return
        case .list(let elements): for element in elements { check(element, errors) }
        case .object(let members):
            if node.isComputed {
                for member in members where !known.contains(member.name) {
                    errors.report(at: member.position, message(member))
                }
            }
            // `jq` is a key of `resolve` itself.
            for member in members where member.name != ResolveAction.name { check(member.value, errors) }
        }
    }

    private static func message(_ member: SourceNode.Member) -> String {
        if let message = member.missingSpace(readAs: "a key without a value") { return message }
        let name = DisplayText.plain(member.name)
        if member.value.isNull, member.value.isPlain {
            return "'\(name)' is read as a key next to 'jq'; put the whole program in quotes: jq: '…'"
        }
        if NearestName.of(member.name, among: defaults) != nil {
            return "'\(name)' is not a known key next to 'jq'; write a default in the program: jq: '.member // 1'"
        }
        let meant = NearestName.of(member.name.lowercased(), among: known)
        return "'\(name)' is not a known key next to 'jq'\(NearestName.advice(meant, among: known)). "
            + "For an object with a member 'jq', write a program that builds it"
    }
}
