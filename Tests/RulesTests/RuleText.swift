import LosslessJSON
import Testing

@testable import Rules

/// A rule set from a text, for tests without a disk.
func ruleSet(_ yaml: String, path: String = "rules.yaml") throws -> RuleSet {
    let shared = RuleReading.Shared()
    let file = RuleFile(path: path, bytes: Array(yaml.utf8), shared: shared)
    let errors = file.errors + shared.programs.compile()
    guard errors.isEmpty else { throw RuleFilesError(kind: .invalid, errors: errors) }
    return RuleSet(file.rules, programs: shared.programs.all)
}

/// Rules, one per line, in YAML's flow style without the outer braces.
func ruleSet(lines: String...) throws -> RuleSet {
    try ruleSet("version: 1\nrules:\n" + lines.map { "- { \($0) }\n" }.joined())
}

/// The printed errors of a rule file.
func errors(_ text: String, path: String = "r.yaml") -> [String] {
    let shared = RuleReading.Shared()
    let file = RuleFile(path: path, bytes: Array(text.utf8), shared: shared)
    return (file.errors + shared.programs.compile()).map(\.description)
}

/// A selector, as YAML or JSON.
func selector(_ text: String) throws -> Selector {
    let errors = SourceErrors(path: "selector")
    let node = YAMLSource.read(text, errors: errors)
    return try #require(node.flatMap { SelectorReader.read($0, errors: errors) }, "\(errors.errors)")
}

extension JSONText {
    var string: String { String(decoding: bytes, as: UTF8.self) }
}

extension RuleSet {
    /// For rules without jq programs.
    func decide(_ document: String, isDeleted: Bool = false) throws -> Decision {
        try decide(JSONText(document), isDeleted: isDeleted)
    }

    func decide(_ document: JSONText, isDeleted: Bool = false) throws -> Decision {
        var run = DecisionRun(DecisionInput(document, isDeleted: isDeleted), self, now: 0)
        guard case .decided(let decision) = run.advance(with: [], MatchScratch()) else { throw AsksForJQ() }
        return decision
    }

    /// For rules with jq programs.
    func decided(_ document: String, isDeleted: Bool = false, now: Int = 0) async throws -> Decision {
        let input = DecisionInput(try JSONText(document), isDeleted: isDeleted)
        return try #require(await makeDecider().decide(on: [input], now: now).first)
    }

    func fired(_ document: String, isDeleted: Bool = false) throws -> [String] {
        try decide(document, isDeleted: isDeleted).fired.map { names[$0] }
    }
}

struct AsksForJQ: Error {}
