import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct DecisionTests {
    @Test func ruleWithoutActionsChangesNothing() throws {
        let decision = try ruleSet(lines: "name: a, when: {x: 1}, then: []").decide(#"{"x":1}"#)
        #expect(decision.fired == [0])
        #expect(!decision.isChanged)
        #expect(decision.error == nil)
        #expect(decision.bodySegments() == [Array(#"{"x":1}"#.utf8)])
    }

    @Test func mergeChangesOnlyNamedMembers() throws {
        let set = try ruleSet(
            lines: "name: a, when: {x: {$exists: true}}, then: [merge: {b: 2, gone: null, in: {y: 1}}]")
        let decision = try set.decide(#"{ "x":1.10,"gone" : 0, "in": {"z":12345678901234567890123} }"#)
        #expect(decision.document.string == #"{ "x":1.10, "in": {"z":12345678901234567890123,"y":1},"b":2 }"#)
        #expect(decision.isChanged)
        #expect(try !set.decide(decision.document.string).isChanged)
        #expect(try set.decide(decision.document.string).fired == [0])
    }

    /// A refused write is blamed on a rule that changed the document, not on the last one that fired.
    @Test func lastChangeIsByARuleThatChangedTheDocument() throws {
        let merge = "name: merge, when: {x: 1, y: {$exists: false}}, then: [merge: {y: 1}]"
        let other = "name: put, when: {x: 1}, then: [{put: {id: b, document: {}}}]"
        let set = try ruleSet(lines: merge, other)
        let decision = try set.decide(#"{"_id":"a","x":1}"#)
        #expect(decision.fired == [0, 1])
        func lastChange(_ set: RuleSet) throws -> String? {
            DecisionReport(try JSONText("{}"), try set.decide(#"{"_id":"a","x":1}"#), names: set.names).lastChange
        }
        #expect(try lastChange(set) == "merge")
        #expect(try lastChange(ruleSet(lines: other)) == nil)
        #expect(try lastChange(ruleSet(lines: "name: d, when: {x: 1}, then: [delete: {}]", other)) == "d")
    }

    @Test func rulesSeeChangesOfEarlierRules() throws {
        let set = try ruleSet(
            lines: "name: third, when: {b: 1}, then: [merge: {c: 1}]",
            "name: first, when: {x: 1}, then: [merge: {a: 1}]",
            "name: second, when: {a: 1}, unless: {b: 1}, then: [merge: {b: 1}]")
        let decision = try set.decide(#"{"x":1}"#)
        #expect(decision.document.string == #"{"x":1,"a":1,"b":1,"c":1}"#)
        #expect(decision.fired.map { set.names[$0] } == ["first", "second", "third"])
    }

    @Test func unlessAndOnSelectDocuments() throws {
        let set = try ruleSet(
            lines: "name: change, when: {}, then: []", "name: delete, on: [delete], when: {}, then: []",
            "name: both, on: [change, delete], when: {}, unless: {type: task}, then: []")
        #expect(try set.fired(#"{"type":"task"}"#) == ["change"])
        #expect(try set.fired(#"{"type":"list"}"#) == ["change", "both"])
        #expect(try set.fired(#"{"_id":"a","_deleted":true}"#, isDeleted: true) == ["delete", "both"])
    }

    @Test(arguments: ["[]", "1", "null", #""text""#])
    func valueThatIsNotAnObjectMatchesNothing(text: String) throws {
        let set = try ruleSet(lines: "name: a, when: {}, then: [merge: {a: 1}]")
        let decision = try set.decide(text)
        #expect(decision.fired == [] && !decision.isChanged && decision.error == nil)
    }

    @Test func rulesThatUndoEachOtherAreALoop() throws {
        let set = try ruleSet(
            lines: "name: up, when: {x: 1}, then: [merge: {x: 2}]", "name: idle, when: {x: 2}, then: []",
            "name: down, when: {x: 2}, then: [merge: {x: 1}]")
        let decision = try set.decide(#"{"x":1}"#)
        #expect(decision.error?.description == "rule loop: up ↔ down")
        #expect(decision.document.string == #"{"x":1}"#)
        #expect(!decision.isChanged)
    }

    /// The rules are in reverse order, so each pass advances the document by one step.
    private func chain(_ length: Int) throws -> RuleSet {
        let lines = (1...length).reversed().map {
            "- {name: s\($0), when: {x: \($0)}, then: [merge: {x: \($0 + 1)}]}\n"
        }
        return try ruleSet("version: 1\nrules:\n" + lines.joined())
    }

    @Test func fourChangesFitIntoFivePasses() throws {
        #expect(try chain(4).decide(#"{"x":1}"#).document.string == #"{"x":5}"#)
        #expect(try chain(5).decide(#"{"x":1}"#).error?.description == "rule loop: s5 ↔ s4")
    }

    @Test func ruleThatUndoesItselfChangesNothing() throws {
        let set = try ruleSet(lines: "name: a, when: {x: 1}, then: [merge: {y: 1}, merge: {y: null}]")
        #expect(try set.decide(#"{"x":1,"y":1}"#).document.string == #"{"x":1}"#)
        let decision = try set.decide(#"{"x":1}"#)
        #expect(decision.error == nil && !decision.isChanged)
    }

    @Test(arguments: [
        #"{"x":1,"a":1,"a":2}"#, #"{"x":1,"\u0061":1,"a":2}"#, #"{"x":1,"deep":[{"b":1,"b":1}]}"#,
        #"{"x":1,"_attachments":{},"_attachments":{}}"#,
    ])
    func editOfADocumentWithDuplicateMembersIsAnError(document: String) throws {
        let set = try ruleSet(
            lines: "name: count, when: {x: 1}, then: []", "name: edit, when: {x: 1}, then: [merge: {n: 1}]")
        let decision = try set.decide(document)
        #expect(decision.error?.rule == "edit")
        #expect(decision.error?.reason.hasPrefix("two members are named") == true)
        #expect(decision.fired == [0])
        #expect(decision.document.string == document)
        #expect(try ruleSet(lines: "name: count, when: {x: 1}, then: []").decide(document).error == nil)
    }

    @Test func explosivePatternIsAnErrorOfItsRule() throws {
        let set = try ruleSet(lines: "name: slow, when: {a: {$regex: '^(a+)+$'}}, then: []")
        let document = #"{"a":"\#(String(repeating: "a", count: 60))!"}"#
        let decision = try set.decide(document)
        #expect(decision.error?.rule == "slow")
        #expect(decision.error?.reason.contains("'^(a+)+$' needed more than 10000000 steps") == true)
        #expect(set.makeDecider().mayFire(on: try JSONText(document).root, isDeleted: false))
        #expect(try set.decide(#"{"a":"aaa"}"#).error == nil)
    }

    @Test func documentCannotInjectOperators() throws {
        let set = try ruleSet(lines: "name: a, when: {x: 1}, then: [merge: {y: {z: 1}}]")
        let deep = String(repeating: "[", count: 9_000) + String(repeating: "]", count: 9_000)
        let decision = try set.decide(#"{"x":1,"y":\#(deep),"deep":\#(deep)}"#)
        #expect(decision.document.string == #"{"x":1,"y":{"z":1},"deep":\#(deep)}"#)
    }

    @Test func documentMayBePartOfALargerText() throws {
        let set = try ruleSet(lines: "name: a, when: {x: {$regex: '^o'}}, then: []")
        let batch = try JSONText(#"[{"doc":{"x":"one"}},{"doc":{"x":"two"}}]"#)
        let decider = set.makeDecider()
        let answers = batch.root.elements.map { decider.mayFire(on: $0["doc"]!, isDeleted: false) }
        #expect(answers == [true, false])
    }
}
