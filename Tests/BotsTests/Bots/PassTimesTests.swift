import Encodings
import Foundation
import Rules
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

/// Rules of one file with this schedule.
func scheduled(_ line: String, _ zone: String = "UTC") throws -> [ScheduledRules] {
    let path = NSTemporaryDirectory() + "changebot-\(UUID().uuidString).yaml"
    let text = "version: 1\nevery: \"\(line)\"\ntime_zone: \(zone)\nrules: [{name: swept, when: {}, then: []}]\n"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try RuleFileSet.load(paths: [path]).scheduled
}

@Suite struct PassTimesTests {
    private func seconds(_ text: String) throws -> Int { try #require(UTCDate(rfc3339: text)?.seconds) }

    /// Simulates a bot, and returns when its passes begin.
    private func begun(
        _ line: String, _ zone: String = "UTC", from start: String, to end: String, lasting: Int = 60
    ) throws -> [String] {
        var now = try seconds(start)
        let last = try seconds(end)
        var times = PassTimes(try scheduled(line, zone), [], now: now)
        var begun: [String] = []
        while now < last {
            switch times.next(now: now) {
            case .begin(let index):
                begun.append(Timestamp.text(now))
                _ = times.begin(index, now: now)
                times.end(index, began: now)
                now += lasting
            case .wait(let due): now = min(now + 600, try #require(due))
            }
        }
        return begun
    }

    @Test func monthHasOnePassPerDay() throws {
        let begun = try begun("0 3 * * *", "Europe/Berlin", from: "2026-10-01T00:00:00Z", to: "2026-11-01T00:00:00Z")
        #expect(begun.count == 31)
        #expect(begun.filter { $0.hasSuffix("T01:00:00Z") }.count == 24)
        #expect(begun.suffix(7).allSatisfy { $0.hasSuffix("T02:00:00Z") })
        #expect(Set(begun).count == begun.count)
    }

    /// Clocks change from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
    @Test func daysOfClockChangesHaveOnePassEach() throws {
        for day in ["2026-03-29", "2026-10-25"] {
            let begun = try begun("30 2 * * *", "Europe/Berlin", from: "\(day)T00:00:00Z", to: "\(day)T22:00:00Z")
            #expect(begun.count == 1, "\(begun)")
        }
    }

    @Test func longPassIsFollowedByOneMissedPass() throws {
        let begun = try begun(
            "*/10 * * * *", from: "2026-11-24T00:05:00Z", to: "2026-11-24T02:00:00Z", lasting: 35 * 60)
        #expect(
            begun == ["2026-11-24T00:10:00Z", "2026-11-24T00:45:00Z", "2026-11-24T01:20:00Z", "2026-11-24T01:55:00Z"])
    }

    private func recorded(_ begun: Int?, _ done: Int) -> [RecordedSchedule] {
        [RecordedSchedule(line: "0 * * * *", zone: "UTC", rules: ["swept"], begun: begun, done: done)]
    }

    @Test func missedPassesRunOnce() throws {
        let now = try seconds("2026-11-24T10:30:00Z")
        var times = PassTimes(try scheduled("0 * * * *"), recorded(nil, now - 86_400 * 3), now: now)
        #expect(times.next(now: now) == .begin(0))
        times.end(0, began: now)
        #expect(times.next(now: now + 60) == .wait(until: now + 1800))
        let new = PassTimes(try scheduled("0 * * * *"), [], now: now)
        #expect(new.next(now: now) == .wait(until: now + 1800))
    }

    @Test func killedPassBeginsAgain() throws {
        let now = try seconds("2026-11-24T10:30:00Z")
        var soon = PassTimes(try scheduled("0 * * * *"), recorded(now - 600, now - 3600), now: now)
        #expect(soon.next(now: now) == .begin(0))
        #expect(soon.begin(0, now: now).begun == now - 600)
        var late = PassTimes(try scheduled("0 * * * *"), recorded(now - 7200, now - 10_000), now: now)
        let again = late.begin(0, now: now)
        #expect(again.begun == now)
        // The scheduled time that it runs for is unchanged.
        #expect(again.time == now - 9000)
        #expect(late.begin(0, now: now + 100).time == now - 9000)
    }

    @Test func failedPassIsRetriedInAMinute() throws {
        let now = try seconds("2026-11-24T10:30:00Z")
        var times = PassTimes(try scheduled("0 * * * *"), recorded(nil, now - 3600), now: now)
        times.fail(0, now: now)
        #expect(times.next(now: now) == .wait(until: now + 60))
        #expect(times.next(now: now + 60) == .begin(0))
    }

    @Test func clockSetBackByYearsDoesNotSilenceASchedule() throws {
        let now = try seconds("2026-11-24T10:30:00Z")
        let far = PassTimes(try scheduled("0 * * * *"), recorded(nil, now + 86_400 * 400), now: now)
        #expect(far.next(now: now) == .wait(until: now + 1800))
        let near = PassTimes(try scheduled("0 * * * *"), recorded(nil, now + 5), now: now)
        #expect(near.next(now: now) == .wait(until: now + 1800))
    }

    @Test func earliestScheduleIsFirst() throws {
        let now = try seconds("2026-11-24T10:30:00Z")
        let both = try scheduled("0 10 * * *") + scheduled("0 9 * * *")
        let recorded = both.map {
            RecordedSchedule(
                line: $0.schedule.line, zone: "UTC", rules: $0.names, begun: nil, done: now - 7 * 3600)
        }
        #expect(PassTimes(both, recorded, now: now).next(now: now) == .begin(1))
    }
}

@Suite struct BloomFilterTests {
    @Test func bloomFilterHasNoFalseNegativesAndFewFalsePositives() {
        var filter = BloomFilter()
        #expect(filter.isEmpty && !filter.mayContain("a".hashValue))
        for number in 0..<100_000 { filter.insert("in\(number)".hashValue) }
        #expect((0..<100_000).allSatisfy { filter.mayContain("in\($0)".hashValue) })
        #expect((0..<100_000).count { filter.mayContain("out\($0)".hashValue) } < 200)
    }
}
