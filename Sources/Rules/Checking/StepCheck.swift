/// Finds actions that are legal, but probably mean something else.
enum StepCheck {
    /// - Parameter rule: A rule without errors.
    static func messages(_ rule: SourceNode) -> [ActionWarning] {
        guard case .list(let steps)? = rule.member("then")?.content else { return [] }
        let usesDots = rule.member("when").map { String(decoding: $0.json, as: UTF8.self).contains(#"\\."#) } ?? false
        return steps.flatMap { step in
            wholeList(step.member(RuleStep.elementsKey)) + (usesDots ? [] : dottedNames(step.member(MergeAction.name)))
        }
    }

    /// `for_each: .weeks`, without the brackets.
    private static func wholeList(_ elements: SourceNode?) -> [ActionWarning] {
        guard let node = elements.map({ $0.member("jq") ?? $0 }), let text = node.text?.trimmed,
            text.wholeMatch(of: /(\.[A-Za-z_]\w*)+/) != nil
        else { return [] }
        return [
            (
                node.position, .program,
                "'\(DisplayText.plain(String(text)))' has one output, so the action runs once, with the whole value as "
                    + "$item; for each element write \(DisplayText.plain(String(text)))[]"
            )
        ]
    }

    /// `merge: { address.city: Ulm }`: dots have a meaning in selectors only. Quotes show that the name is intended.
    private static func dottedNames(_ merge: SourceNode?) -> [ActionWarning] {
        guard let merge, !merge.isComputed, case .object(let members) = merge.content else { return [] }
        return members.compactMap { member in
            guard member.isPlain, member.name.contains("."),
                member.name.wholeMatch(of: /[A-Za-z]\w*(\.[A-Za-z_]\w*)+/) != nil
            else { return nil }
            let parts = member.name.split(separator: ".")
            let nested =
                parts.dropFirst().reduce("") { $0 + "{ \($1): " } + "…"
                + String(repeating: " }", count: parts.count - 1)
            return (
                member.position, .fieldName,
                "'\(DisplayText.plain(member.name))' is one name with a dot in it; for a nested member write "
                    + "\(parts[0]): \(DisplayText.plain(nested)); for this name put it in quotes"
            )
        }
    }
}
