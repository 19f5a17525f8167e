import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct ResolveActionTests {
    private func decision(_ rules: RuleSet, _ document: String, isInConflict: Bool) async throws -> Decision {
        let input = DecisionInput(try JSONText(document), isInConflict: isInConflict)
        return try #require(await rules.makeDecider().decide(on: [input], now: 0).first)
    }

    private static let lines = (
        mark: "name: mark, when: {}, then: [{merge: {seen: true}}]",
        tasks: "name: tasks, when: {type: task}, then: [{resolve: merge}]"
    )

    @Test func resolveRunsFirstAndAlone() async throws {
        let rules = try ruleSet(lines: Self.lines.mark, Self.lines.tasks)
        let decision = try await decision(rules, #"{"_id":"t","type":"task"}"#, isInConflict: true)
        #expect(decision.fired == [1] && decision.resolution?.rule == 1)
        #expect(!decision.isChanged && decision.error == nil)
    }

    @Test func resolveDoesNotFireWithoutAConflict() async throws {
        let rules = try ruleSet(lines: Self.lines.mark, Self.lines.tasks)
        let decision = try await decision(rules, #"{"_id":"t","type":"task"}"#, isInConflict: false)
        #expect(decision.fired == [0] && decision.resolution == nil && decision.isChanged)
    }

    @Test func otherRulesApplyIfResolveDoesNot() async throws {
        let rules = try ruleSet(lines: Self.lines.mark, Self.lines.tasks)
        let decision = try await decision(rules, #"{"_id":"t","type":"list"}"#, isInConflict: true)
        #expect(decision.fired == [0] && decision.resolution == nil && decision.isChanged)
    }

    @Test func firstResolveThatFiresDecides() async throws {
        let rules = try ruleSet(
            lines: "name: a, when: {type: task}, if: '.n > 1', then: [{resolve: winner}]",
            "name: b, when: {type: task}, then: [{resolve: {policy: last-update-wins, date: at}}]")
        for (number, rule) in [(1, 1), (2, 0)] {
            let decision = try await decision(rules, #"{"_id":"t","type":"task","n":\#(number)}"#, isInConflict: true)
            #expect(decision.resolution?.rule == rule)
        }
    }

    @Test func explanationsStateWhetherTheDocumentIsInConflict() async throws {
        let rules = try ruleSet(
            lines: Self.lines.mark, Self.lines.tasks, "name: late, when: {}, then: [{resolve: winner}]")
        func explain(isInConflict: Bool) async throws -> [String] {
            let input = DecisionInput(try JSONText(#"{"_id":"t","type":"task"}"#), isInConflict: isInConflict)
            let (explanations, summary) = await rules.explain(input, now: 0)
            return explanations.map(\.reason) + [summary]
        }
        let exclusion =
            "does not fire: it applies only to documents in conflict (use --in-conflict to explain it for one)"
        #expect(
            try await explain(isInConflict: false)
                == ["fires", exclusion, exclusion, "all rules together: mark fires; the document is written"])
        #expect(
            try await explain(isInConflict: true) == [
                "fires; but not before the conflict is resolved", "fires",
                "fires; but another rule resolves the conflict",
                "all rules together: tasks fires; the conflict is resolved first (resolve: merge)",
            ])
    }

    @Test func ruleAfterACatchAllResolveIsReported() throws {
        let narrow = "name: narrow, when: {type: task, done: true}, then: [{resolve: winner}]"
        let gone = "name: gone, when: {type: task}, then: [{delete: {}}]"
        #expect(
            try warnings([Self.lines.tasks, narrow]).contains {
                $0.contains("comes first and resolves the conflicts of all its documents; move it up")
            })
        #expect(try warnings([narrow, Self.lines.tasks]).isEmpty)
        // Rules with `resolve` run first, regardless of their position.
        #expect(try warnings([gone, Self.lines.tasks]).isEmpty)
    }

    @Test func onlyDocumentsThatMayBeInConflictAreCandidates() throws {
        let rules = try ruleSet(lines: Self.lines.tasks)
        let document = try JSONText(#"{"_id":"t","type":"task"}"#)
        let decider = rules.makeDecider()
        #expect(!decider.mayFire(on: document.root, isDeleted: false))
        #expect(decider.mayFire(on: document.root, isDeleted: false, mayBeInConflict: true))
        #expect(rules.resolvesConflicts && rules.conflictRules == ["tasks"])
    }

    @Test(arguments: [
        ("resolve: nonsense", "there is no policy 'nonsense'; write deletes-win, merge, last-update-wins, winner"),
        ("resolve: {}", "resolve needs either 'policy' or 'jq'"),
        ("resolve: {policy: merge, jq: '.[0]'}", "resolve needs either 'policy' or 'jq'"),
        ("resolve: {jq: '.[0'}", "r.yaml:3:50: not a jq program: the program ends too early; write the missing ']'"),
        ("resolve: {jq: '.[0] && .[1]'}", "r.yaml:3:52: not a jq program: '&&' is not allowed here; write 'and'"),
        ("resolve: {jq: 5}", "a jq program must be text"),
        ("resolve: {policy: merge, day: x}", "'day' is not known to this version"),
        ("for_each: '.lines[]', resolve: merge", "'resolve' takes effect only once per document"),
        ("resolve: merge}, {delete: {}", "'resolve' must be the only action of its rule"),
    ])
    func invalidActionsAreRefused(action: String, message: String) {
        let found = errors("version: 1\nrules:\n- { name: a, when: {}, then: [{\(action)}] }\n")
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test(arguments: [
        ("at: '.due', ", "not at set times"), ("on: [delete], ", "'resolve' sees the winning revision"),
    ])
    func invalidRulesAreRefused(members: String, message: String) {
        let found = errors("version: 1\nrules:\n- { name: a, when: {}, \(members)then: [resolve: merge] }\n")
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test func mappingWithResolveIsRefused() {
        let found = errors("version: 1\nkind: mapping\nrules:\n- { name: a, when: {}, then: [resolve: merge] }\n")
        #expect(found.contains { $0.contains("'resolve' has no meaning in a mapping") }, "\(found)")
    }
}
