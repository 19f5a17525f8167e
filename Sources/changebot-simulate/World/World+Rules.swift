internal import JQ
internal import Rules

extension World {
    static let rulesFile = "rules.yaml"
    /// The rules of passes over all documents.
    static let passRulesFile = "passes.yaml"

    /// The rules of the bot. Their programs run in this process.
    static func loadRules(_ extent: Scenario.Extent) throws -> (files: RuleFileSet, changes: RuleSet) {
        var programs = JQPool.Settings()
        programs.isInProcess = true
        let files = try RuleFileSet.load(paths: [rulesFile] + (extent == .full ? [passRulesFile] : []))
        return (files, try files.ruleSet(isForChanges: true, jq: programs))
    }
}
