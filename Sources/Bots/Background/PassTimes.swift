internal import BotState
internal import DocumentFlow
internal import Encodings
internal import Logging
internal import Rules

/// Decides when scheduled rules run over all documents: at their times, one pass at a time, and once for all times that
/// were missed. Without I/O.
struct PassTimes {
    enum Step: Equatable {
        /// The schedule with this index is due.
        case begin(Int)
        /// None is due before this time, in seconds since 1970; nil: none ever is.
        case wait(until: Int?)
    }

    private struct Entry {
        let scheduled: ScheduledRules
        var begun: Int?
        var done: Int
        /// After a pass that failed.
        var notBefore = Int.min
    }

    /// A pass that was killed this many seconds ago, or fewer, goes on: it does not decide again what it has written.
    private static let resumable = 3600
    /// The seconds after which a failed pass begins again.
    static let retryWait = 60
    /// A last pass that lies further in the future shows that the clock was set back.
    fileprivate static let tolerance = 86_400

    private var entries: [Entry]

    /// - Parameters:
    ///   - schedules: Those of the rules in force.
    ///   - recorded: What the state knows of them, and perhaps of others.
    init(_ schedules: [ScheduledRules], _ recorded: [RecordedSchedule], now: Int) {
        entries = schedules.map { scheduled in
            let known = recorded.first { $0.isOf(scheduled) }
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

    /// Says when each pass is due.
    func log(now: Int, isDryRun: Bool, _ logger: Logger) {
        for (entry, due) in zip(entries, due(now: now)) {
            logger.info(
                isDryRun ? "would apply rules to all documents" : "rules are applied to all documents at certain times",
                metadata: [
                    LogKey.rules: "\(entry.scheduled.names.joined(separator: ", "))",
                    "next": "\(due.map { Timestamp.text(max($0, now)) } ?? "never")",
                ])
        }
    }

    /// What to record as a pass begins.
    ///
    /// - Returns: `begun` is when the pass began: before now if one was killed a short time ago. `time` is that for which
    ///   it runs: the first one that was missed, and the same until it has come to its end.
    mutating func begin(_ index: Int, now: Int) -> (scheduled: ScheduledRules, begun: Int, done: Int, time: Int) {
        let isResumed = entries[index].begun.map { (0..<Self.resumable).contains(now - $0) } ?? false
        let begun = isResumed ? entries[index].begun ?? now : now
        entries[index].begun = begun
        return (entries[index].scheduled, begun, entries[index].done, due(entries[index], now: now) ?? now)
    }

    /// The pass has come to its end.
    ///
    /// - Parameter began: When it began, or began again.
    mutating func end(_ index: Int, began: Int) {
        entries[index].begun = nil
        entries[index].done = began
    }

    /// The pass has failed.
    mutating func fail(_ index: Int, now: Int) { entries[index].notBefore = now + Self.retryWait }
}

extension RecordedSchedule {
    /// When the next pass is due; nil if that never comes, or a later version wrote the line.
    ///
    /// - Parameter now: In seconds since 1970.
    package func next(now: Int) -> Int? {
        RuleSchedule(line: line, zone: zone)?.next(after: done > now + PassTimes.tolerance ? now : done)
    }
}
