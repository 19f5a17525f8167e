/// Checks the passes over all documents.
struct PassCheck {
    /// How many seconds a pass may take, with what may delay it.
    private static let delay = 150

    /// When each document was last changed, in nanoseconds of uptime.
    private(set) var changes: [String: Int64] = [:]
    private var jumps: [(uptime: Int64, seconds: Int)] = []
    /// Since when the state has known when passes are due, in nanoseconds of uptime. Nil: it does not.
    private var knownSince: Int64?

    mutating func note(_ document: StoredDocument, at uptime: Int64) { changes[document.id] = uptime }

    /// The clock jumps from this time.
    mutating func noteJump(_ scheduler: Scheduler) { jumps.append((scheduler.uptime, scheduler.wallSeconds)) }

    /// Passes that were due before the state knows the schedule are not made up.
    mutating func noteState(knowsSchedule: Bool, at uptime: Int64) {
        knownSince = knowsSchedule ? knownSince ?? uptime : nil
    }

    /// The database was replaced: its documents are new.
    mutating func noteReset(_ gateway: SimulatedGateway, at uptime: Int64) {
        for id in gateway.ids { changes[id] = uptime }
    }

    /// At a quiet moment: the last pass that was due has changed what was there before.
    ///
    /// - Throws: ``Violation``.
    func checkAtQuietMoment(_ gateway: SimulatedGateway, _ scheduler: Scheduler) throws {
        let now = scheduler.wallSeconds
        let due = Scenario.passTime(before: now - Self.delay)
        let dueUptime = Int64(due) * 1_000_000_000 - scheduler.wallLead
        // While the clock shows a time again, no pass is due again.
        guard let knownSince, knownSince < dueUptime, jumps.allSatisfy({ $0.uptime < dueUptime && $0.seconds < due })
        else { return }
        for id in gateway.ids {
            guard let winner = gateway.documents[id]?.winner, Scenario.waitsForPass(winner),
                let changed = changes[id], changed < dueUptime
            else { continue }
            throw Violation(
                guarantee: .times, detail: "\(id) \(winner.id.short) was there at \(due), but no pass has changed it")
        }
    }
}
