import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Rules with `changed`, `on: [enter]` or `on: [leave]`, without jq programs.
@Suite struct EdgeRuleTests {
    private static let deleted = #"{"_id":"t","_rev":"9-d","_deleted":true}"#

    private func task(_ members: String, revision: Int = 1) -> String {
        #"{"_id":"t","_rev":"\#(revision)-a","type":"task"\#(members.isEmpty ? "" : ",")\#(members)}"#
    }

    // MARK: - changed

    @Test func changedFiresIfAMemberDiffers() async throws {
        var memory = try RuleMemory("name: a, when: {type: task}, changed: [complete, address.city], then: []")
        #expect(try await memory.fired(task(#""complete":false"#)) == [])
        #expect(try await memory.fired(task(#""complete":false,"title":"x""#)) == [])
        let decision = try await memory.look(task(#""complete":true,"address":{"city":"Rome"}"#))
        #expect(decision.firedEdges[0]?.changed == ["complete", "address.city"])
        #expect(try await memory.fired(task(#""complete":true,"address":{"street":"x","city":"Rome"}"#)) == [])
        #expect(try await memory.fired(task(#""complete":true"#)) == ["a"])
        #expect(try await memory.fired(task(#""complete":true,"address":7"#)) == [])
        #expect(try await memory.fired(task("")) == ["a"])
        #expect(try await memory.fired(task(#""complete":null"#)) == ["a"])
    }

    /// A document matches only once the member has changed, so the rule must have seen it before.
    @Test func changedSeesDocumentsThatDoNotMatchYet() async throws {
        var memory = try RuleMemory("name: a, when: {type: task, complete: true}, changed: [complete], then: []")
        #expect(try await memory.fired(task(#""complete":false"#)) == [])
        #expect(try await memory.fired(task(#""complete":true"#)) == ["a"])
        #expect(try await memory.fired(task(#""complete":true,"n":1"#)) == [])
        #expect(try await memory.fired(task(#""complete":false"#)) == [])
        #expect(try await memory.fired(task(#""complete":true"#)) == ["a"])
    }

    @Test(arguments: [
        ("when: {type: task, complete: true}", true), ("when: {type: note, complete: true}", false),
        ("when: {$or: [{type: note}, {complete: false}]}", true), ("when: {type: note, address: {city: x}}", false),
        ("when: {type: task}", true),
    ])
    func changedIgnoresDocumentsOfOtherKinds(when: String, isSeen: Bool) async throws {
        var memory = try RuleMemory("name: a, \(when), changed: [complete, address.city], then: []")
        let document = try JSONText(task(#""complete":false"#))
        #expect(memory.set.makeDecider().mayFire(on: document.root, isDeleted: false) == isSeen)
        try await memory.look(document.string)
        #expect((memory.lastSeen["a"] != nil) == isSeen)
    }

    @Test(arguments: [
        ("1", "1.0"), ("100", "1e2"), ("0", "-0"), (#""a""#, #""\u0061""#),
        (#"{"a":1,"b":[2]}"#, #"{"b":[2.0], "a": 1}"#),
        ("1e300", "10e299"),
    ])
    func equalValuesDoNotDiffer(one: String, other: String) async throws {
        var memory = try RuleMemory("name: a, when: {}, changed: [v], then: []")
        try await memory.look(#"{"_id":"t","v":\#(one)}"#)
        #expect(try await memory.fired(#"{"_id":"t","v":\#(other)}"#) == [])
    }

    @Test(arguments: [
        ("1", #""1""#), ("9007199254740993", "9007199254740992"), ("null", "false"), ("[]", "{}"), ("[1,2]", "[2,1]"),
        (#"{"revpos":1}"#, #"{"revpos":2}"#), (#"["ab","c"]"#, #"["a","bc"]"#), ("0.1", "0.10000000000000002"),
        ("[1,23]", "[12,3]"), ("[1,2]", "[12]"), ("[[1],2]", "[[1,2]]"), (#"{"a":1,"b":2}"#, #"{"a":12}"#),
        ("1e400", "1e500"), ("[true,1]", #"["true",1]"#),
    ])
    func differentValuesDiffer(one: String, other: String) async throws {
        var memory = try RuleMemory("name: a, when: {}, changed: [v], then: []")
        try await memory.look(#"{"_id":"t","v":\#(one)}"#)
        #expect(try await memory.fired(#"{"_id":"t","v":\#(other)}"#) == ["a"])
    }

    @Test func revisionOfAnAttachmentIsNotADifference() async throws {
        func document(_ digest: String, _ position: Int) -> String {
            #"{"_id":"t","_attachments":{"a":{"digest":"\#(digest)","revpos":\#(position),"stub":true}}}"#
        }
        var memory = try RuleMemory("name: a, when: {}, changed: [_attachments], then: []")
        try await memory.look(document("sha1-x", 1))
        #expect(try await memory.fired(document("sha1-x", 2)) == [])
        #expect(try await memory.fired(document("sha1-y", 2)) == ["a"])
    }

    @Test func firstFireAlsoFiresOnNewDocuments() async throws {
        var memory = try RuleMemory("name: a, when: {type: task}, changed: [complete], first: fire, then: []")
        let decision = try await memory.look(task(#""complete":false"#))
        #expect(decision.firedEdges[0]?.changed == ["complete"])
        #expect(try await memory.fired(task(#""complete":false"#)) == [])
    }

    @Test func deletionIsNoChange() async throws {
        var memory = try RuleMemory("name: a, when: {}, changed: [complete], then: []")
        try await memory.look(task(#""complete":true"#))
        #expect(try await memory.fired(Self.deleted, isDeleted: true) == [])
        #expect(try await memory.fired(task(#""complete":true"#)) == [])
        #expect(try await memory.fired(task(#""complete":false"#)) == ["a"])
    }

    // MARK: - enter and leave

    private static let edges = [
        "name: in, when: {type: task, done: true}, on: [enter], then: []",
        "name: out, when: {type: task, done: true}, on: [leave], then: []",
        "name: both, when: {type: task, done: true}, on: [enter, leave], then: []",
    ]

    private func memory() throws -> RuleMemory {
        try RuleMemory(Self.edges[0], Self.edges[1], Self.edges[2])
    }

    @Test func edgesFireOnceEach() async throws {
        var memory = try memory()
        #expect(try await memory.fired(task(#""done":false"#)) == [])
        #expect(try await memory.fired(task(#""done":true"#)) == ["in", "both"])
        #expect(try await memory.fired(task(#""done":true,"n":1"#)) == [])
        #expect(try await memory.fired(task(#""done":false"#)) == ["out", "both"])
        #expect(try await memory.fired(task(#""done":false,"n":2"#)) == [])
        #expect(try await memory.fired(task(#""done":true"#)) == ["in", "both"])
        #expect(try await memory.fired(Self.deleted, isDeleted: true) == ["out", "both"])
        #expect(try await memory.fired(Self.deleted, isDeleted: true) == [])
        #expect(try await memory.fired(task(#""done":true"#)) == ["in", "both"])
        #expect(try await memory.fired(#"{"_id":"t","_rev":"9-a","_removed":true}"#, isLost: true) == ["out", "both"])
        #expect(try await memory.fired(task(#""done":true"#)) == ["in", "both"])
    }

    @Test func documentOfAnotherKindHasLeft() async throws {
        var memory = try memory()
        try await memory.look(task(#""done":true"#))
        #expect(try await memory.fired(#"{"_id":"t","type":"note"}"#) == ["out", "both"])
    }

    @Test func unknownDocumentThatDoesNotMatchNeedsNoRecord() async throws {
        var memory = try memory()
        try await memory.look(task(""))
        try await memory.look(Self.deleted, isDeleted: true)
        #expect(memory.lastSeen.isEmpty)
    }

    @Test func firstLearnFiresOnlyIfItWasOutsideBefore() async throws {
        var memory = try RuleMemory("name: a, when: {type: task, done: true}, on: [enter], first: learn, then: []")
        #expect(try await memory.fired(task(#""done":true"#)) == [])
        #expect(try await memory.fired(task(#""done":false"#)) == [])
        #expect(try await memory.fired(task(#""done":true"#)) == ["a"])
        var other = try RuleMemory("name: a, when: {type: task, done: true}, on: [enter], first: learn, then: []")
        #expect(other.set.makeDecider().mayFire(on: try JSONText(#"{"_id":"n"}"#).root, isDeleted: false))
        #expect(try await other.fired(#"{"_id":"t"}"#) == [])
        #expect(try await other.fired(task(#""done":true"#)) == ["a"])
    }

    @Test func learningNeverFires() async throws {
        var memory = try RuleMemory(
            Self.edges[0], Self.edges[1], "name: c, when: {}, changed: [done], first: fire, then: []",
            "name: plain, when: {}, then: [merge: {seen: true}]")
        let decision = try await memory.look(task(#""done":true"#), onlyLearns: true)
        #expect(decision.fired.isEmpty && !decision.isChanged)
        #expect(decision.seen.map(\.rule) == ["in", "out", "c"])
        #expect(try await memory.look(task(#""done":true,"seen":true"#)).fired == [3])
        #expect(try await memory.fired(task(#""done":false,"seen":true"#)) == ["out", "c", "plain"])
    }

    @Test func combinationsFireForEachReason() async throws {
        var memory = try RuleMemory(
            "name: a, when: {type: task, done: true}, on: [change, leave], changed: [n], then: []",
            "name: b, when: {type: task, done: true}, on: [change, leave], then: []",
            "name: c, when: {_deleted: true}, on: [enter, delete], then: []")
        #expect(try await memory.fired(task(#""done":true,"n":1"#)) == ["b"])
        #expect(try await memory.fired(task(#""done":true,"n":1,"m":1"#)) == ["b"])
        #expect(try await memory.fired(task(#""done":true,"n":2"#)) == ["a", "b"])
        #expect(try await memory.fired(task(#""done":false,"n":2"#)) == ["a", "b"])
        #expect(try await memory.fired(task(#""done":false,"n":3"#)) == [])
        #expect(try await memory.fired(Self.deleted, isDeleted: true) == ["c"])
    }

    // MARK: - With other rules

    @Test func writeOfAnotherRuleIsAnEdgeInTheSameDecision() async throws {
        var memory = try RuleMemory(
            "name: watch, when: {type: task, done: true}, changed: [done], then: [merge: {told: true}]",
            "name: finish, when: {type: task, n: 3, done: {$ne: true}}, then: [merge: {done: true}]")
        try await memory.look(task(#""done":false"#))
        let decision = try await memory.look(task(#""done":false,"n":3"#))
        #expect(decision.fired == [1, 0])
        #expect(decision.document.root["told"]?.bool == true)
        #expect(try await memory.fired(task(#""done":true,"n":3,"told":true"#)) == [])
    }

    @Test func ruleThatRemovesItsOwnReasonFiresOnceForEachEdge() async throws {
        var memory = try RuleMemory("name: a, when: {status: new}, on: [enter], then: [merge: {status: seen}]")
        #expect(try await memory.fired(#"{"_id":"t","status":"new"}"#) == ["a"])
        #expect(try await memory.fired(#"{"_id":"t","status":"seen"}"#) == [])
        #expect(try await memory.fired(#"{"_id":"t","status":"new"}"#) == ["a"])
    }

    @Test func deletionByAnotherRuleIsLeaving() async throws {
        var memory = try RuleMemory(
            "name: out, when: {type: task}, on: [leave], then: []",
            "name: expire, when: {type: task, old: true}, then: [delete: {}]")
        try await memory.look(task(""))
        let decision = try await memory.look(task(#""old":true"#))
        #expect(decision.fired == [1, 0] && decision.isDeletion)
        #expect(try await memory.fired(Self.deleted, isDeleted: true) == [])
    }

    @Test func leavingIsRecordedIfAnotherRuleChangesTheDocument() async throws {
        var memory = try RuleMemory(
            "name: left, when: {type: task, done: true}, on: [leave], then: [emit: {file: f, line: {jq: ._id}}]",
            "name: mark, when: {type: task, done: false, seen: {$exists: false}}, then: [merge: {seen: true}]")
        try await memory.look(task(#""done":true"#))
        #expect(try await memory.fired(task(#""done":false"#)) == ["left", "mark"])
        #expect(memory.lastSeen["left"]?.matched == false)
        #expect(try await memory.fired(task(#""done":false"#)) == ["mark"])
    }

    @Test func failedDecisionForgetsNothing() async throws {
        var memory = try RuleMemory(
            "name: in, when: {type: task}, on: [enter], then: []",
            "name: bad, when: {n: 1}, then: [patch: [{op: remove, path: /missing}]]")
        #expect(try await memory.look(task(#""n":1"#)).error != nil)
        #expect(try await memory.fired(task(#""n":2"#)) == ["in"])
    }

    @Test func skippedRuleSeesTheEdgeAgain() async throws {
        var memory = try RuleMemory(
            "name: in, when: {type: task}, on: [enter], on_error: skip, then: [patch: [{op: remove, path: /n}]]")
        let decision = try await memory.look(task(""))
        #expect(decision.skipped.map(\.rule) == ["in"] && decision.seen.isEmpty)
        #expect(try await memory.fired(task(#""n":2"#)) == ["in"])
    }

    // MARK: - The key of an edge

    @Test func keyIsTheSameAfterACrash() async throws {
        var memory = try RuleMemory("name: a, when: {type: task}, changed: [n], then: []")
        try await memory.look(task(#""n":1"#))
        let lost = try await memory.look(task(#""n":2"#, revision: 2), isRecorded: false)
        let again = try await memory.look(task(#""n":2,"m":1"#, revision: 3))
        #expect(lost.firedEdges[0]?.key == again.firedEdges[0]?.key)
        var keys: Set<String?> = [again.firedEdges[0]?.key]
        for (number, revision) in [(1, 4), (2, 5), (1, 6), (2, 7)] {
            let decision = try await memory.look(task(#""n":\#(number)"#, revision: revision))
            let isNew = keys.insert(decision.firedEdges[0]?.key).inserted
            #expect(isNew)
        }
    }

    @Test func eachEntryHasItsOwnKeyEvenOnOneRevision() async throws {
        var memory = try RuleMemory(Self.edges[2])
        var keys: Set<String> = []
        for _ in 0..<4 {
            for decision in [
                try await memory.look(task(#""done":true"#)),
                try await memory.look(#"{"_id":"t","_rev":"1-a"}"#, isLost: true),
            ] {
                for edge in decision.firedEdges.values.compactMap(\.key) { keys.insert(edge) }
            }
        }
        #expect(keys.count == 8)
    }

    /// A rule that has forgotten all documents has another number.
    @Test func firstEdgesAfterForgettingHaveOtherKeys() async throws {
        let rule = try RuleMemory("name: a, when: {type: task}, on: [enter], then: []")
        var keys: Set<String?> = []
        for number in [1, 2] {
            let input = DecisionInput(try JSONText(task("")), ruleNumbers: ["a": number])
            let decision = try #require(await rule.set.makeDecider().decide(on: [input], now: 0).first)
            keys.insert(decision.firedEdges[0]?.key)
        }
        #expect(keys.count == 2 && !keys.contains(nil))
    }

    // MARK: - The state

    @Test func recordIsSmall() async throws {
        var memory = try RuleMemory("name: a, when: {type: task}, changed: [n], then: []")
        try await memory.look(task(#""n":"\#(String(repeating: "x", count: 5000))""#))
        #expect(memory.lastSeen["a"]?.encoded.count == 9)
    }

    @Test(arguments: [[], [9], [2, 1], [1, 0, 0]] as [[UInt8]])
    func damagedRecordIsUnknown(bytes: [UInt8]) {
        #expect(LastSeen(encoded: bytes, memberCount: 1) == nil)
    }
}
