import Testing

@testable import BotState

/// What the log says when the lease of a member is over.
@Suite struct RenewalTroubleTests {
    @Test func memberThatStoodStillDoesNotBlameTheEngine() {
        #expect(RenewalTrouble().end(isRevoked: false, "engine e") == RenewalTrouble.takenOver)
    }

    @Test func renewalThatFailedLongAgoIsNotTheReason() {
        var trouble = RenewalTrouble()
        trouble.noteFailure("timed out")
        trouble.noteSuccess()
        #expect(!trouble.end(isRevoked: false, "engine e").contains("engine"))
    }

    @Test func engineThatDoesNotAnswerIsNamedWithTheReason() {
        var trouble = RenewalTrouble()
        trouble.noteFailure("timed out")
        let end = trouble.end(isRevoked: false, "engine e")
        #expect(end.hasPrefix("the engine did not answer in time"))
        #expect(end.contains("engine e: timed out"))
        #expect(trouble.end(isRevoked: true, "engine e") == RenewalTrouble.takenOver)
    }
}
