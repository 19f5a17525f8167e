internal import Encodings
package import LosslessJSON

/// A test that expects what the rules do to a document today.
package struct RecordedTest {
    /// The maximum number of bytes of its documents together.
    package static let lengthLimit = 64 << 10

    /// The lines of an element of `tests`, without indentation.
    package let lines: [String]

    /// Nil if rule files can't contain the document, because it is too long or nested too deeply.
    ///
    /// - Parameters:
    ///   - name: The name of the test. Nil: made from the rules that fire.
    ///   - before: The document as the rules last saw it.
    ///   - now: `$now`, in seconds since 1970. Nil if the rules do not depend on it.
    package init?(_ report: DecisionReport, named name: String?, before: JSONText?, now: Int?) {
        let documents = [report.document, before].compactMap(\.self)
        guard documents.reduce(0, { $0 + $1.bytes.count }) <= Self.lengthLimit,
            documents.allSatisfy({ $0.node != nil })
        else { return nil }
        var lines = ["name: " + FlowText.quoted(name ?? Self.name(report))]
        if let now { lines.append("now: \(Timestamp.text(now))") }
        if let before { lines.append("before: " + FlowText.text(before.root)) }
        lines.append("given: " + FlowText.text(report.document.root))
        lines.append("expect: " + DecisionSummary(report).wholeExpectation)
        self.lines = lines
    }

    private static func name(_ report: DecisionReport) -> String {
        let id = report.document.root["_id"]?.string.map { DisplayText.plain($0) } ?? "a document"
        if report.decision.error != nil { return "\(id) fails" }
        guard !report.fired.isEmpty else { return "\(id): no rule fires" }
        return "\(id): \(report.fired.prefix(3).map { DisplayText.plain($0) }.joined(separator: ", "))"
    }
}

extension DecisionSummary {
    /// The `expect` of a test that shows every member, except those without content.
    fileprivate var wholeExpectation: String {
        let shown = members.filter { $0.name == "fired" || !["[]", "{}", "false"].contains($0.value) }
        return "{ " + shown.map { "\($0.name): \($0.value)" }.joined(separator: ", ") + " }"
    }
}

extension RuleSet {
    /// Whether a decision may depend on the time at which it is made.
    package var usesTime: Bool { rules.contains(where: \.usesTime) }
}

extension Rule {
    /// Whether it may depend on the time at which it is evaluated.
    var usesTime: Bool { time != nil || String(decoding: definition.canonical, as: UTF8.self).contains("now") }
}
