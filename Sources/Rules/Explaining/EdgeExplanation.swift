/// Why a rule with `changed`, `enter` or `leave` fires or does not fire, given the state that it last saw.
struct EdgeExplanation: Sendable {
    let edges: EdgeCondition
    /// The state that the rule last saw. Nil: it sees the document for the first time.
    let before: LastSeen?
    /// Nil: the rule ignores the document.
    let observation: EdgeCondition.Observation?

    /// Whether the outcome depends on the rule's `if`.
    var dependsOnCondition: Bool { observation.map(edges.dependsOnCondition) ?? false }

    /// The edge that the rule's `if` sees.
    var edge: Edge? { observation.flatMap { edges.edge($0, matches: true) } }

    /// - Parameter matches: Whether selectors and `if` hold.
    func outcome(matches: Bool) -> (fires: Bool, reason: String) {
        guard let observation else { return (false, "the rule ignores this document") }
        guard let edge = edges.edge(observation, matches: matches) else {
            return (false, refusal(observation))
        }
        switch edge.kind {
        case .enter:
            let isFirst = observation.before == nil
            return (true, isFirst ? "the rule has not seen it match before" : "the document did not match before")
        case .leave: return (true, "the document matched before, but no longer does")
        case .change where observation.before == nil:
            return (true, "the rule sees it for the first time (`first: fire`)")
        case .change: return (true, "changed: \(edge.changed.joined(separator: ", "))")
        case .none: return (true, "`on` includes \(observation.isUnavailable ? "delete" : "change")")
        }
    }

    /// What to add to the reason why a document does not match. Empty if the last seen state does not matter.
    var remarkOnMismatch: String {
        let matched = before?.matched == true
        if edges.on.contains(.leave) {
            return matched ? "" : "; `leave` needs a document that matched before, and the rule has not seen it match"
        }
        return matched ? "; it matched before, and no longer does (to fire then, use `on: [leave]`)" : ""
    }

    /// Why the rule does not fire for a document that matches.
    private func refusal(_ observation: EdgeCondition.Observation) -> String {
        guard observation.before != nil else {
            return "the rule sees it for the first time, and only remembers it (`first`)"
        }
        if observation.before?.matched == true, edges.on.contains(.enter) {
            return "the document already matched before"
        }
        if edges.changed.isEmpty { return "the document matches; the rule fires when it stops matching" }
        return "no member in `changed` has a new value"
    }
}
