internal import DocumentFlow
internal import Logging

/// How often each rule fired, one line per rule, followed by the totals.
struct RuleTotals {
    let counters: RunCounters
    /// The names of the rules, in their order.
    let rules: [String]
    let isDryRun: Bool

    var lines: [String] {
        let counts = rules.map { Quantity.count(counters.rules[$0] ?? 0) }
        let width = counts.map(\.count).max() ?? 0
        let rows = zip(rules, counts).map { rule, count in
            String(repeating: " ", count: width - count.count + 2) + count + "  " + rule.visible
        }
        var parts = [
            "\(Quantity.count(counters.changes, "document")) looked at",
            isDryRun
                ? "\(Quantity.count(counters.preview.written)) would be written"
                : "\(Quantity.count(counters.written)) written",
        ]
        let deleted = isDryRun ? counters.preview.deleted : counters.deleted
        if deleted > 0 { parts.append("\(Quantity.count(deleted)) of them deleted") }
        if counters.unchanged > 0 { parts.append("\(Quantity.count(counters.unchanged)) unchanged") }
        if counters.deadLetters > 0 {
            parts.append("\(Quantity.count(counters.deadLetters)) \(isDryRun ? "would be " : "")dead-lettered")
        }
        return rows + [parts.joined(separator: ", ")]
    }

    /// Prints the lines to stderr. With JSON logs, prints one object per rule; the totals are logged anyway.
    func report() {
        guard StandardErrorLog.Format.chosen == .json else {
            for line in lines { Console.complain(line) }
            return
        }
        for rule in rules {
            let line = LogLine(
                .info, "rule fired",
                [LogKey.rule: "\(rule)", LogKey.times: .stringConvertible(counters.rules[rule] ?? 0)])
            Console.complain(rule, line)
        }
    }
}
