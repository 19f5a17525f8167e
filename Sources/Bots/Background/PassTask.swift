internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Encodings
internal import Locking
internal import Logging
internal import Rules
internal import ServiceLifecycle

/// Applies the rules of files with `every` to all documents on schedule, one pass at a time.
///
/// A one-shot run makes up for missed passes. A pass that was killed is started again.
struct PassTask: BackgroundTask {
    let schedules: [ScheduledRules]
    /// The names of the rules that do not fire at present. A schedule without other rules waits.
    let paused: Set<String>
    /// ``PassRunner/run(_:)``.
    let runPass: @Sendable (PassRunner.Pass) async throws -> Bool
    let ledger: Ledger
    /// Seconds since 1970.
    let now: @Sendable () -> Int
    let maxSleep: Duration
    let isOneShot: Bool
    let logger: Logger
    private var times: PassTimes?
    let woken = Signal("a pass over all documents")

    init(
        _ schedules: [ScheduledRules], paused: Set<String> = [],
        _ runPass: @escaping @Sendable (PassRunner.Pass) async throws -> Bool,
        _ ledger: Ledger, _ settings: BotSettings, _ logger: Logger
    ) {
        (self.schedules, self.runPass, self.ledger, self.logger) = (schedules, runPass, ledger, logger)
        self.paused = paused
        now = settings.delivery.now
        maxSleep = settings.delivery.intervals.maxSleep
        isOneShot = settings.isOneShot
    }

    mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
        -> BackgroundTaskResult
    {
        guard phase == .readingFeed else { return BackgroundTaskResult() }
        var times: PassTimes
        if let known = self.times { times = known } else { times = try await begin() }
        defer { self.times = times }
        while true {
            let now = now()
            switch times.next(now: now) {
            case .begin(let index):
                guard try await run(index, at: now, &times) else { return BackgroundTaskResult() }
            case .wait(let due):
                let wait = due.map { min(.seconds($0 - now), maxSleep) } ?? maxSleep
                return BackgroundTaskResult(next: .now + wait)
            }
        }
    }

    private func begin() async throws -> PassTimes {
        try await ledger.keepSchedules(schedules, now: now())
        let times = PassTimes(schedules.filter { !active($0).isEmpty }, try ledger.schedules(), now: now())
        times.log(now: now(), isDryRun: false, logger)
        return times
    }

    private func active(_ schedule: ScheduledRules) -> [String] { schedule.names.filter { !paused.contains($0) } }

    /// - Returns: False if the run was stopped.
    private func run(_ index: Int, at now: Int, _ times: inout PassTimes) async throws -> Bool {
        let (rules, begun, done, time) = times.begin(index, now: now)
        let isEnded = InjectedFault.earlyPassEnd.isActive
        try await ledger.note(rules, begun: isEnded ? nil : begun, done: isEnded ? now : done)
        CrashPoint.passBegun.pass()
        let pass = PassRunner.Pass.scheduled(active(rules), began: begun, time: time)
        if try await InjectedFault.skippedPass.isActive ? true : runPass(pass) {
            times.end(index, began: now)
            CrashPoint.passDone.pass()
            try await ledger.note(rules, begun: nil, done: now)
            return true
        }
        try Task.checkCancellation()
        if isOneShot || Task.isShuttingDownGracefully { return false }
        times.fail(index, now: self.now())
        return true
    }
}

/// Applies new and changed rules to all documents once, while the run reads the feed.
///
/// If the process is killed before the end, the next run starts it again, because the state still has the old rules.
struct CatchUpTask: BackgroundTask {
    let changed: [String]
    let runner: PassRunner
    let delivery: Delivery
    /// All rules.
    let ruleSet: RuleSet
    let woken = Signal("a pass over all documents")
    private var isDone = false

    init(_ changed: [String], _ runner: PassRunner, _ delivery: Delivery, _ ruleSet: RuleSet) {
        (self.changed, self.runner, self.delivery, self.ruleSet) = (changed, runner, delivery, ruleSet)
    }

    mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
        -> BackgroundTaskResult
    {
        guard phase == .readingFeed, !isDone else { return BackgroundTaskResult() }
        isDone = true
        let comparing = Set(ruleSet.comparing.map(\.name))
        let (shown, applied) = (changed.filter(comparing.contains), changed.filter { !comparing.contains($0) })
        // First, so that rules see as few documents as possible as changes before.
        if !shown.isEmpty, try await !runner.run(.learning(shown, delivery.lastSeen)) { return BackgroundTaskResult() }
        if !applied.isEmpty, try await !runner.run(.changed(applied, delivery.timers)) { return BackgroundTaskResult() }
        try await delivery.ledger.note(rules: ruleSet.fingerprints, hash: ruleSet.hash, missed: [])
        return BackgroundTaskResult()
    }
}
