internal import DocumentFlow
internal import Encodings
internal import Logging
internal import Rules

// Rules of files with `every` run over all documents at their times, beside the feed.
extension Bot {
    /// Runs the passes that are due, one at a time, until the task is cancelled. A one-shot run only runs those that were
    /// missed.
    ///
    /// Killed in between, the next run begins the pass again.
    ///
    /// - Throws: ``StateError``, `CancellationError`; in a one-shot run also why a pass failed.
    func runPasses(_ ledger: Ledger) async throws {
        guard !settings.schedules.isEmpty, let pass = settings.pass else { return }
        let now = settings.delivery.now
        try await ledger.keepSchedules(settings.schedules, now: now())
        var times = PassTimes(settings.schedules, try ledger.schedules(), now: now())
        logPasses(times, now: now(), isDryRun: false)
        while true {
            let time = now()
            switch times.next(now: time) {
            case .begin(let index):
                let (scheduled, begun, done, passTime) = times.begin(index, now: time)
                try await ledger.note(scheduled, begun: begun, done: done)
                CrashPoint.passBegun.pass()
                if try await pass(scheduled, begun, passTime) {
                    times.end(index, began: time)
                    CrashPoint.passDone.pass()
                    try await ledger.note(scheduled, begun: nil, done: time)
                } else {
                    try Task.checkCancellation()
                    if settings.isOneShot { return }
                    times.fail(index, now: now())
                }
            case .wait(let due):
                if settings.isOneShot { return }
                let longest = settings.delivery.intervals.longestSleep
                try await Task.sleep(for: due.map { min(.seconds($0 - time), longest) } ?? longest)
            }
        }
    }

    /// Says in a dry run when passes would run.
    func showPasses(_ ledger: Ledger) throws {
        guard !settings.schedules.isEmpty else { return }
        let now = settings.delivery.now()
        logPasses(PassTimes(settings.schedules, try ledger.schedules(), now: now), now: now, isDryRun: true)
    }

    private func logPasses(_ times: PassTimes, now: Int, isDryRun: Bool) {
        for (scheduled, due) in zip(settings.schedules, times.due(now: now)) {
            logger.info(
                isDryRun ? "would apply rules to all documents" : "rules are applied to all documents at certain times",
                metadata: [
                    LogKey.rules: "\(scheduled.names.joined(separator: ", "))",
                    "next": "\(due.map { Timestamp.text(max($0, now)) } ?? "never")",
                ])
        }
    }
}
