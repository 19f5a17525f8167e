import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import Pipeline

/// What a candidate leads to, before anything is written.
@Suite(.limitedParallelism) struct PlannerTests {
    private static let rules = """
        version: 1
        rules:
          - name: done
            when: { type: task, done: { $exists: false } }
            then: [{ merge: { done: false } }]
          - name: remove
            when: { type: old }
            then: [{ delete: true }]
          - name: log
            when: { type: logged }
            then: [{ put: { id: log, document: { type: log } } }]

        """

    private func planner(countsEffects: Bool = true) throws -> Planner {
        let set = try ruleSet(Self.rules)
        let interruptions = InterruptedDecisions()
        return Planner(
            ruleSet: set, decider: set.makeDecider(), interruptions: interruptions, note: interruptions.makeNote(0),
            countsEffects: countsEffects, now: { 0 })
    }

    private func plan(_ document: String, countsEffects: Bool = true) async throws -> (Planner.Plan?, Settlement) {
        var settled = Settlement()
        let candidate = Candidate(id: "a", revision: RevisionID("1-a"), document: Array(document.utf8))
        let plans = try await planner(countsEffects: countsEffects).plan([candidate], &settled)
        return (plans.first, settled)
    }

    @Test(arguments: [
        (#"{"_id":"a","_rev":"1-a","type":"task"}"#, #"{"_id":"a","_rev":"1-a","type":"task","done":false}"#),
        (
            #"{"_id":"a","_rev":"1-a","_cv":"2@x","type":"task"}"#,
            #"{"_id":"a","_rev":"1-a","type":"task","done":false}"#
        ),
        (#"{"_id":"a","_rev":"1-a","type":"task","done":true}"#, nil), (#"{"_id":"a","type":"logged"}"#, nil),
    ])
    func theChangedDocumentIsWrittenIfItChanged(document: String, written: String?) async throws {
        let (found, settled) = try await plan(document)
        let plan = try #require(found)
        #expect(settled.isEmpty)
        #expect(plan.decision.isChanged == (written != nil))
        guard let written else { return }
        let write = plan.write(keepsContent: false)
        #expect(String(decoding: write.document.segments.joined(), as: UTF8.self) == written)
        // What was read is let go: after a refusal the document is read again.
        #expect(write.candidate.isUnread && write.candidate.rules == ["done"])
    }

    @Test func aDeletionIsMarkedAsOne() async throws {
        let plan = try #require(try await plan(#"{"_id":"a","_rev":"1-a","type":"old"}"#).0)
        #expect(
            plan.write(keepsContent: false).candidate.isDeletion
                && plan.write(keepsContent: false).candidate.rules == ["remove"])
    }

    /// A `put` alone is an effect, too: the content that leads to it is counted.
    @Test(arguments: [
        (#"{"_id":"a","type":"logged"}"#, true, true), (#"{"_id":"a","type":"task"}"#, true, true),
        (#"{"_id":"a","type":"task"}"#, false, false), (#"{"_id":"a","type":"other"}"#, true, false),
    ])
    func whatHasAnEffectHasAFingerprint(document: String, countsEffects: Bool, isPrinted: Bool) async throws {
        let plan = try #require(try await plan(document, countsEffects: countsEffects).0)
        #expect((plan.candidate.content != nil) == isPrinted)
    }

    /// A write goes where its `_id` says: with another one it would make a document that nobody asked for.
    @Test(arguments: [
        (#"{"_id":"b","type":"task"}"#, "_id is not the id of the change"), (#"{"type":"task"}"#, "_id is not the id"),
        (#"{"_id":1,"type":"task"}"#, "_id is not the id"), (#"{"_id":"a","#, "ends inside a value"),
        (#"[]"#, "_id is not the id"), (#"{"_id":"a","_cv":"1","_cv":"2"}"#, "_cv"),
    ])
    func whatCannotBeDecidedIsDeadLettered(document: String, reason: String) async throws {
        let (plan, settled) = try await plan(document)
        #expect(plan == nil)
        let deadLetter = try #require(settled.deadLetters.first)
        #expect(deadLetter.reason.contains(reason), "\(deadLetter.reason)")
        #expect(deadLetter.id == "a" && deadLetter.revision == RevisionID("1-a"))
    }
}
