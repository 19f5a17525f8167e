/// Notices that a process does nothing that anybody could see.
struct ProgressCheck {
    /// Longer than any work between two requests.
    private static let stepLimit = 6_000

    private var events = 0
    private var since = 0

    /// Whether no event was told for too long.
    mutating func isStuck(_ story: Story, step: Int) -> Bool {
        if story.count != events { (events, since) = (story.count, step) }
        return step - since > Self.stepLimit
    }
}

extension World {
    /// Ends the simulation if the process can never continue, or computes without an end.
    func checkProgress() {
        guard let process = fleet.machines.lazy.compactMap(\.runningProcess).first else { return }
        if checks.progress.isStuck(story, step: scheduler.step) {
            return stop("no progress: bot \(process.number) runs, but nothing happens")
        }
        // Members ask the engine all the time.
        guard !fleet.isShared, scheduler.isIdle, !scheduler.hasWork(of: process.number),
            process.connection?.isIdle != false
        else {
            return
        }
        stop("no progress: bot \(process.number) has nothing to do, and waits for nothing that will happen")
    }

    /// What each task of the process waits for, if that explains the failure.
    var waits: [String] {
        guard [.simulation, .nothingIsLost, .running].contains(violation?.guarantee) else { return [] }
        return fleet.processes.flatMap(waits)
    }

    private func waits(of process: BotProcess) -> [String] {
        let number = process.number
        let requests = (process.connection?.openRequests ?? []).map { request in
            "bot \(number), since \(story.time(at: request.since)): the answer, it \(request.plain)"
        }
        let names = fleet.pendingWaits.names(of: number).map { wait in
            "bot \(number), since \(story.time(at: wait.since)): \(wait.name)"
        }
        let times = scheduler.timers(of: number).map { due, isLost in
            "bot \(number): a time, \(story.time(at: due))\(isLost ? ", which has passed unnoticed" : "")"
        }
        return requests + names + times
    }
}
