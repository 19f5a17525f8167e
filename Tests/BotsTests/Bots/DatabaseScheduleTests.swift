import Testing

@testable import Bots

/// Which databases are worked on next.
@Suite struct DatabaseScheduleTests {
    private static let start = ContinuousClock.now

    /// A schedule whose changes are expressions that `#expect` accepts.
    private final class Bed {
        var schedule: DatabaseSchedule

        init(_ names: [String] = [], maxActive: Int = 2) {
            schedule = DatabaseSchedule(maxActive: maxActive, firstRetry: .seconds(15))
            for name in names { schedule.add(name) }
        }

        func moment(_ seconds: Int) -> DatabaseSchedule.Moment {
            let instant = DatabaseScheduleTests.start + .seconds(seconds)
            return DatabaseSchedule.Moment(instant: instant, seconds: 1_000_000 + seconds)
        }

        /// - Parameter seconds: Since the start.
        func start(_ seconds: Int) -> [String] { schedule.start(moment(seconds)) }
        func change(_ names: String...) { for name in names { schedule.noteChange(name) } }
        func nextDue(_ seconds: Int) -> ContinuousClock.Instant? { schedule.nextDue(moment(seconds)) }

        @discardableResult
        func end(_ name: String, _ ending: DatabaseSchedule.Ending, _ seconds: Int) -> Bool {
            schedule.ended(name, ending, moment(seconds))
        }
    }

    private static let done = DatabaseSchedule.Ending.done(wakeAt: nil, hasMore: false)

    @Test func quietDatabasesAreNotStarted() {
        let bed = Bed(["a", "b"])
        #expect(bed.start(0).isEmpty)
        #expect(bed.schedule.isIdle)
        #expect(bed.nextDue(0) == nil)
    }

    @Test func changedDatabasesStartInOrderAndOnce() {
        let bed = Bed(["a", "b", "c"])
        bed.change("c", "a", "c", "b", "unknown")
        #expect(bed.start(0) == ["c", "a"])
        #expect(bed.schedule.isCrowded)
        #expect(bed.start(0).isEmpty)
        bed.end("c", Self.done, 1)
        #expect(bed.start(1) == ["b"])
        #expect(!bed.schedule.isCrowded)
    }

    @Test func changeDuringItsWorkQueuesTheDatabaseAgain() {
        let bed = Bed(["a"])
        bed.change("a")
        #expect(bed.start(0) == ["a"])
        bed.change("a")
        #expect(bed.start(0).isEmpty)
        bed.end("a", Self.done, 1)
        #expect(bed.start(1) == ["a"])
    }

    @Test func interruptedDatabaseGoesToTheEndOfTheQueue() {
        let bed = Bed(["a", "b"], maxActive: 1)
        bed.change("a")
        #expect(bed.start(0) == ["a"])
        bed.change("b")
        bed.end("a", .done(wakeAt: nil, hasMore: true), 60)
        #expect(bed.start(60) == ["b"])
        bed.end("b", Self.done, 61)
        #expect(bed.start(61) == ["a"])
    }

    @Test func timersWakeDatabases() {
        let bed = Bed(["a"])
        bed.schedule.add("b", wakeAt: 1_000_005)
        #expect(bed.nextDue(0) == bed.moment(5).instant)
        #expect(bed.start(4).isEmpty)
        #expect(bed.start(5) == ["b"])
        bed.end("b", .done(wakeAt: 1_000_100, hasMore: false), 6)
        #expect(bed.nextDue(6) == bed.moment(100).instant)
    }

    @Test func timerThatStaysDueIsTriedAgainLater() {
        let bed = Bed(["a"])
        bed.change("a")
        #expect(bed.start(0) == ["a"])
        bed.end("a", .done(wakeAt: 999_000, hasMore: false), 1)
        #expect(bed.start(2).isEmpty)
        #expect(bed.start(11) == ["a"])
    }

    @Test func failedDatabasesAreTriedAgainWithGrowingWaits() {
        let bed = Bed(["a"])
        bed.change("a")
        var now = 0
        for wait in [15, 30, 60, 120, 240, 480, 900, 900] {
            #expect(bed.start(now) == ["a"])
            bed.end("a", .failed, now)
            // Changes don't shorten the wait.
            bed.change("a")
            #expect(bed.start(now + wait - 1).isEmpty)
            now += wait
        }
        #expect(bed.start(now) == ["a"])
        bed.end("a", Self.done, now)
        bed.change("a")
        #expect(bed.start(now) == ["a"])
        bed.end("a", .failed, now)
        #expect(bed.start(now + 15) == ["a"])
    }

    @Test func databaseOfAnotherMemberIsLookedAtAgain() {
        let bed = Bed(["a"])
        bed.change("a")
        #expect(bed.start(0) == ["a"])
        bed.end("a", .lookAgain(.seconds(5)), 0)
        #expect(bed.start(4).isEmpty)
        #expect(bed.start(5) == ["a"])
    }

    @Test func missingDatabaseIsRemovedUnlessItWasAnnounced() {
        let bed = Bed(["a"])
        bed.change("a")
        #expect(bed.start(0) == ["a"])
        bed.change("a")
        #expect(!bed.end("a", .missing, 1))
        #expect(bed.start(1) == ["a"])
        #expect(bed.end("a", .missing, 2))
        bed.schedule.remove("a")
        #expect(bed.schedule.count == 0)
        #expect(bed.schedule.isIdle)
    }

    @Test func databaseThatComesBackWhileItsWorkEndsStartsAfterwards() {
        let bed = Bed(["a"])
        bed.change("a")
        #expect(bed.start(0) == ["a"])
        bed.schedule.remove("a")
        bed.schedule.add("a")
        bed.change("a")
        #expect(bed.start(0).isEmpty)
        bed.end("a", Self.done, 1)
        #expect(bed.start(1) == ["a"])
    }

    @Test func longQueueKeepsItsOrder() {
        let names = (0..<2_000).map { "d\($0)" }
        let bed = Bed(names, maxActive: 1)
        for name in names { bed.change(name) }
        var order: [String] = []
        while let name = bed.start(0).first {
            order.append(name)
            bed.end(name, Self.done, 0)
        }
        #expect(order == names)
    }
}
