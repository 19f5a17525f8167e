import Testing

@testable import BotState

/// What the log says when the lease of a member is over.
@Suite struct RenewalFailureTests {
    @Test func memberThatStoodStillDoesNotBlameTheEngine() {
        #expect(RenewalFailure().end(isRevoked: false, "engine e") == RenewalFailure.takenOver)
    }

    @Test func renewalThatFailedLongAgoIsNotTheReason() {
        var trouble = RenewalFailure()
        trouble.noteFailure("timed out")
        trouble.noteSuccess()
        #expect(!trouble.end(isRevoked: false, "engine e").contains("engine"))
    }

    @Test func engineThatDoesNotAnswerIsNamedWithTheReason() {
        var trouble = RenewalFailure()
        trouble.noteFailure("timed out")
        let end = trouble.end(isRevoked: false, "engine e")
        #expect(end.hasPrefix("the engine did not answer in time"))
        #expect(end.contains("engine e: timed out"))
        #expect(trouble.end(isRevoked: true, "engine e") == RenewalFailure.takenOver)
    }
}
