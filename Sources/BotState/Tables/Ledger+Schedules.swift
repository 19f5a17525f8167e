internal import LosslessJSON
package import Rules

/// What the state knows about rules that run over all documents at the times of an `every`.
package struct RecordedSchedule: Sendable, Equatable {
    /// The cron line.
    package let line: String
    /// Its time zone.
    package let zone: String
    /// The rules' names.
    package let rules: [String]
    /// When the pass under way began, in seconds since 1970; nil if none is under way.
    package var begun: Int?
    /// When the last finished pass began; before the first pass, when the schedule became known.
    package var done: Int
}

// Schedules are identified by their lines, zones and rules.
extension Ledger {
    /// All schedules, in no particular order.
    package func schedules() throws(StateError) -> [RecordedSchedule] {
        try read { database in
            try database.rows("SELECT line, zone, rules, begun, done FROM schedule").map { row in
                let rules = SmallJSON(Array((row[2] as TextAsBytes).text.utf8))?.elements?.compactMap(\.string) ?? []
                return RecordedSchedule(line: row[0], zone: row[1], rules: rules, begun: row[3], done: row[4])
            }
        }
    }

    /// Deletes all other schedules. New ones count as done now.
    package func keepSchedules(_ schedules: [ScheduledRules], now: Int) async throws(StateError) {
        let known = try self.schedules()
        let gone = known.filter { recorded in !schedules.contains { recorded.matches($0) } }
        let new = schedules.filter { schedule in !known.contains { $0.matches(schedule) } }
        guard !gone.isEmpty || !new.isEmpty else { return }
        try await write { database in
            for recorded in gone {
                try database.execute(
                    "DELETE FROM schedule WHERE line = ? AND zone = ? AND rules = ?",
                    [recorded.line, recorded.zone, Self.key(recorded.rules)])
            }
            for new in new {
                try database.execute(
                    "INSERT INTO schedule (line, zone, rules, done) VALUES (?, ?, ?, ?)",
                    [new.schedule.line, new.schedule.zone, Self.key(new.names), now])
            }
        }
    }

    /// Records that a pass begins, or has ended.
    ///
    /// - Parameters:
    ///   - begun: As ``RecordedSchedule/begun``.
    ///   - done: As ``RecordedSchedule/done``.
    package func note(_ schedule: ScheduledRules, begun: Int?, done: Int) async throws(StateError) {
        try await write { database in
            try database.execute(
                "UPDATE schedule SET begun = ?, done = ? WHERE line = ? AND zone = ? AND rules = ?",
                [
                    begun, done, schedule.schedule.line, schedule.schedule.zone, Self.key(schedule.names),
                ])
        }
    }

    private static func key(_ rules: [String]) -> TextAsBytes {
        var writer = JSONWriter()
        writer.array { writer in for rule in rules { writer.string(rule) } }
        return TextAsBytes(String(decoding: writer.bytes, as: UTF8.self))
    }
}

extension RecordedSchedule {
    package func matches(_ scheduled: ScheduledRules) -> Bool {
        line == scheduled.schedule.line && zone == scheduled.schedule.zone && rules == scheduled.names
    }
}
