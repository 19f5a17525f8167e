import LosslessJSON
import Testing

@testable import Rules

/// The output of `explain` agrees with the decisions of `run`.
@Suite struct ExplainedDecisionTests {
    private func explained(
        _ set: RuleSet, _ document: String, only names: [String]? = nil
    ) async throws -> (lines: [String], summary: String) {
        let input = DecisionInput(try JSONText(document))
        let (rules, summary) = await set.explain(input, now: 5, only: names)
        return (rules.flatMap { $0.rendered() }, summary)
    }

    @Test func ruleLoopIsShown() async throws {
        let set = try ruleSet(
            lines: "name: up, when: {x: 1}, then: [merge: {x: 2}]", "name: down, when: {x: 2}, then: [merge: {x: 1}]")
        let (lines, summary) = try await explained(set, #"{"x":1}"#)
        #expect(lines.first == "up   fires; but the document becomes a dead letter, see below")
        #expect(summary == "all rules together: the document becomes a dead letter: rule loop: up ↔ down")
    }

    @Test func undecidableRuleFailsTheWholeDecision() async throws {
        let rules = ["name: good, when: {}, then: [merge: {y: 1}]", "name: bad, %when: {x: {$mod: [0, 0]}}, then: []"]
        let strict = try ruleSet(lines: rules[0], rules[1].replacing("%", with: ""))
        let (lines, summary) = try await explained(strict, #"{"x":1}"#)
        #expect(lines.contains("good   fires; but the document becomes a dead letter, see below"))
        #expect(summary == "all rules together: the document becomes a dead letter: rule 'bad': $mod can't divide by 0")
        let lenient = try ruleSet(lines: rules[0], rules[1].replacing("%", with: "on_error: skip, "))
        let skipped = try await explained(lenient, #"{"x":1}"#)
        #expect(skipped.lines.contains("good   fires"))
        #expect(
            skipped.summary
                == "all rules together: good fires; the document is written; skipped: rule 'bad': $mod can't divide by 0"
        )
    }

    @Test func changesOfOtherRulesAreShown() async throws {
        let set = try ruleSet(
            lines: "name: a, when: {x: 1}, then: [merge: {x: 2}]", "name: b, when: {x: 1}, then: [merge: {y: 1}]",
            "name: c, when: {x: 2}, then: [merge: {z: 1}]", "name: d, when: {q: 1}, then: []")
        let (lines, summary) = try await explained(set, #"{"x":1}"#)
        #expect(lines.contains("b   fires; but not after other rules have changed the document"))
        #expect(
            lines.contains(
                "c   does not fire: `when` does not hold; but fires after other rules have changed the document"))
        #expect(lines.contains("d   does not fire: `when` does not hold"))
        #expect(summary == "all rules together: a, c fire; the document is written")
    }

    @Test func explanationOfOneRuleNamesTheOthers() async throws {
        let set = try ruleSet(
            lines: "name: a, when: {x: 1}, then: [merge: {x: 2}]", "name: b, when: {x: 1}, then: [merge: {y: 1}]")
        let (lines, summary) = try await explained(set, #"{"x":1}"#, only: ["b"])
        #expect(lines.first == "b   fires; but not after other rules have changed the document")
        #expect(!lines.contains { $0.hasPrefix("a ") })
        #expect(summary == "all rules together: a fires; the document is written")
    }

    @Test(arguments: ["if: '1 + \"a\"', then: []", "then: [merge: {jq: 'error(\"no\")'}]"])
    func ruleThatFailsOnlyOnTheOriginalIsExplained(rest: String) async throws {
        let first = "name: a, when: {done: {$exists: false}}, then: [merge: {done: true}]"
        let set = try ruleSet(lines: first, "name: r, when: {done: {$exists: false}}, \(rest)")
        let (lines, summary) = try await explained(set, "{}")
        let line = try #require(lines.first { $0.hasPrefix("r ") })
        #expect(line.hasSuffix("; but other rules change the document first, and then it does not fire"), "\(line)")
        #expect(summary == "all rules together: a fires; the document is written")
    }

    @Test func ruleThatFailsOnlyAfterOthersIsExplained() async throws {
        let set = try ruleSet(
            lines: "name: a, when: {x: 1}, then: [merge: {x: two}]", "name: b, when: {x: two}, if: .x + 1 > 2, then: []"
        )
        let (lines, _) = try await explained(set, #"{"x":1}"#)
        #expect(
            lines.contains(
                "b   does not fire: `when` does not hold; but fails after other rules have changed the document, see "
                    + "below"
            ))
    }

    @Test func valuesReadByIfAreShown() async throws {
        let set = try ruleSet(lines: "name: a, when: {}, if: .stamped != .edit.n and $now > 3, then: []")
        let (lines, _) = try await explained(set, #"{"edit":{"n":3}}"#)
        let line = try #require(lines.first { $0.hasPrefix("  if: .stamped != .edit.n and $now > 3") })
        #expect(line.hasSuffix("✓  .stamped is missing, .edit.n is 3, $now is 5"))
    }

    @Test func skippedRuleIsExplained() async throws {
        let set = try ruleSet(lines: #"name: a, on_error: skip, when: {}, then: [merge: {jq: "error(\"no\")"}]"#)
        let (lines, summary) = try await explained(set, "{}")
        #expect(lines.first == "a   fails and is skipped: merge: the program fails: no")
        #expect(summary.hasPrefix("all rules together: none fires; the document stays as it is; skipped: rule 'a': "))
    }
}
