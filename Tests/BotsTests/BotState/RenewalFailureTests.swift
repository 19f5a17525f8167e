import Testing

@testable import BotState

/// What a member logs when its lease has ended.
@Suite struct RenewalFailureTests {
    @Test func stalledMemberIsReportedAsTakenOver() {
        #expect(RenewalFailure().end(isRevoked: false, "engine e") == RenewalFailure.takenOver)
    }

    @Test func earlierFailedRenewalIsNotTheReason() {
        var trouble = RenewalFailure()
        trouble.noteFailure("timed out")
        trouble.noteSuccess()
        #expect(!trouble.end(isRevoked: false, "engine e").contains("engine"))
    }

    @Test func unresponsiveEngineIsNamedWithTheReason() {
        var trouble = RenewalFailure()
        trouble.noteFailure("timed out")
        let end = trouble.end(isRevoked: false, "engine e")
        #expect(end.hasPrefix("the engine did not answer in time"))
        #expect(end.contains("engine e: timed out"))
        #expect(trouble.end(isRevoked: true, "engine e") == RenewalFailure.takenOver)
    }
}
