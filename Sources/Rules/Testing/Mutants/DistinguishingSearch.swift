internal import Encodings
internal import JQ
internal import LosslessJSON

/// Searches for a document that a changed rule treats differently, by trying variants of the tests' documents.
struct DistinguishingSearch {
    /// One document to try.
    struct Trial {
        var given: SourceNode
        var before: JSONText?
    }

    /// The maximum number of tests whose documents are varied.
    private static let baseLimit = 6
    /// The maximum number of documents that are tried for each test.
    private static let trialLimit = 200
    /// The number of documents that are decided together.
    private static let chunkSize = 20

    private let mutants: FileMutants
    private let facts: [FileMutants.TestFacts]
    private let values: VariedValues
    /// By the index of the test.
    private var ruleSets: [Int: RuleSet] = [:]

    init(_ mutants: FileMutants, _ facts: [FileMutants.TestFacts]) {
        (self.mutants, self.facts) = (mutants, facts)
        values = VariedValues(facts.map(\.test.given))
    }

    /// Nil if no document was found.
    mutating func difference(_ candidate: FileMutants.Candidate) async -> Mutant.Difference? {
        for index in bases(candidate) {
            let test = facts[index].test
            let base = ruleSet(index)
            let changed = mutants.ruleSet(candidate, base)
            let trials = trials(candidate, test)
            guard let found = await firstDifference(trials, test, base, changed) else { continue }
            let small = await reduced(found, test, base, changed)
            return await difference(small, test, base, changed, candidate)
        }
        return nil
    }

    private mutating func ruleSet(_ index: Int) -> RuleSet {
        let key = facts[index].test.slurps.isEmpty ? -1 : index
        if let set = ruleSets[key] { return set }
        let set = mutants.ruleSet(facts[index].test.slurps)
        ruleSets[key] = set
        return set
    }

    /// The tests to begin with: those in which the rule fires, then those that evaluate the changed place.
    private func bases(_ candidate: FileMutants.Candidate) -> ArraySlice<Int> {
        let firing = facts.indices.filter { facts[$0].fired.contains(candidate.rule) }
        let reaching = facts.indices.filter { index in
            !firing.contains(index) && (candidate.place.map(facts[index].reached.contains) ?? true)
        }
        let others = facts.indices.filter { !firing.contains($0) && !reaching.contains($0) }
        return (firing.prefix(3) + reaching + others).prefix(Self.baseLimit)
    }

    private func trials(_ candidate: FileMutants.Candidate, _ test: RuleTest) -> [Trial] {
        guard var given = test.given.node else { return [] }
        let rules = [mutants.rules[candidate.rule], candidate.changed]
        if !facts.contains(where: { $0.fired.contains(candidate.rule) }) {
            given = VariedValues.matching(given, rules[0])
        }
        var trials = [Trial(given: given, before: test.before)]
        // Rules with `changed`, `enter` or `leave` also depend on the earlier state.
        let before = rules.contains { $0.edges != nil } ? given.jsonText : nil
        if before != nil { trials.append(Trial(given: given, before: before)) }
        for document in values.variants(of: given, for: rules, limit: Self.trialLimit) {
            trials.append(Trial(given: document, before: test.before))
            if before != nil { trials.append(Trial(given: document, before: before)) }
        }
        return trials
    }

    // MARK: - Comparing decisions

    private func summaries(_ trials: [Trial], _ test: RuleTest, _ ruleSet: RuleSet) async -> [DecisionSummary] {
        let now = test.now ?? mutants.now
        var inputs: [DecisionInput] = []
        var lastSeen: [[UInt8]: [String: LastSeen]] = [:]
        for trial in trials {
            let before = trial.before?.bytes ?? []
            if let document = trial.before, lastSeen[before] == nil {
                lastSeen[before] = await ruleSet.lastSeen(of: document, now: now)
            }
            inputs.append(test.input(trial.given.jsonText, lastSeen: lastSeen[before] ?? [:]))
        }
        let decisions = await ruleSet.makeDecider().decide(on: inputs, now: now)
        return zip(inputs, decisions).map { input, decision in
            DecisionSummary(
                DecisionReport(input.document, decision, names: ruleSet.names, aggregates: ruleSet.aggregates))
        }
    }

    /// Prefers documents for which the rules as written do not fail.
    private func firstDifference(
        _ trials: [Trial], _ test: RuleTest, _ base: RuleSet, _ changed: RuleSet
    ) async -> Trial? {
        var failing: Trial?
        for start in stride(from: 0, to: trials.count, by: Self.chunkSize) {
            let chunk = Array(trials[start..<min(start + Self.chunkSize, trials.count)])
            let expected = await summaries(chunk, test, base)
            let actual = await summaries(chunk, test, changed)
            for (index, trial) in chunk.enumerated() where expected[index].difference(from: actual[index]) != nil {
                if !expected[index].isFailure { return trial }
                failing = failing ?? trial
            }
        }
        return failing
    }

    /// Without the members that are not needed for the difference.
    private func reduced(_ trial: Trial, _ test: RuleTest, _ base: RuleSet, _ changed: RuleSet) async -> Trial {
        var trial = trial
        guard case .object(let members) = trial.given.content else { return trial }
        let firedCount = await summaries([trial], test, base)[0].fired.count
        for member in members where member.name != "_id" {
            guard let smaller = trial.given.removing([.member(member.name)], prunes: false) else { continue }
            let candidate = Trial(given: smaller, before: trial.before)
            let expected = await summaries([candidate], test, base)
            let actual = await summaries([candidate], test, changed)
            // Without the member, other rules must not fire.
            guard !expected[0].isFailure, expected[0].fired.count <= firedCount,
                expected[0].difference(from: actual[0]) != nil
            else { continue }
            trial = candidate
        }
        return trial
    }

    private func difference(
        _ trial: Trial, _ test: RuleTest, _ base: RuleSet, _ changed: RuleSet, _ candidate: FileMutants.Candidate
    ) async -> Mutant.Difference? {
        let expected = await summaries([trial], test, base)[0]
        let actual = await summaries([trial], test, changed)[0]
        guard let (member, value, other) = expected.difference(from: actual) else { return nil }
        let rule = mutants.rules[candidate.rule]
        let isFired = member == "fired" ? expected.fired.contains(rule.name) : nil
        var lines = ["name: " + FlowText.quoted(candidate.mutation.testName(rule.name, isFired: isFired, member))]
        if test.now != nil || mutants.rules.contains(where: \.usesTime) {
            lines.append("now: \(Timestamp.text(test.now ?? mutants.now))")
        }
        if test.isInConflict { lines.append("in_conflict: true") }
        if !test.slurps.isEmpty { lines.append("slurp: " + FlowText.text(test.slurps)) }
        if let before = trial.before { lines.append("before: " + FlowText.text(before.root)) }
        let document = FlowText.text(trial.given)
        lines.append("given: " + document)
        lines.append("expect: " + expected.expectation(showing: member))
        return Mutant.Difference(
            document: document, member: member, expected: value, actual: other, test: lines,
            isFailure: expected.isFailure)
    }
}

extension JSONText {
    /// As a value of a rule file. Nil if such files can't contain it.
    var node: SourceNode? { JSONSource.read(bytes, errors: SourceErrors(path: "")) }
}

extension FlowText {
    /// The `slurp` of a test.
    fileprivate static func text(_ slurps: [JQBinding]) -> String {
        var writer = JSONWriter()
        writer.object { writer in for slurp in slurps { writer.member(slurp.name, raw: slurp.json) } }
        return (try? JSONText(writer.bytes)).map { text($0.root) } ?? "{}"
    }
}

extension Mutation {
    /// The maximum number of characters of a change in the name of a test.
    private static let nameLimit = 80

    /// What a test proves that notices the change: `tidy fires if n: { $gt: 5 }`.
    ///
    /// - Parameters:
    ///   - isFired: Whether the rule as written fires. Nil if the change matters only for what it does.
    ///   - member: The member of `expect` that shows the difference.
    fileprivate func testName(_ rule: String, isFired: Bool?, _ member: String) -> String {
        let rule = DisplayText.plain(rule)
        guard let isFired else { return "\(rule): exact \(member) (\(Self.short(change)))" }
        let verb = isFired ? "fires" : "does not fire"
        guard let condition else { return "\(rule) \(verb) (\(Self.short(change)))" }
        let word = isFired != condition.isException ? "if" : "unless"
        return "\(rule) \(verb) \(word) \(Self.short(condition.text))"
    }

    private static func short(_ text: String) -> String {
        let plain = text.filter { $0 != "`" }
        return plain.count > nameLimit ? plain.prefix(nameLimit) + "…" : plain
    }
}
