internal import BotState
internal import Encodings

/// What a state still has to do after its run has ended.
struct Remains: Sendable {
    /// When the next timer or pass is due, or counts or orders are to be finished, in seconds since 1970; not later than now
    /// if that is overdue. Nil: never.
    var wakeAt: Int?
    /// The open dead letters.
    var deadLetters = 0

    /// - Throws: ``StateError``.
    init(_ ledger: Ledger) async throws {
        let paused = try await ledger.onSeparateThread { ledger throws(StateError) in
            try ledger.pausedRules().filter(\.isPaused).map(\.name)
        }
        let timer = try await ledger.nextTimer(after: .min, except: paused)
        (wakeAt, deadLetters) = try await ledger.onSeparateThread { ledger throws(StateError) in
            let now = Timestamp.secondsNow
            let passes = try ledger.schedules().filter { !$0.rules.allSatisfy(paused.contains) }
                .compactMap { $0.begun == nil ? $0.next(now: now) : now }
            let count = try ledger.deadLetterCounts().reduce(0) { $0 + $1.count }
            let counts = try ledger.hasUnfinishedCounts() ? [now] : []
            let orders = try ledger.hasOpenOrders() ? [now] : []
            return ((passes + counts + orders + [timer].compactMap { $0 }).min(), count)
        }
    }
}
