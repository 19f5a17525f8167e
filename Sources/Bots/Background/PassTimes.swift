internal import BotState
internal import DocumentFlow
internal import Encodings
internal import Logging
internal import Rules

/// Decides when scheduled rules run over all documents: on schedule, one pass at a time, and only once for all the
/// times that were missed. Does no I/O.
struct PassTimes {
    enum Step: Equatable {
        /// The schedule with this index is due.
        case begin(Int)
        /// No schedule is due before this time, in seconds since 1970. Nil: none will ever be due.
        case wait(until: Int?)
    }

    private struct Entry {
        let scheduled: ScheduledRules
        var begun: Int?
        var done: Int
        /// When a failed pass may be retried.
        var notBefore = Int.min
    }

    /// A killed pass that began at most this many seconds ago is resumed: it skips the documents that it has written.
    private static let resumable = 3600
    /// How many seconds after a failure a pass is retried.
    static let retryWait = 60
    /// If the last pass is more than this many seconds in the future, the clock was set back.
    fileprivate static let tolerance = 86_400

    private var entries: [Entry]

    /// - Parameters:
    ///   - schedules: The schedules of the current rules.
    ///   - recorded: The schedules that the state has recorded; may include others.
    init(_ schedules: [ScheduledRules], _ recorded: [RecordedSchedule], now: Int) {
        entries = schedules.map { scheduled in
            let known = recorded.first { $0.matches(scheduled) }
            return Entry(scheduled: scheduled, begun: known?.begun, done: known?.done ?? now)
        }
    }

    func next(now: Int) -> Step {
        let due = self.due(now: now)
        let ready = due.indices.filter { due[$0] ?? .max <= now && entries[$0].notBefore <= now }
        if let first = ready.min(by: { due[$0] ?? .max < due[$1] ?? .max }) { return .begin(first) }
        return .wait(until: zip(due, entries).compactMap { due, entry in due.map { max($0, entry.notBefore) } }.min())
    }

    /// When each pass is due, in the order of the schedules; nil: never.
    func due(now: Int) -> [Int?] { entries.map { due($0, now: now) } }

    private func due(_ entry: Entry, now: Int) -> Int? {
        entry.scheduled.schedule.next(after: entry.done > now + Self.tolerance ? now : entry.done)
    }

    /// Logs when each pass is due.
    func log(now: Int, isDryRun: Bool, _ logger: Logger) {
        for (entry, due) in zip(entries, due(now: now)) {
            logger.info(
                isDryRun ? "would apply rules to all documents" : "scheduled passes over all documents",
                metadata: [
                    LogKey.rules: "\(entry.scheduled.names.joined(separator: ", "))",
                    "next": "\(due.map { Timestamp.text(max($0, now)) } ?? "never")",
                ])
        }
    }

    /// Begins a pass.
    ///
    /// - Returns: What to record. `begun` is when the pass began, which is before `now` if it resumes a killed pass.
    ///   `time` is the scheduled time that it runs for: the first missed one, unchanged until the pass is completed.
    mutating func begin(_ index: Int, now: Int) -> (scheduled: ScheduledRules, begun: Int, done: Int, time: Int) {
        let isResumed = entries[index].begun.map { (0..<Self.resumable).contains(now - $0) } ?? false
        let begun = isResumed ? entries[index].begun ?? now : now
        entries[index].begun = begun
        return (entries[index].scheduled, begun, entries[index].done, due(entries[index], now: now) ?? now)
    }

    /// Notes that the pass was completed.
    ///
    /// - Parameter began: When it began or was resumed.
    mutating func end(_ index: Int, began: Int) {
        entries[index].begun = nil
        entries[index].done = began
    }

    /// Notes that the pass has failed.
    mutating func fail(_ index: Int, now: Int) { entries[index].notBefore = now + Self.retryWait }
}

extension RecordedSchedule {
    /// When the next pass is due; nil if never, or if a later version wrote the line.
    ///
    /// - Parameter now: In seconds since 1970.
    package func next(now: Int) -> Int? {
        RuleSchedule(line: line, zone: zone)?.next(after: done > now + PassTimes.tolerance ? now : done)
    }
}
