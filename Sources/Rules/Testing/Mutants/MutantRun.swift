internal import JQ
internal import LosslessJSON

extension RuleFileSet {
    /// Changes the rules in many small ways, and finds the changes that fail no test.
    ///
    /// A test runs again only if it evaluates what was changed. A change is given up at the first test that fails.
    ///
    /// - Precondition: All tests pass.
    /// - Parameter now: `$now` for tests that do not set it, in seconds since 1970.
    package func runMutants(now: Int) async -> MutantRun {
        var files: [MutantRun.File] = []
        for file in self.files { files.append(await FileMutants(file, now: now).run(self)) }
        return MutantRun(files: files)
    }
}

/// The mutants of one rule file, and its tests.
struct FileMutants {
    /// One change, as rules that can run.
    struct Candidate {
        let rule: Int
        let mutation: Mutation
        let changed: Rule
        /// Whether it matters only if its place is evaluated.
        let place: CoverageRecorder.Place?
    }

    /// What a test evaluates with the rules as written.
    struct TestFacts {
        let test: RuleTest
        let reached: CoverageRecorder.Reached
        let fired: Set<Int>
    }

    let file: RuleFile
    let now: Int
    /// The rules as written.
    let rules: [Rule]
    let candidates: [Candidate]
    /// The programs of all rules, changed ones included.
    private let programs: [JQProgram]

    init(_ file: RuleFile, now: Int) {
        (self.file, self.now) = (file, now)
        let shared = RuleReading.Shared()
        rules = file.rules.compactMap { Rule($0.definition.source, file.reading(shared)) }
        var candidates: [Candidate] = []
        for (index, rule) in rules.enumerated() {
            for mutation in Mutation.all(of: rule, CoveredRule(rule), folder: RulePath.folder(of: file.path)) {
                // Changes that make the rule invalid would never be deployed.
                guard let changed = Rule(mutation.source, file.reading(shared)),
                    changed.definition.canonical != rule.definition.canonical
                else { continue }
                let place = mutation.point.map { CoverageRecorder.Place(rule: index, point: $0) }
                // The earlier state of a document is evaluated without being recorded.
                // In another phase, the rule sees other documents.
                let isAlways = rule.edges != nil || changed.edges != nil || rule.phase != changed.phase
                candidates.append(
                    Candidate(rule: index, mutation: mutation, changed: changed, place: isAlways ? nil : place))
            }
        }
        self.candidates = candidates
        programs = shared.programs.all
    }

    func run(_ set: RuleFileSet) async -> MutantRun.File {
        var alive = Array(candidates.indices)
        var facts: [TestFacts] = []
        for group in groups {
            let base = ruleSet(group[0].slurps)
            let found = await self.facts(group)
            var left: [Int] = []
            for index in alive where await survives(candidates[index], found, base) { left.append(index) }
            alive = left
            facts += found
        }
        if facts.isEmpty { facts = await self.facts([.empty]) }
        var survivors: [Mutant] = []
        var search = DistinguishingSearch(self, facts)
        for index in alive {
            var mutant = mutant(candidates[index])
            mutant.isRuleTested = facts.contains { $0.fired.contains(candidates[index].rule) }
            mutant.difference = await search.difference(candidates[index])
            survivors.append(mutant)
        }
        return MutantRun.File(path: file.path, count: candidates.count, survivors: survivors)
    }

    private func mutant(_ candidate: Candidate) -> Mutant {
        Mutant(
            path: file.path, position: candidate.mutation.position, rule: rules[candidate.rule].name,
            change: candidate.mutation.change)
    }

    /// The rules as written, with the programs of all mutants.
    func ruleSet(_ slurps: [JQBinding], isIndexed: Bool = true) -> RuleSet {
        RuleSet(
            rules, kind: file.kind, otherwise: file.otherwise?.value ?? .pass, programs: programs,
            bindings: file.bindings(slurps), isIndexed: isIndexed)
    }

    func ruleSet(_ candidate: Candidate, _ base: RuleSet) -> RuleSet {
        var changed = rules
        changed[candidate.rule] = candidate.changed
        return RuleSet(changed, of: base, keepsOtherwise: true)
    }

    /// Tests that can share helper processes: those without `slurp`, and each of the others.
    private var groups: [[RuleTest]] {
        let plain = file.tests.filter(\.slurps.isEmpty)
        return (plain.isEmpty ? [] : [plain]) + file.tests.filter { !$0.slurps.isEmpty }.map { [$0] }
    }

    private func facts(_ tests: [RuleTest]) async -> [TestFacts] {
        let recorder = FileRecorder(file)
        let ruleSet = ruleSet(tests[0].slurps, isIndexed: false)
        var facts: [TestFacts] = []
        for test in tests {
            guard let decision = await test.decision(ruleSet, now: now, recorder.rules) else { continue }
            facts.append(TestFacts(test: test, reached: recorder.end(decision), fired: Set(decision.fired)))
        }
        return facts
    }

    private func survives(_ candidate: Candidate, _ facts: [TestFacts], _ base: RuleSet) async -> Bool {
        let relevant = facts.filter { facts in candidate.place.map(facts.reached.contains) ?? true }
        guard !relevant.isEmpty else { return true }
        let ruleSet = ruleSet(candidate, base)
        // Tests in which the rule fires notice most changes.
        for isFired in [true, false] {
            for facts in relevant where facts.fired.contains(candidate.rule) == isFired {
                guard let decision = await facts.test.decision(ruleSet, now: now) else { continue }
                let report = facts.test.report(decision, ruleSet)
                if !facts.test.expectation.mismatches(with: report).isEmpty { return false }
            }
        }
        return true
    }
}

extension RuleTest {
    /// Documents for the first tests of a file are variants of this one.
    fileprivate static let empty = RuleTest(
        name: "", position: .start, given: SourceNode.firstDocument.jsonText, only: nil, before: nil,
        isInConflict: false, now: nil, slurps: [], expectation: RuleExpectation())
}

extension SourceNode {
    fileprivate static let firstDocument = SourceNode(
        content: .object([
            Member(name: "_id", position: .start, value: SourceNode(content: .string("t1"), position: .start))
        ]), position: .start)
}

extension RuleFile {
    /// For reading rules of this file again.
    fileprivate func reading(_ shared: RuleReading.Shared) -> RuleReading {
        let reading = RuleReading(path: path, shared: shared)
        reading.kind = kind
        reading.isScheduled = schedule != nil
        reading.variables = slurps.map(\.text)
        return reading
    }
}
