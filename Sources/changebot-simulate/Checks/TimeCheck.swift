/// Checks the rules that fire at a time.
struct TimeCheck {
    /// How long a decision may take until its write arrives, in nanoseconds.
    private static let decisionTime: Int64 = 600_000_000_000
    /// A timer is noticed within this many seconds, also if the clock was changed.
    static let delay = 70

    /// The times at which the wall clock jumped back, with the time that it had shown.
    private var jumps: [(uptime: Int64, seconds: Int)] = []

    /// How many seconds late a rule may fire in the quiet time.
    private static let lateness = 10

    mutating func noteJump(_ scheduler: Scheduler) { jumps.append((scheduler.uptime, scheduler.wallSeconds)) }

    /// A rule does not fire before its time.
    ///
    /// - Parameter parent: The revision that the bot replaces.
    /// - Throws: ``Violation``.
    func checkWrite(
        _ document: StoredDocument, _ revision: StoredRevision, replacing parent: StoredRevision?,
        _ scheduler: Scheduler
    ) throws {
        guard let parent, let due = Scenario.time(of: parent, before: revision) else { return }
        if document.id == Scenario.lateReminder { return try checkPunctual(due, scheduler) }
        guard due > scheduler.wallSeconds else { return }
        let wasLater = jumps.contains { $0.seconds >= due && scheduler.uptime - $0.uptime < Self.decisionTime }
        guard !wasLater else { return }
        throw Violation(
            guarantee: .times,
            detail: "\(document.id) \(parent.id.short) is due at \(due), and it fired at \(scheduler.wallSeconds)")
    }

    /// - Throws: ``Violation``.
    private func checkPunctual(_ due: Int, _ scheduler: Scheduler) throws {
        guard !(due...due + Self.lateness).contains(scheduler.wallSeconds) else { return }
        throw Violation(
            guarantee: .times,
            detail: "\(Scenario.lateReminder) was due at \(due), and it fired at \(scheduler.wallSeconds)")
    }

    /// At a quiet moment: what is due has fired, and the state has a timer for everything else. It may have others: a
    /// change for which there is no rule may pass before the timer of an earlier revision is stored.
    ///
    /// - Parameter isExcused: Whether the record of a revision was lost with a machine.
    /// - Throws: ``Violation``.
    func checkAtQuietMoment(
        _ gateway: SimulatedGateway, _ state: StateCheck?, _ scheduler: Scheduler,
        _ isExcused: (StoredDocument, StoredRevision) -> Bool
    ) throws {
        let now = scheduler.wallSeconds
        let timers = Set(state?.timers() ?? [])
        for id in gateway.ids {
            guard let document = gateway.documents[id], let winner = document.winner, !isExcused(document, winner),
                let due = Scenario.time(of: winner), due > now,
                !timers.contains(StateCheck.Timer(id: id, due: due))
            else { continue }
            throw Violation(guarantee: .times, detail: "\(id) is due at \(due), and the state has no timer for that")
        }
    }
}
