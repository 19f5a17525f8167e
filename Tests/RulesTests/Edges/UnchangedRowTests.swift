import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Which documents need no decision, because rules with `changed`, `enter` or `leave` see nothing new.
@Suite struct UnchangedRowTests {
    private static let first = #"{"_id":"t","_rev":"1-a","type":"task","done":false,"n":1}"#

    /// The rule sees the first document, then another one.
    @Test(arguments: [
        ("changed: [n]", #""done":true,"n":1.0"#, true), ("changed: [n]", #""n":2"#, false),
        ("changed: [n]", "", false), ("changed: [n, done]", #""n":1,"done":true"#, false),
        // A change of a remembered value must be recorded.
        ("changed: [n], remember: [done]", #""n":1,"done":true"#, false),
        ("changed: [n], remember: [done]", #""n":1,"done":false,"x":1"#, true),
        ("on: [enter], when: {done: true}", #""done":false,"n":2"#, true),
        ("on: [enter], when: {done: true}", #""done":true"#, false),
        ("on: [leave], when: {done: false}", #""done":false,"n":2"#, true),
        ("on: [leave], when: {done: false}", #""done":true"#, false),
        // It fires for any change.
        ("on: [change, leave], when: {done: false}", #""done":false,"n":2"#, false),
        // Only the program can tell.
        ("on: [leave], if: .n == 1", #""n":1"#, false),
        ("changed: [n], if: .n == 1", #""n":1"#, true),
        ("changed: [n], if: .n == 1", #""n":2"#, false),
    ])
    func documentWithoutADifferenceNeedsNoDecision(rule: String, members: String, isUnchanged: Bool) throws {
        let when = rule.contains("when:") ? "" : "when: {type: task}, "
        var memory = try RuleMemory("name: a, \(when)\(rule), then: []")
        try memory.remember(Self.first)
        let document = #"{"_id":"t","_rev":"2-b","type":"task"\#(members.isEmpty ? "" : ",")\#(members)}"#
        #expect(memory.endsAtTheIntake(try JSONText(document)) == isUnchanged)
    }

    @Test func firstSightNeedsADecisionOnlyIfThereIsSomethingToRemember() throws {
        let document = try JSONText(Self.first)
        for (rule, isUnchanged) in [
            ("changed: [n], when: {type: task}", false), ("changed: [n], when: {type: note}", true),
            ("on: [enter], when: {done: true}", true), ("on: [enter], first: learn, when: {done: true}", false),
            ("on: [leave], when: {done: true}", true), ("on: [leave], when: {done: false}", false),
        ] {
            let memory = try RuleMemory("name: a, \(rule), then: []")
            #expect(memory.endsAtTheIntake(document) == isUnchanged, "\(rule)")
        }
    }

    @Test func otherRulesNeedADecision() throws {
        let edge = "name: a, when: {type: task}, changed: [n], then: []"
        for (other, isUnchanged) in [
            ("when: {done: false}, then: []", false), ("when: {done: true}, then: []", true),
            (#"when: {done: true}, at: '"2020-01-01"', then: []"#, true),
            (#"when: {done: false}, at: '"2020-01-01"', then: []"#, false),
        ] {
            var memory = try RuleMemory(edge, "name: b, \(other)")
            try memory.remember(Self.first)
            #expect(memory.endsAtTheIntake(try JSONText(Self.first)) == isUnchanged, "\(other)")
        }
    }

    /// ``RuleMemory/look(_:isDeleted:isLost:onlyLearns:isRecorded:)`` compares the answer with the decision.
    @Test func answerAgreesWithTheDecision() async throws {
        var random = SplitMix64(seed: 20)
        var unchanged = 0
        for _ in 0..<400 {
            var memory = try RuleMemory(randomRule("a", &random), randomRule("b", &random))
            for revision in 1...12 {
                let document = randomDocument(revision, &random)
                if memory.endsAtTheIntake(try JSONText(document)) { unchanged += 1 }
                try await memory.look(document)
            }
        }
        #expect(unchanged > 400)
    }

    private func randomRule(_ name: String, _ random: inout SplitMix64) -> String {
        let when = ["{}", "{done: true}", "{n: {$gt: 1}}", "{done: {$exists: true}, n: 1}"].randomElement(
            using: &random)
        let on =
            ["change", "enter", "leave", "enter, leave", "change, leave", "change, enter"]
            .randomElement(using: &random) ?? ""
        let changed = on.contains("change") && (on == "change" || Bool.random(using: &random)) ? ", changed: [n]" : ""
        let remember = on.contains("enter") && on == "enter" || Bool.random(using: &random) ? "" : ", remember: [done]"
        let first = on == "leave" ? "" : ["", ", first: learn", ", first: fire"].randomElement(using: &random) ?? ""
        return "name: \(name), when: \(when ?? ""), on: [\(on)]\(changed)\(remember)\(first), then: []"
    }

    private func randomDocument(_ revision: Int, _ random: inout SplitMix64) -> String {
        let done = ["", #","done":true"#, #","done":false"#].randomElement(using: &random) ?? ""
        let n = ["", #","n":1"#, #","n":1.0"#, #","n":2"#].randomElement(using: &random) ?? ""
        return #"{"_id":"t","_rev":"\#(revision)-a"\#(done)\#(n)}"#
    }
}
