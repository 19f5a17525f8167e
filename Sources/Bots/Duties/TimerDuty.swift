internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging

/// Has documents decided again when the time of a rule has come: the earliest first.
///
/// A changed system clock is noticed within ``Delivery/Intervals/longestSleep``. Without timers, nothing wakes up.
struct TimerDuty: Duty {
    /// How many timers are read at once.
    private static let portion = 1_000

    let timers: DocumentTimers
    let rules: [String]
    /// Seconds since 1970.
    let now: @Sendable () -> Int
    let longestSleep: Duration
    let logger: Logger
    /// What a log was given, which does not say what is under way. Nil for the queue, which does.
    private(set) var brought: BroughtTimers?
    private var hasSaidSo = false

    /// - Parameter rules: The names of those whose times are looked for.
    init(_ timers: DocumentTimers, _ rules: [String], _ settings: Delivery.Settings, _ logger: Logger) {
        (self.timers, self.rules, self.logger) = (timers, rules, logger)
        now = settings.now
        longestSleep = settings.intervals.longestSleep
    }

    var woken: Signal { timers.changed }
    let documentsAtOnce: Int? = 100

    mutating func look(_ occasion: DutyOccasion, _ bringer: any Bringer) async throws -> DutyLook {
        guard occasion != .stopping else { return DutyLook() }
        let now = now()
        let count = try await bringDue(by: now, bringer)
        if count > 0, !hasSaidSo {
            logger.debug("the time of rules has come", metadata: [LogKey.documents: "\(count)"])
        }
        hasSaidSo = count > 0
        // A log is looked at again and again.
        let next = bringer.isDurable ? nil : try await timers.next(after: now)
        return DutyLook(hasBrought: count > 0, next: next.map { .now + min(.seconds($0 - now), longestSleep) })
    }

    /// - Returns: How many documents were brought.
    private mutating func bringDue(by now: Int, _ bringer: any Bringer) async throws -> Int {
        if bringer.isDurable {
            brought = brought ?? BroughtTimers()
            brought?.begin(now: now, .now)
        }
        var count = 0
        var last: WaitingTimer?
        while try await bringer.room() {
            let due = try await timers.ledger.timers(
                from: brought?.start, dueBy: now, ofRules: rules, after: last,
                limit: Self.portion)
            let new = brought?.new(among: due) ?? due
            var seen: Set<DocumentID> = []
            let documents = new.map(\.id).filter { seen.insert($0).inserted }
            count += try await bringer.bring(documents.map { Candidate(ofTimer: $0) })
            brought?.note(due)
            last = due.last
            guard due.count < Self.portion else { continue }
            brought?.end()
            break
        }
        return count
    }
}
