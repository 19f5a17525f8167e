internal import Encodings
internal import LosslessJSON
internal import Rules

/// Prints the differences between two versions of rules, and the totals.
struct RulePlanReport {
    static let shownByDefault = 10

    /// How many differences are shown as text.
    let shown: Int
    let isJSON: Bool
    let style: TerminalStyle
    private var count = 0
    /// The differences that are shown at the end: the first one of each rule, and the first others.
    private var kept: [(lines: [VisibleLine], isFirstOfRule: Bool)] = []
    private var shownRules: Set<String> = []

    init(shown: Int, isJSON: Bool, style: TerminalStyle) {
        (self.shown, self.isJSON, self.style) = (shown, isJSON, style)
    }

    /// Writes the difference as JSON, or keeps it for ``showTotals(_:)``: the differences of one rule must not hide those
    /// of the others.
    ///
    /// - Throws: ``CommandError`` with 74 if stdout is full or closed.
    mutating func show(_ difference: RulePlan.Difference) throws(CommandError) {
        count += 1
        if isJSON { return try Console.write(Self.line(difference)) }
        let isFirst = difference.rules.contains { !shownRules.contains($0) }
        if kept.count >= shown {
            guard isFirst, let last = kept.lastIndex(where: { !$0.isFirstOfRule }) else { return }
            kept.remove(at: last)
        }
        shownRules.formUnion(difference.rules)
        kept.append((lines(difference) + [""], isFirst))
    }

    private func lines(_ difference: RulePlan.Difference) -> [VisibleLine] {
        var lines: [VisibleLine] = []
        for (name, report) in [("old", difference.old), ("new", difference.new)] {
            guard report.touches || report.decision.error != nil else {
                lines.append(style.dim("\(name): leaves it unchanged"))
                continue
            }
            lines.append(style.dim("\(name):"))
            lines += DocumentDiff(report).lines(style)
        }
        let id = difference.new.document.root["_id"]?.string ?? ""
        return [style.bold("== " + id.visible)] + lines
    }

    private static func line(_ difference: RulePlan.Difference) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("id", raw: difference.new.document.root["_id"]?.bytes ?? Array("null".utf8)[...])
            writer.member("old", raw: difference.old.line(withRevision: true))
            writer.member("new", raw: difference.new.line(withRevision: true))
        }
        return writer.bytes
    }

    // MARK: - Totals

    /// - Throws: ``CommandError`` with 74 if stdout is full or closed.
    func showTotals(_ plan: RulePlan) throws(CommandError) {
        if isJSON { return try Console.write(Self.totals(plan)) }
        for difference in kept { try Console.write(difference.lines) }
        if count > shown {
            try Console.write([style.dim("… \(Quantity.count(count - shown)) more; --show N shows more"), ""])
        }
        try Console.write((Self.table(plan) + RuleChanges(plan).lines + [Self.summary(plan)]).map { VisibleLine($0) })
        for line in plan.unreadable { Console.warn("can't be read, so not in the plan: \(line)") }
    }

    private static func table(_ plan: RulePlan) -> [String] {
        var rows = [["", "old", "new", "differ"]]
        for name in ruleNames(plan) {
            rows.append([
                name.visible, firedCount(name, plan.old), firedCount(name, plan.new),
                Quantity.count(plan.differences.byRule[name] ?? 0),
            ])
        }
        rows.append([
            "documents touched", Quantity.count(plan.old.touched), Quantity.count(plan.new.touched),
            Quantity.count(plan.differences.count),
        ])
        if plan.old.failed + plan.new.failed > 0 {
            rows.append(["dead letters", Quantity.count(plan.old.failed), Quantity.count(plan.new.failed)])
        }
        let widths = (0..<4).map { column in rows.compactMap { $0.count > column ? $0[column].count : nil }.max() ?? 0 }
        return rows.map { row in
            row[0].padded(to: widths[0])
                + zip(row, widths).dropFirst().map { "  " + aligned($0, $1) }.joined()
        } + [""]
    }

    private static func aligned(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: width - text.count) + text
    }

    /// `12,000 documents: 22 differ (15 touched only with new, 2 only with old, 5 differently)`.
    private static func summary(_ plan: RulePlan) -> String {
        let count = plan.differences.count
        let documents = Quantity.count(plan.documents, "document")
        guard count > 0 else { return "\(documents): as they are now, both versions do the same to them" }
        return
            "\(documents): \(Quantity.count(count)) differ (\(Quantity.count(plan.differences.added)) touched only with new, "
            + "\(Quantity.count(plan.differences.removed)) only with old, \(Quantity.count(plan.differences.changed)) differently)"
    }

    /// The rules of the new version in order, then those that only the old one has.
    private static func ruleNames(_ plan: RulePlan) -> [String] {
        plan.new.names + plan.old.names.filter { !plan.new.names.contains($0) }
    }

    /// `-` if the version does not have the rule.
    private static func firedCount(_ name: String, _ version: RulePlan.Version) -> String {
        version.names.firstIndex(of: name).map { Quantity.count(version.fired[$0]) } ?? "-"
    }

    private static func totals(_ plan: RulePlan) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("documents", raw: "\(plan.documents)".utf8)
            writer.member("unreadable", raw: "\(plan.unreadableCount)".utf8)
            for (name, count) in [
                ("only_new", plan.differences.added), ("only_old", plan.differences.removed),
                ("different", plan.differences.changed),
            ] {
                writer.member(name, raw: "\(count)".utf8)
            }
            RuleChanges(plan).write(to: &writer)
            writer.name("differ")
            writer.object { writer in
                for name in ruleNames(plan) { writer.member(name, raw: "\(plan.differences.byRule[name] ?? 0)".utf8) }
            }
            for (name, version) in [("old", plan.old), ("new", plan.new)] {
                writer.name(name)
                writer.object { writer in
                    writer.member("touched", raw: "\(version.touched)".utf8)
                    writer.member("dead_letters", raw: "\(version.failed)".utf8)
                    writer.name("fired")
                    writer.object { writer in
                        for (name, count) in zip(version.names, version.fired) {
                            writer.member(name, raw: "\(count)".utf8)
                        }
                    }
                }
            }
        }
        return writer.bytes
    }
}

/// The rules that are not the same in both versions.
private struct RuleChanges {
    private let groups: [(name: String, rules: [String])]

    init(_ plan: RulePlan) {
        let (old, new) = (plan.old.fingerprints, plan.new.fingerprints)
        let common = new.keys.filter { old[$0] != nil }
        groups = [
            ("changed", common.filter { old[$0] != new[$0] }.sorted()),
            ("added", new.keys.filter { old[$0] == nil }.sorted()),
            ("removed", old.keys.filter { new[$0] == nil }.sorted()),
        ]
    }

    /// One line for each kind of change.
    var lines: [String] {
        groups.filter { !$0.rules.isEmpty }.map { name, rules in
            "\(name): \(rules.map(\.visible).joined(separator: ", "))"
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.name("rules")
        writer.object { writer in
            for (name, rules) in groups {
                writer.name(name)
                writer.array { writer in for rule in rules { writer.string(rule) } }
            }
        }
    }
}
