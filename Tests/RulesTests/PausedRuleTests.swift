import LosslessJSON
import Testing

@testable import Rules

/// Rules that are paused while a bot runs.
@Suite struct PausedRuleTests {
    private static let lines = [
        "name: a, when: { type: t }, then: [{ merge: { a: 1 } }]",
        "name: b, when: { type: t }, then: [{ merge: { b: 1 } }]",
        "name: c, when: { type: t }, changed: [x], then: [{ merge: { c: 1 } }]",
        "name: d, on: [delete], when: {}, then: [{ put: { id: x, document: {} } }]",
        "name: e, when: { type: t }, at: .due, then: [{ merge: { e: 1 } }]",
        "name: f, when: { type: t }, then: [{ aggregate: { into: total, count: { n: true } } }]",
    ]

    private func rules() throws -> RuleSet {
        try ruleSet("version: 1\nrules:\n" + Self.lines.map { "- { \($0) }\n" }.joined())
    }

    private func fired(_ rules: RuleSet, _ input: DecisionInput) async throws -> [String] {
        let decision = try #require(await rules.makeDecider().decide(on: [input], now: 100).first)
        return decision.fired.map { rules.names[$0] }
    }

    @Test func pausedRulesDoNotFire() async throws {
        let rules = try rules()
        let document = try JSONText(#"{"_id":"1","type":"t","x":2,"due":5}"#)
        let seen = await rules.lastSeen(of: try JSONText(#"{"_id":"1","type":"t","x":1}"#), now: 0)
        #expect(Set(seen.keys) == ["c"])
        let input = DecisionInput(document, lastSeen: seen)
        #expect(try await fired(rules, input) == ["a", "b", "c", "e", "f"])
        let paused = rules.pausing(["a", "c", "e", "none"])
        #expect(paused.paused == ["a", "c", "e"])
        #expect(try await fired(paused, input) == ["b", "f"])
        let decision = try #require(await paused.makeDecider().decide(on: [input], now: 100).first)
        // They neither remember documents nor set timers.
        #expect(decision.seen.isEmpty && decision.times.isEmpty)
        #expect(try await fired(paused.pausing([]), input) == ["a", "b", "c", "e", "f"])
    }

    /// Whatever was recorded about the rules stays valid.
    @Test func pausedRulesRemainInTheSet() throws {
        let rules = try rules()
        let paused = rules.pausing(["b", "c", "e"])
        #expect(paused.hash == rules.hash && paused.names == rules.names && !paused.isPartial)
        #expect(paused.fingerprints == rules.fingerprints && paused.comparing == rules.comparing)
        #expect(paused.timedRules == ["e"])
        #expect(rules.pausing([]) === rules && paused.pausing(["e", "c", "b"]) === paused)
    }

    @Test func documentsOfPausedRulesAreFiltered() throws {
        let rules = try ruleSet(lines: Self.lines[0], Self.lines[3])
        let live = try JSONText(#"{"_id":"1","type":"t"}"#)
        let tombstone = try JSONText(#"{"_id":"1","_deleted":true}"#)
        func mayFire(_ paused: Set<String>) -> [Bool] {
            let decider = rules.pausing(paused).makeDecider()
            return [
                decider.mayFire(on: live.root, isDeleted: false), decider.mayFire(on: tombstone.root, isDeleted: true),
            ]
        }
        #expect(mayFire([]) == [true, true])
        #expect(mayFire(["a"]) == [false, true])
        #expect(mayFire(["d"]) == [true, false])
    }

    /// Counts need every change.
    @Test func aggregatesCannotBePaused() throws {
        #expect(try rules().pausing(["f", "a"]).paused == ["a"])
    }
}
