internal import JQ
internal import Rules

extension World {
    /// The rules of the bot. Their programs run in this process.
    static func loadRules() throws -> RuleSet {
        var programs = JQPool.Settings()
        programs.isInProcess = true
        return try RuleFileSet.load(paths: [rulesFile]).ruleSet(isForChanges: true, jq: programs)
    }
}
