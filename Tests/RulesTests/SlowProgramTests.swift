import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Programs that are each fast enough, but too slow in total.
@Suite(.limitedParallelism) struct SlowProgramTests {
    private static let slow = #"when: {type: slow}, then: [merge: {n: {jq: "[range(200000)] | length"}}]"#
    private static let quick = #"name: quick, when: {}, then: [merge: {seen: {jq: "true"}}]"#

    private static func inputs() throws -> [DecisionInput] {
        try ["slow", "other", "slow"].enumerated().map { number, type in
            DecisionInput(try JSONText(#"{"_id":"\#(number)","type":"\#(type)"}"#))
        }
    }

    private func decider(_ rules: [String], total: Duration) throws -> Decider {
        let lines = (rules + [Self.quick]).map { "- { \($0) }\n" }.joined()
        let decider = try ruleSet("version: 1\nrules:\n" + lines).makeDecider()
        decider.limits = ProgramTime.Limits(total: total, untilDeferred: .milliseconds(2))
        return decider
    }

    @Test func programTimePerDocumentIsLimited() async throws {
        let rules = (1...40).map { "name: slow-\($0), \(Self.slow)" }
        let inputs = try Self.inputs()
        let limited = try decider(rules, total: .milliseconds(4))
        let decisions = await limited.decide(on: inputs, now: 0)
        for decision in [decisions[0], decisions[2]] {
            #expect(decision.error?.rule?.hasPrefix("slow-") == true)
            let reason = decision.error?.reason ?? ""
            #expect(reason.hasPrefix("the programs of all rules run longer than "), "\(reason)")
            #expect(reason.contains(" on this document, mostly in rule 'slow-"), "\(reason)")
            #expect(decision.error?.isTemporary == false)
        }
        #expect(decisions[1].error == nil && decisions[1].document.root["seen"]?.bool == true)
    }

    @Test func skippableRulesAreSkippedBeyondTheLimit() async throws {
        let rules = (1...40).map { "name: slow-\($0), on_error: skip, \(Self.slow)" }
        let decider = try ruleSet("version: 1\nrules:\n" + rules.map { "- { \($0) }\n" }.joined()).makeDecider()
        decider.limits.total = .milliseconds(4)
        let input = try Self.inputs()[0]
        let decision = await decider.decide(on: [input], now: 0)[0]
        #expect(decision.error == nil && decision.skipped.count >= 30, "\(decision.skipped)")
    }

    @Test func slowDocumentDoesNotDelayOthers() async throws {
        let rules = (1...3).map { "name: slow-\($0), \(Self.slow)" }
        let decider = try self.decider(rules, total: .seconds(60))
        let inputs = try Self.inputs()
        let decisions = await decider.decide(on: inputs, now: 0, mayDefer: { $0 == 0 })
        #expect(decisions.map(\.deferral) == [.slow, nil, nil])
        #expect(decisions[1].document.root["seen"]?.bool == true)
        #expect(decisions[2].document.root["n"]?.integer == 200_000)
        // A single document delays no others.
        let alone = await decider.decide(on: [inputs[0]], now: 0, mayDefer: { _ in true })
        #expect(alone[0].deferral == nil && alone.first?.document.root["n"]?.integer == 200_000)
    }
}
