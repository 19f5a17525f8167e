import LosslessJSON

@testable import Rules

/// The rules of a rule file that is given as text instead of on disk.
func ruleSet(_ yaml: String) throws -> RuleSet {
    let shared = RuleReading.Shared()
    let file = RuleFile(path: "rules.yaml", bytes: Array(yaml.utf8), shared: shared)
    guard file.errors.isEmpty else { throw RuleFilesError(kind: .invalid, errors: file.errors) }
    return RuleSet(file.rules)
}

extension JSONText {
    var string: String { String(decoding: bytes, as: UTF8.self) }
}
