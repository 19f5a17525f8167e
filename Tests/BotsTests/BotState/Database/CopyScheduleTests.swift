import Testing

@testable import BotState

/// When the checkpoint is copied into the database.
@Suite struct CopyScheduleTests {
    private let start = ContinuousClock.now

    @Test(arguments: [true, false]) func firstCopyIsDueAtOnce(isCurrent: Bool) {
        #expect(CopySchedule().isDue(at: start, isCurrent: isCurrent))
    }

    @Test(arguments: [
        // A checkpoint that moves is copied at each check.
        (0, false, false), (19, false, false), (20, false, true), (90_000, false, true),
        // Otherwise it is copied once a day, so that Sync Gateway does not drop the document.
        (60, true, false), (86_399, true, false), (86_400, true, true),
    ])
    func laterCopyIsDueSoonerIfTheCheckpointMoved(seconds: Int, isCurrent: Bool, isDue: Bool) {
        var schedule = CopySchedule()
        schedule.noteCopy(at: start)
        #expect(schedule.isDue(at: start + .seconds(seconds), isCurrent: isCurrent) == isDue)
    }

    @Test func intervalStartsAtTheLastCopy() {
        var schedule = CopySchedule()
        schedule.noteCopy(at: start)
        schedule.noteCopy(at: start + .seconds(100))
        #expect(!schedule.isDue(at: start + .seconds(115), isCurrent: false))
    }
}
