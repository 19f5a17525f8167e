internal import DocumentFlow
internal import Logging

/// How often each rule fired, or how many documents it learned, one line per rule, followed by the totals.
struct RuleTotals {
    let counters: RunCounters
    /// The names of the rules, in their order.
    let rules: [String]
    let isDryRun: Bool
    /// Whether the rules only learned documents.
    var onlyLearns = false

    private func count(_ rule: String) -> Int {
        (onlyLearns ? counters.rules.learned : counters.rules.fired)[rule] ?? 0
    }

    var lines: [String] {
        let counts = rules.map { Quantity.count(count($0)) }
        let width = counts.map(\.count).max() ?? 0
        let verb = onlyLearns ? isDryRun ? " would be learned by" : " learned by" : ""
        let rows = zip(rules, counts).map { rule, count in
            String(repeating: " ", count: width - count.count + 2) + count + verb + (verb.isEmpty ? "  " : " ")
                + rule.visible
        }
        var parts = ["\(Quantity.count(counters.changes, "document")) looked at"]
        if !onlyLearns { parts += writtenParts }
        if counters.deadLetters > 0 {
            parts.append("\(Quantity.count(counters.deadLetters)) \(isDryRun ? "would be " : "")dead-lettered")
        }
        return rows + [parts.joined(separator: ", ")]
    }

    private var writtenParts: [String] {
        var parts = [
            isDryRun
                ? "\(Quantity.count(counters.preview.written)) would be written"
                : "\(Quantity.count(counters.written)) written"
        ]
        let deleted = isDryRun ? counters.preview.deleted : counters.deleted
        if deleted > 0 { parts.append("\(Quantity.count(deleted)) of them deleted") }
        if counters.unchanged > 0 { parts.append("\(Quantity.count(counters.unchanged)) unchanged") }
        let outside = counters.outside
        if outside.lines > 0 { parts.append("\(Quantity.count(outside.lines, "line")) emitted") }
        if outside.accepted > 0 { parts.append("\(Quantity.count(outside.accepted, "webhook")) sent") }
        if outside.refused > 0 { parts.append("\(Quantity.count(outside.refused, "webhook")) refused") }
        return parts
    }

    /// Prints the lines to stderr. With JSON logs, prints one object per rule; the totals are logged anyway.
    func report() {
        guard StandardErrorLog.Format.chosen == .json else {
            for line in lines { Console.complain(line) }
            return
        }
        for rule in rules {
            let line = LogLine(
                .info, onlyLearns ? "rule learned documents" : "rule fired",
                [
                    LogKey.rule: "\(rule)",
                    onlyLearns ? LogKey.documents : LogKey.times: .stringConvertible(count(rule)),
                ])
            Console.complain(rule, line)
        }
    }
}
