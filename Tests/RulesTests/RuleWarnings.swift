import Testing

@testable import Rules

/// A file that rules may attach, and its folder.
private let file = #filePath
private let folder = file.split(separator: "/").dropLast().map { "/" + $0 }.joined()

/// The warnings for rules, one per line from line 3, without the outer braces. `FILE` is a file to attach,
/// `FOLDER` is its folder.
func warnings(_ rules: [String]) throws -> [String] {
    let text =
        "version: 1\nrules:\n"
        + rules.map { "- { \($0) }\n" }.joined()
        .replacing("FILE", with: "'\(file)'").replacing("FOLDER", with: "'\(folder)'")
    let file = RuleFile(path: "r.yaml", bytes: Array(text.utf8))
    try #require(file.errors.isEmpty, "\(file.errors)")
    return RuleChecker(file.rules.map { ($0, RulePrediction(of: $0)) }).warnings.map(\.description)
}

/// The warnings for the actions and programs of one rule, without the outer braces.
func actionWarnings(_ rule: String) throws -> [String] {
    let file = RuleFile(path: "r.yaml", bytes: Array("version: 1\nrules:\n  - {\(rule)}\n".utf8))
    try #require(file.errors.isEmpty, "\(file.errors)")
    return file.rules.flatMap(ActionCheck.warnings).map(\.description)
}

/// The warnings for selectors of a rule that does nothing.
func selectorWarnings(_ when: String) throws -> [String] {
    try warnings(["name: a, when: \(when), then: []"])
}
