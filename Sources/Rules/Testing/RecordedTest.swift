internal import Encodings
package import LosslessJSON

/// A test that expects what the rules do to a document today.
package struct RecordedTest {
    /// The maximum number of bytes of its documents together.
    package static let lengthLimit = 64 << 10
    /// The maximum depth of each document. A test has further levels around them.
    private static let depthLimit = SourceNode.depthLimit - 8

    /// The maximum number of characters of an expected error.
    private static let messageLimit = 200

    /// The lines of an element of `tests`, without indentation.
    package let lines: [String]

    /// Why a document can't be in a test.
    package struct Refusal: Error, CustomStringConvertible {
        /// What is wrong and what to do.
        package let description: String
    }

    /// - Parameters:
    ///   - name: The name of the test. Nil: made from the rules that fire.
    ///   - before: The document as the rules last saw it.
    ///   - now: `$now`, in seconds since 1970. Nil if the rules do not depend on it.
    /// - Throws: ``Refusal`` if a rule file can't contain one of the documents.
    package init(
        _ report: DecisionReport, named name: String?, before: JSONText?, now: Int?
    ) throws(Refusal) {
        try Self.checkLength(report.document, before)
        try Self.check(report.document, "the document")
        if let before { try Self.check(before, "the earlier document") }
        var lines = ["name: " + FlowText.quoted(name ?? Self.name(report))]
        if let now { lines.append("now: \(Timestamp.text(now))") }
        if let before { lines.append("before: " + FlowText.text(before.root)) }
        lines.append("given: " + FlowText.text(report.document.root))
        lines.append("expect: " + Self.expectation(report))
        self.lines = lines
    }

    private static func checkLength(_ document: JSONText, _ before: JSONText?) throws(Refusal) {
        guard document.bytes.count + (before?.bytes.count ?? 0) > lengthLimit else { return }
        let documents = before == nil ? "the document is" : "the document and the earlier one together are"
        throw Refusal(
            description: "\(documents) too large for a test; use a smaller one, of at most \(lengthLimit) bytes")
    }

    private static func check(_ document: JSONText, _ name: String) throws(Refusal) {
        guard (try? JSONText(document.bytes, limits: JSONLimits(depth: depthLimit))) != nil else {
            throw Refusal(
                description: "\(name) is nested too deeply for a test; use one of at most \(depthLimit) levels")
        }
        let errors = SourceErrors(path: "")
        _ = JSONSource.read(document.bytes, errors: errors)
        guard let error = errors.errors.first else { return }
        let place = error.position.map { "line \($0.line), column \($0.column): " } ?? ""
        throw Refusal(description: "a test can't contain \(name): \(place)\(error.message)")
    }

    private static func expectation(_ report: DecisionReport) -> String {
        let skips = report.decision.skipped.map(\.description)
        guard let failure = report.decision.error?.description ?? skips.first else {
            return DecisionSummary(report).wholeExpectation
        }
        return "{ error: \(FlowText.quoted(significantPart(of: failure))) }"
    }

    /// The longest part of a message without paths, which depend on the folder that the rules are read in.
    private static func significantPart(of message: String) -> String {
        let parts = message.split(separator: /'[^']*\/[^']*'/)
        let longest = parts.max { $0.utf8.count < $1.utf8.count } ?? ""
        return String(String.UnicodeScalarView(longest.unicodeScalars.prefix(messageLimit)))
    }

    private static func name(_ report: DecisionReport) -> String {
        let id = report.document.root["_id"]?.string.map { DisplayText.plain($0) } ?? "a document"
        if report.decision.error != nil { return "the rules fail for \(id)" }
        let rules = report.fired.prefix(3).map { DisplayText.plain($0) }
        switch report.fired.count {
        case 0: return "no rule fires for \(id)"
        case 1: return "\(rules[0]) fires for \(id)"
        default:
            let more = report.fired.count > rules.count ? " and others" : ""
            return "\(rules.joined(separator: ", "))\(more) fire for \(id)"
        }
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
