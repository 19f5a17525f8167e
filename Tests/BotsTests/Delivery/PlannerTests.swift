import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Delivery

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

    /// Only a rule that resolves the conflict applies to an own revision in conflict.
    @Test(arguments: [("note", false), ("done", true)])
    func ownRevisionInConflictIsOnlyResolved(type: String, isLeft: Bool) async throws {
        let document = #"{"_id":"a","_rev":"1-a","type":"\#(type)"}"#
        var candidate = Candidate("a", Content(RevisionID("1-a"), Array(document.utf8)))
        candidate.content.conflict = Conflict(
            try ["1-a", "1-0"].map { revision in
                ConflictLeaf(try JSONText(Array(document.utf8)), revision: revision, after: [])
            })
        var progress = CandidateProgress(candidate)
        progress.known.isOwnRevision = true
        progress.known.onlyResolves = true
        let rules = """
            version: 1
            rules:
              - name: one-note
                when: { type: note }
                then: [{ resolve: winner }]
              - name: done
                when: { type: done }
                then: [{ webhook: { url: http://127.0.0.1/ } }]

            """
        let answers = try await planner(rules: rules).plan([progress])
        #expect(try #require(answers.first).leavesOwnRevision(progress.known) == isLeft)
        progress.known.isOwnRevision = false
        #expect(try #require(answers.first).leavesOwnRevision(progress.known) == false)
    }

    private func planner(countsEffects: Bool = true, rules: String = Self.rules) throws -> Planner {
        let set = try ruleSet(rules)
        let interruptions = InterruptedDecisions()
        return Planner(
            ruleSet: set, decider: set.makeDecider(), interruptions: interruptions, note: interruptions.makeNote(0),
            countsEffects: countsEffects, onlyLearns: false, now: { 0 })
    }

    private func progress(_ document: String) -> CandidateProgress {
        CandidateProgress(Candidate("a", Content(RevisionID("1-a"), Array(document.utf8))))
    }

    private func decide(_ document: String, countsEffects: Bool = true) async throws -> CandidateProgress.DecisionResult
    {
        let answers = try await planner(countsEffects: countsEffects).plan([progress(document)])
        return try #require(answers.first)
    }

    /// A candidate with its decision.
    private func planned(_ document: String) async throws -> CandidateProgress {
        var progress = progress(document)
        guard case .proceed = progress.take(try await decide(document)) else { throw NotPlanned() }
        return progress
    }

    private struct NotPlanned: Error {}

    @Test(arguments: [
        (#"{"_id":"a","_rev":"1-a","type":"task"}"#, #"{"_id":"a","_rev":"1-a","type":"task","done":false}"#),
        (
            #"{"_id":"a","_rev":"1-a","_cv":"2@x","type":"task"}"#,
            #"{"_id":"a","_rev":"1-a","type":"task","done":false}"#
        ),
        (#"{"_id":"a","_rev":"1-a","type":"task","done":true}"#, nil), (#"{"_id":"a","type":"logged"}"#, nil),
    ])
    func documentIsWrittenOnlyIfChanged(document: String, written: String?) async throws {
        var progress = try await planned(document)
        #expect(progress.plan?.decision.isChanged == (written != nil))
        guard let written else { return }
        let made = progress.makeWrite(keepsContent: false)
        let request = try #require(made)
        #expect(String(decoding: request.document.segments.joined(), as: UTF8.self) == written)
        // The content is released: after a refusal, the document is read again.
        #expect(progress.candidate.content.isUnread && progress.plan == nil && progress.result.rules == ["done"])
    }

    @Test func deletionIsMarked() async throws {
        let progress = try await planned(#"{"_id":"a","_rev":"1-a","type":"old"}"#)
        #expect(progress.result.isDeletion && progress.result.rules == ["remove"])
        #expect(progress.candidate.history.lastRule == "remove")
    }

    /// A `put` alone is an effect too, so the content that leads to it is counted.
    @Test(arguments: [
        (#"{"_id":"a","type":"logged"}"#, true, true), (#"{"_id":"a","type":"task"}"#, true, true),
        (#"{"_id":"a","type":"task"}"#, false, false), (#"{"_id":"a","type":"other"}"#, true, false),
    ])
    func decisionWithAnEffectHasAFingerprint(document: String, countsEffects: Bool, isPrinted: Bool) async throws {
        guard case .plan(_, let result) = try await decide(document, countsEffects: countsEffects) else {
            throw NotPlanned()
        }
        #expect((result.fingerprint != nil) == isPrinted)
    }

    /// A write goes to the document that its `_id` names. A wrong `_id` would create an unwanted document.
    @Test(arguments: [
        (#"{"_id":"b","type":"task"}"#, "_id is not the id of the change"), (#"{"type":"task"}"#, "_id is not the id"),
        (#"{"_id":1,"type":"task"}"#, "_id is not the id"), (#"{"_id":"a","#, "ends inside a value"),
        (#"[]"#, "_id is not the id"), (#"{"_id":"a","_cv":"1","_cv":"2"}"#, "_cv"),
    ])
    func undecidableDocumentIsDeadLettered(document: String, reason: String) async throws {
        var progress = progress(document)
        guard case .end(.deadLettered(let deadLetter)) = progress.take(try await decide(document)) else {
            throw NotPlanned()
        }
        #expect(deadLetter.reason.contains(reason), "\(deadLetter.reason)")
        #expect(deadLetter.id == "a" && deadLetter.revision == RevisionID("1-a"))
    }
}
