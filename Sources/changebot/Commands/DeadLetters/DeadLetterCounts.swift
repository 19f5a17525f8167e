internal import LosslessJSON

/// The number of dead letters of each rule.
struct DeadLetterCounts {
    /// Highest count first. A nil rule counts the dead letters without a rule.
    let counts: [(rule: String?, count: Int)]

    var total: Int { counts.reduce(0) { $0 + $1.count } }

    /// One line for people: `3 dead letters: 2 of rule 'stamp', 1 of no rule`.
    var line: String {
        let rules = counts.map {
            "\(Quantity.count($0.count)) of " + ($0.rule.map { "rule '\($0.visible)'" } ?? "no rule")
        }
        return Quantity.count(total, "dead letter") + ": " + rules.joined(separator: ", ")
    }

    /// A table for people, with a line for each rule. Without dead letters, it has one line with the count 0.
    var table: [String] {
        let counts = counts.isEmpty ? [(rule: nil, count: 0)] : counts
        let rows = [("COUNT", "RULE")] + counts.map { ("\($0.count)", ($0.rule ?? "-").visible) }
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { $0.0.padded(to: width) + "  " + $0.1 }
    }

    /// One object for programs: `{"dead_letters":3,"rules":{"stamp":2},"no_rule":1}`.
    ///
    /// - Parameter bot: The value of a member `bot`. Nil: leaves the member out, because there is only one bot.
    func json(bot: String?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let bot { writer.member("bot", string: bot) }
            writer.member("dead_letters", integer: total)
            writer.name("rules")
            writer.object { writer in
                for case (let rule?, let count) in counts { writer.member(rule, integer: count) }
            }
            writer.member("no_rule", integer: counts.first { $0.rule == nil }?.count ?? 0)
        }
        return writer.bytes
    }
}
