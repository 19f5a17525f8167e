internal import DocumentFlow
internal import Locking
internal import Logging

// Decides documents again when the time of a rule has come.
extension Delivery {
    /// Fires timers that are due, in the order of their times, until the task is cancelled.
    ///
    /// Sleeps until the next one is due, or until one is added. A clock that somebody sets is noticed within
    /// ``Settings/longestSleep``. Without timers, nothing wakes up.
    ///
    /// - Parameter isOnce: Returns once all that are due have been fired.
    /// - Throws: ``StateError``, `CancellationError`.
    func fireTimers(isOnce: Bool = false) async throws {
        guard let timers else { return }
        var hasSaidSo = false
        while true {
            let now = settings.now()
            let due = try timers.takeDue(by: now)
            if !due.isEmpty {
                if !hasSaidSo {
                    logger.debug("the time of rules has come", metadata: [LogKey.documents: "\(due.count)"])
                }
                hasSaidSo = true
                try await submit(due.map { Candidate(ofTimer: $0) })
                continue
            }
            hasSaidSo = false
            if isOnce, !timers.areUnderWay { return }
            guard let next = try timers.next(after: now) else {
                try await timers.changed.wait()
                continue
            }
            let wait = min(.seconds(next - now), settings.intervals.longestSleep)
            try await timers.changed.wait(until: .now + wait)
        }
    }

    private func submit(_ candidates: [Candidate]) async throws {
        try await flow.budget.room()
        await flow.submit(candidates)
    }
}
