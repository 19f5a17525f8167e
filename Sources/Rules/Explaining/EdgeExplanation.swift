/// Why a rule with `changed`, `enter` or `leave` fires or does not fire, according to what it saw of the document last.
struct EdgeExplanation: Sendable {
    let edges: EdgeCondition
    /// Nil: the rule does not look at the document.
    let look: EdgeCondition.Look?

    /// Whether the outcome depends on the rule's `if`.
    var asksCondition: Bool { look.map(edges.asksCondition) ?? false }

    /// The values of `$changed` and `$before`.
    var locals: [(name: String, json: [UInt8])] {
        (look.flatMap { edges.edge($0, matches: true) } ?? .nothing).locals
    }

    /// - Parameter matches: Whether selectors and `if` hold.
    func outcome(matches: Bool) -> (fires: Bool, reason: String) {
        guard let look else { return (false, "it does not look at this document") }
        guard let edge = edges.edge(look, matches: matches) else { return (false, refusal(look, matches)) }
        switch edge.kind {
        case .enter:
            return (true, look.before == nil ? "it matches, and is new to the rule" : "it did not match before")
        case .leave: return (true, "it matched before, and does not any longer")
        case .change where look.before == nil: return (true, "it is new to the rule (`first: fire`)")
        case .change: return (true, "different: \(edge.changed.joined(separator: ", "))")
        case .none: return (true, "`on` has \(look.isGone ? "delete" : "change")")
        }
    }

    private func refusal(_ look: EdgeCondition.Look, _ matches: Bool) -> String {
        guard matches else {
            return look.before?.matched == true
                ? "it matches no longer (for that, use `on: [leave]`)" : "it does not match"
        }
        guard look.before != nil else { return "the rule sees it for the first time, and only learns (`first`)" }
        if look.before?.matched == true, edges.on.contains(.enter) { return "it matched before, too" }
        if edges.changed.isEmpty { return "it matches; the rule fires when that ends" }
        return "no member in `changed` differs from before"
    }
}
