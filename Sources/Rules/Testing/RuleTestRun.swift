internal import JQ
internal import LosslessJSON

extension RuleFileSet {
    /// Runs the tests of all files in order, each with the rules of its own file.
    ///
    /// - Parameter now: `$now` for tests that do not set it, in seconds since 1970.
    package func runTests(now: Int) async -> [RuleTestResult] {
        var results: [RuleTestResult] = []
        for file in files where !file.tests.isEmpty { results += await run(file, now: now, nil) }
        return results
    }

    /// Runs the tests as ``runTests(now:)`` does, and records which outcomes of conditions and actions they show.
    ///
    /// - Parameter earlier: A set whose processes run the jq programs too, if they are the same.
    package func measureTests(
        now: Int, sharing earlier: RuleSet? = nil
    ) async -> (results: [RuleTestResult], coverage: RuleCoverage) {
        var results: [RuleTestResult] = []
        var covered: [RuleCoverage.File] = []
        for file in files {
            let recorder = FileRecorder(file)
            results += await run(file, now: now, recorder, sharing: earlier)
            covered.append(recorder.coverage)
        }
        return (results, RuleCoverage(files: covered))
    }

    private func run(
        _ file: RuleFile, now: Int, _ recorder: FileRecorder?, sharing earlier: RuleSet? = nil
    ) async -> [RuleTestResult] {
        // An index would hide which conditions fail.
        let isIndexed = recorder == nil
        let shared = ruleSet(for: file, slurps: [], isIndexed: isIndexed, sharing: earlier)
        var results: [RuleTestResult] = []
        for test in file.tests {
            let ruleSet = test.slurps.isEmpty ? shared : ruleSet(for: file, slurps: test.slurps, isIndexed: isIndexed)
            guard let decision = await test.decision(ruleSet, now: now, recorder?.rules) else { continue }
            recorder?.end(decision)
            results.append(test.result(decision, ruleSet, path: file.path))
        }
        return results
    }

    /// The rules of one file, as its tests run them. A `slurp` name without data stands for a file without documents.
    func ruleSet(
        for file: RuleFile, slurps: [JQBinding], isIndexed: Bool = true, sharing earlier: RuleSet? = nil
    ) -> RuleSet {
        RuleSet(
            file.rules, kind: file.kind, otherwise: file.otherwise?.value ?? .pass, programs: programs,
            bindings: file.bindings(slurps), isIndexed: isIndexed, sharing: earlier)
    }
}

extension RuleFile {
    /// The variables of its programs, with the data of a test.
    func bindings(_ slurps: [JQBinding]) -> [JQBinding] {
        self.slurps.map { name in
            slurps.first { $0.name == name.text } ?? JQBinding(emptyListNamed: name.text)
        }
    }
}

extension RuleTest {
    /// What the rules decide for the test's document. Nil if jq is not available.
    ///
    /// - Parameter now: `$now` if the test does not set it.
    func decision(_ ruleSet: RuleSet, now: Int, _ recorder: CoverageRecorder? = nil) async -> Decision? {
        let now = self.now ?? now
        var lastSeen: [String: LastSeen] = [:]
        if let before { lastSeen = await ruleSet.lastSeen(of: before, now: now) }
        var input = input(given, lastSeen: lastSeen)
        input.test.recorder = recorder
        return await ruleSet.makeDecider().decide(on: [input], now: now).first
    }

    /// The test with another document.
    ///
    /// - Parameter lastSeen: The states of the document that rules last saw, by the rule's name.
    func input(_ given: JSONText, lastSeen: [String: LastSeen]) -> DecisionInput {
        var input = DecisionInput(
            given, isDeleted: given.root["_deleted"]?.bool == true, lastSeen: lastSeen,
            isLost: given.root["_removed"]?.bool == true, isInConflict: isInConflict)
        input.test.participants = only.map(Set.init)
        return input
    }

    func report(_ decision: Decision, _ ruleSet: RuleSet) -> DecisionReport {
        DecisionReport(given, decision, names: ruleSet.names, aggregates: ruleSet.aggregates)
    }

    func result(_ decision: Decision, _ ruleSet: RuleSet, path: String) -> RuleTestResult {
        RuleTestResult(
            path: path, position: position, name: name,
            mismatches: expectation.mismatches(with: report(decision, ruleSet)))
    }
}
