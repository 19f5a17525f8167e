/// Records what the tests of one file cover.
final class FileRecorder {
    let rules: CoverageRecorder
    private let file: RuleFile
    private var unmatchedCount = 0

    init(_ file: RuleFile) {
        self.file = file
        rules = CoverageRecorder(file.rules)
    }

    /// Ends a test with its decision.
    ///
    /// - Returns: As ``CoverageRecorder/endTest()``.
    @discardableResult
    func end(_ decision: Decision) -> CoverageRecorder.Reached {
        // A rule that fails does not fire either.
        if decision.isMapping, decision.fired.isEmpty, decision.error?.rule == nil { unmatchedCount += 1 }
        return rules.endTest()
    }

    var coverage: RuleCoverage.File {
        let points = rules.points
        let covered = file.rules.indices.map { RuleCoverage.Rule(name: file.rules[$0].name, points: points[$0]) }
        var otherwise = file.otherwise.map {
            CoveragePoint(.otherwise, at: $0.position, $0.value.rawValue, [.applies])
        }
        otherwise?.outcomes[0].testCount = unmatchedCount
        return RuleCoverage.File(path: file.path, rules: covered, otherwise: otherwise)
    }
}
