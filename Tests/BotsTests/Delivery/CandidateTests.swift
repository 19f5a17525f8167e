import GatewayClient
import TestKit
import Testing

@testable import Delivery
@testable import DocumentFlow

@Suite struct CandidateTests {
    /// Otherwise the policy would take the former winner, which was deleted, for the winner, and delete the leaf that is
    /// left.
    @Test func leavesAreRequestedIfAnotherOneWinsNow() {
        var tracker = SafeSequenceTracker(start: .start)
        let leaves = [RevisionID("7-a"), RevisionID("6-b")]
        var candidate = Candidate(
            "doc", Content(leaves[0], Array("{}".utf8)), reason: Reason(sequence: sequence(1), leaves: leaves),
            acknowledgements: Acknowledgements(tracker.open(sequence(1))))
        #expect(candidate.knownLeaves == leaves)
        candidate.content.set(leaves[0], Array("{}".utf8))
        #expect(candidate.knownLeaves == leaves)
        candidate.content.set(leaves[1], Array("{}".utf8))
        #expect(candidate.knownLeaves == nil)
        #expect(candidate.mayBeInConflict(hasDeadLetters: false))
    }

    /// The dead letter may be about a conflict: deciding only the winner would remove it.
    @Test func deadLetteredDocumentMayBeInConflict() {
        let timer = Candidate(ofTimer: "doc")
        #expect(!timer.mayBeInConflict(hasDeadLetters: false) && timer.mayBeInConflict(hasDeadLetters: true))
        let row = Candidate(unread: "doc", reason: Reason(leaves: [RevisionID("7-a")]))
        #expect(!row.mayBeInConflict(hasDeadLetters: true))
    }
}
