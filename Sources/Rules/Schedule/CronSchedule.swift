internal import Encodings

/// The times of a cron line, as `crontab(5)` describes it: minute, hour, day of the month, month, day of the week.
///
/// If both day fields are restricted, a day that matches either of them is included.
package struct CronSchedule: Sendable, Equatable {
    private static let secondsOfDay = 86_400
    /// Consecutive 29 Februaries are up to eight years apart.
    private static let searchedDays = 8 * 366
    private static let nicknames = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
    ]

    private let minute, hour, day, month, weekday: CronField

    /// - Throws: ``CronError``, also for a line that never fires.
    init(_ text: String) throws(CronError) {
        var line = text
        if text.hasPrefix("@") {
            guard let meant = Self.nicknames[text.lowercased()] else {
                throw CronError(
                    "'\(text)' is not known; write one of \(Self.nicknames.keys.sorted().joined(separator: ", "))")
            }
            line = meant
        }
        let fields = line.split { $0 == " " || $0 == "\t" }
        guard fields.count == 5 else {
            throw CronError(
                "a cron line has five fields: minute, hour, day of the month, month, day of the week; "
                    + "this one has \(fields.count); "
                    + "write \"0 3 * * *\" for each day at 3:00, or @hourly, @daily, @weekly")
        }
        minute = try CronField(fields[0], .minute)
        hour = try CronField(fields[1], .hour)
        day = try CronField(fields[2], .day)
        month = try CronField(fields[3], .month)
        weekday = try CronField(fields[4], .weekday)
        guard (0..<Self.searchedDays).contains(where: includes) else {
            throw CronError("that day never occurs, so the schedule never runs; correct the day or the month")
        }
    }

    /// - Parameter number: The day, counted from 1970-01-01.
    private func includes(_ number: Int) -> Bool {
        let date = CalendarDay(daysSince1970: number)
        guard month.contains(date.month) else { return false }
        // 1 January 1970 was a Thursday.
        let isDay = day.contains(date.day)
        let isWeekday = weekday.contains((number % 7 + 11) % 7)
        return day.hasStar || weekday.hasStar ? isDay && isWeekday : isDay || isWeekday
    }

    /// The first scheduled time after another. Nil if there is none within the range of clocks.
    ///
    /// A time that clocks skip counts as the moment of the skip, and a time that clocks show twice counts once, the
    /// first time. But if the hour has a `*`, the line means every such minute that elapses: skipped times are omitted,
    /// and repeated times count twice.
    ///
    /// - Parameter seconds: Since 1970.
    package func next(after seconds: Int, on clock: ZoneClock) -> Int? {
        let today = (seconds + clock.offset(at: seconds)).flooredQuotient(Self.secondsOfDay)
        for day in today - 1...today + Self.searchedDays where includes(day) {
            guard let time = first(onDay: day, after: seconds, clock) else { continue }
            // Where clocks are set back at midnight, the next day may begin before this one ends.
            let tomorrow = includes(day + 1) ? first(onDay: day + 1, after: seconds, clock) : nil
            return min(time, tomorrow ?? time)
        }
        return nil
    }

    private func first(onDay day: Int, after seconds: Int, _ clock: ZoneClock) -> Int? {
        let midnight = day * Self.secondsOfDay
        let span = LocalSpan(midnight, clock)
        var first: Int?
        for hour in hour.numbers {
            for minute in minute.numbers {
                let local = midnight + hour * 3600 + minute * 60
                for time in span.times(local, isEvery: self.hour.hasStar) where time > seconds && time < first ?? .max {
                    first = time
                }
                // Unless the clocks change, times are in order.
                if span.hasConstantOffset, first != nil { return first }
            }
        }
        return first
    }
}

/// The clocks of a zone around one day, in which they change at most once.
private struct LocalSpan {
    private let clock: ZoneClock
    private let beginning: Int
    private let end: Int
    private let offsets: (before: Int, after: Int)

    /// - Parameter midnight: The beginning of the day in local time, as seconds since 1970 as if in UTC.
    init(_ midnight: Int, _ clock: ZoneClock) {
        self.clock = clock
        // Offsets are between -12 and +14 hours, and a day has 24.
        beginning = midnight - 16 * 3600
        end = midnight + 40 * 3600
        offsets = (clock.offset(at: beginning), clock.offset(at: end))
    }

    /// Whether the clocks do not change on this day.
    var hasConstantOffset: Bool { offsets.before == offsets.after }

    /// The moments when the clocks show a local time.
    ///
    /// - Parameter isEvery: Whether a repeated time counts twice and a skipped time not at all.
    func times(_ local: Int, isEvery: Bool) -> [Int] {
        if hasConstantOffset { return [local - offsets.before] }
        let times = [local - offsets.before, local - offsets.after].filter { $0 + clock.offset(at: $0) == local }
        if isEvery { return times }
        return [times.min() ?? change]
    }

    /// The first second with the later offset.
    private var change: Int {
        var (low, high) = (beginning, end)
        while high - low > 1 {
            let middle = (low + high) / 2
            if clock.offset(at: middle) == offsets.after { high = middle } else { low = middle }
        }
        return high
    }
}
