internal import Locking

/// Works on one partition while this member holds it: reads, lets the processor decide, commits.
///
/// One task makes all calls to the log, one after the other; the processor runs in child tasks. A crash or lost
/// connection at any moment loses nothing: the next owner reads again what was not committed.
final class PartitionLoop: Sendable {
    /// Messages of other tasks to the loop.
    private struct Inbox {
        var answers: [(change: LoggedChange, verdict: Verdict)] = []
        var batchesEnded = 0
        var hasChanges = true
        var hasDue = true
        var isDraining = false
        /// Whether the partition has exclusive use of the process.
        var isIsolated = false
        var readUpTo: Int64
        var claim: Claim
    }

    let partition: Int
    let tenure: Tenure
    private let log: any WorkLog
    private let processor: any Processor
    private let gate: IsolationGate
    private let limit: WorkLimit
    private let settings: FleetSettings
    private let environment: FleetEnvironment
    private let inbox: Locked<Inbox>
    private let wake: Signal

    /// - Parameter wake: The signal of `tenure`.
    init(
        _ claim: Claim, _ tenure: Tenure, wake: Signal, log: any WorkLog, processor: any Processor, gate: IsolationGate,
        limit: WorkLimit, settings: FleetSettings, environment: FleetEnvironment
    ) {
        (partition, self.tenure, self.wake) = (claim.partition, tenure, wake)
        (self.log, self.processor, self.gate, self.limit) = (log, processor, gate, limit)
        (self.settings, self.environment) = (settings, environment)
        inbox = Locked(Inbox(readUpTo: claim.position, claim: claim))
    }

    // MARK: For the worker

    /// Finishes the changes under way, starts nothing more, and releases the partition.
    func drain() {
        inbox.withLock { $0.isDraining = true }
        wake.raise()
    }

    var isDraining: Bool { inbox.withLock(\.isDraining) }

    /// How far the partition was read. Nil if the loop needs no notice of new changes.
    var readPosition: ReadPosition? {
        inbox.withLock { $0.isDraining ? nil : ReadPosition(claim: $0.claim, readUpTo: $0.readUpTo) }
    }

    /// Notes that there is work in the log.
    func take(_ pending: PendingWork) {
        inbox.withLock { inbox in
            inbox.hasChanges = inbox.hasChanges || pending.hasChanges
            inbox.hasDue = inbox.hasDue || pending.hasDue
        }
        wake.raise()
    }

    // MARK: The loop

    /// Works until the partition is released or lost, or the task is cancelled.
    ///
    /// - Throws: ``WorkLogError`` `.refused`.
    func run() async throws(WorkLogError) {
        defer {
            gate.withdraw(partition)
            limit.withdraw(partition)
            // No attempt is under way any more.
            leaveIfIsolated()
        }
        let result = await withDiscardingTaskGroup { group -> Result<Void, WorkLogError> in
            defer { group.cancelAll() }
            var work = Work(self)
            do throws(WorkLogError) {
                while !tenure.isRevoked, !Task.isCancelled, try await work.step(&group) {}
                return .success(())
            } catch .fenced {
                environment.note(.fenced(.partition(partition)))
                tenure.revoke()
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// The state of the loop.
    fileprivate struct Work {
        let loop: PartitionLoop
        var claim: Claim
        var window: PartitionWindow
        var batches = 0
        var backoff: Backoff
        /// When the engine may be called again.
        var nextCallAt: Duration?
        /// When the process will have survived the attempt in isolation that is under way.
        var survivalDue: Duration?
        var isolatesChanges: Bool
        /// The time from which the log knows which processes have ended.
        let settledAt: Duration
        /// Whether the partition waits for exclusive use of the process.
        var isWaiting = false

        init(_ loop: PartitionLoop) {
            self.loop = loop
            claim = loop.inbox.withLock(\.claim)
            window = PartitionWindow(position: claim.position, settings: loop.settings)
            backoff = Backoff(loop.settings, loop.environment)
            isolatesChanges = claim.takeovers >= loop.settings.isolation.suspiciousTakeovers
            settledAt = loop.environment.clock.now + loop.settings.isolation.settlingTime
        }
    }
}

extension PartitionLoop.Work {
    /// Does all that is possible now, then waits for something to happen.
    ///
    /// - Returns: Whether the loop must go on.
    mutating func step(_ group: inout DiscardingTaskGroup) async throws(WorkLogError) -> Bool {
        collect()
        if let nextCallAt, loop.environment.clock.now < nextCallAt { return await wait(until: nextCallAt) }
        nextCallAt = nil
        do throws(WorkLogError) {
            try await noteSurvival()
            if loop.isDraining {
                loop.limit.withdraw(loop.partition)
                if batches == 0 || InjectedFleetFault.earlyRelease.isActive {
                    try await release()
                    return false
                }
                if window.needsCommit(claim.position) { try await commit(window.outcome) }
                leaveAfterAttempt()
            } else {
                if window.needsCommit(claim.position) { try await commit(window.outcome) }
                leaveAfterAttempt()
                try await read()
                try await start(&group)
            }
            backoff.reset()
        } catch .unavailable(let reason) {
            if batches == 0, hasLeaseExpired { return false }
            // Other partitions need not wait for this one.
            loop.limit.withdraw(loop.partition)
            nextCallAt = loop.environment.clock.now + backoff.next(.unavailable(reason))
            return true
        }
        return canContinue ? true : await wait(until: survivalDue)
    }

    /// Whether the lease has expired, so that there is nothing to release: the next owner reads again what was not
    /// committed.
    private var hasLeaseExpired: Bool { loop.isDraining && !loop.tenure.isValid }

    /// Whether there is something to do without waiting.
    private var canContinue: Bool {
        if window.needsCommit(claim.position) { return true }
        return !loop.isDraining && hasRoom && loop.inbox.withLock(\.hasChanges)
    }

    /// Reads in large batches, unless there is nothing else to do.
    private var hasRoom: Bool {
        let room = loop.settings.work.window - window.count
        return room >= loop.settings.work.window / 2 || room >= loop.settings.work.batch && !window.hasReady
    }

    /// Returns at once if the processor has already answered.
    private func wait(until deadline: Duration?) async -> Bool {
        do { try await loop.environment.clock.wait(for: loop.wake, until: deadline) } catch { return false }
        return true
    }

    /// Takes the processor's answers.
    private mutating func collect() {
        let (answers, ended) = loop.inbox.withLock { inbox in
            defer { (inbox.answers, inbox.batchesEnded) = ([], 0) }
            return (inbox.answers, inbox.batchesEnded)
        }
        for (change, verdict) in answers { window.answer(change, verdict) }
        batches -= ended
    }

    // MARK: Calls

    private mutating func read() async throws(WorkLogError) {
        let (hasChanges, hasDue) = loop.inbox.withLock { inbox in
            defer { inbox.hasDue = false }
            return (inbox.hasChanges, inbox.hasDue)
        }
        let room = loop.settings.work.window - window.count
        window.isSettled = loop.environment.clock.now >= settledAt
        if hasDue {
            let limit = loop.settings.work.batch
            do throws(WorkLogError) {
                let due = try await loop.log.due(claim, limit: limit)
                window.addDue(due)
                if due.count == limit { loop.inbox.withLock { $0.hasDue = true } }
            } catch {
                loop.inbox.withLock { $0.hasDue = true }
                throw error
            }
        }
        if hasChanges, hasRoom {
            // The change that ended the process was most likely among the first under way.
            let inProgress = loop.settings.work.batch * loop.settings.work.batchesAtOnce
            let limit = isolatesChanges ? min(room, inProgress) : room
            let changes = try await loop.log.next(claim, after: window.readUpTo, limit: limit)
            if isolatesChanges {
                isolatesChanges = false
                window.isolateChanges(upTo: changes.last?.n ?? claim.position)
            }
            window.add(changes)
            loop.inbox.withLock { inbox in
                inbox.hasChanges = changes.count == limit
                inbox.readUpTo = window.readUpTo
            }
        }
    }

    private mutating func start(_ group: inout DiscardingTaskGroup) async throws(WorkLogError) {
        while places >= loop.settings.work.minBatch, loop.tenure.isValid {
            guard window.hasStartable else {
                loop.limit.withdraw(loop.partition)
                return stopWaiting()
            }
            guard try await window.startsInIsolation ? startInIsolation(&group) : startTogether(&group) else { return }
        }
    }

    /// - Returns: Whether more may start.
    private mutating func startTogether(_ group: inout DiscardingTaskGroup) -> Bool {
        guard enter(isIsolated: false) else {
            loop.limit.withdraw(loop.partition)
            return false
        }
        let room = loop.limit.enter(loop.partition, atMost: min(places, loop.settings.work.batch), loop.wake)
        let batch = room > 0 ? window.take(atMost: room) : nil
        guard case .together(let changes) = batch else {
            loop.limit.leave(room)
            loop.gate.leave(isIsolated: false)
            // The next change must be attempted in isolation.
            if case .alone(let change, _) = batch { putBack([change]) }
            return room > 0
        }
        loop.limit.leave(room - changes.count)
        process(changes, isIsolated: false, &group)
        return true
    }

    /// - Returns: Whether more may start.
    private mutating func startInIsolation(_ group: inout DiscardingTaskGroup) async throws(WorkLogError) -> Bool {
        switch window.take(atMost: loop.settings.work.batch) {
        case nil: return true
        case .together(let changes):
            // The changes that waited for isolation have been dead-lettered.
            putBack(changes)
            return true
        case .alone(let change, let attempt):
            // Something else may have ended the first attempt. From the second attempt on, nothing else may be under
            // way.
            let isIsolated = !change.isolatedAttempts.isEmpty
            guard enter(isIsolated: isIsolated) else {
                putBack([change])
                return false
            }
            var outcome = window.outcome
            outcome.attempted = [attempt]
            do throws(WorkLogError) {
                try await commit(outcome)
            } catch {
                loop.gate.leave(isIsolated: isIsolated)
                putBack([change])
                throw error
            }
            if isIsolated { loop.inbox.withLock { $0.isIsolated = true } }
            survivalDue = loop.environment.clock.now + loop.settings.isolation.survivalTime
            loop.limit.add(1)
            process([change], isIsolated: isIsolated, &group)
            return true
        }
    }

    /// How many more changes may be under way. A few slow changes do not occupy the places of a whole call.
    private var places: Int { loop.settings.work.batch * loop.settings.work.batchesAtOnce - window.runningCount }

    /// An attempt that has run for some time without an answer is unlikely to crash the process.
    private mutating func noteSurvival() async throws(WorkLogError) {
        guard let survivedAttempt = window.survivedAttempt else {
            survivalDue = nil
            return
        }
        guard let survivalDue, loop.environment.clock.now >= survivalDue else { return }
        var outcome = window.outcome
        outcome.attempted = [survivedAttempt]
        try await commit(outcome)
        window.survive()
        self.survivalDue = nil
    }

    private mutating func enter(isIsolated: Bool) -> Bool {
        guard isIsolated else {
            stopWaiting()
            return loop.gate.share(loop.partition, loop.wake)
        }
        let hasEntered = loop.gate.enterExclusively(loop.partition, loop.wake)
        isWaiting = !hasEntered
        return hasEntered
    }

    /// The answer is stored. If another change ends the process from now on, this attempt does not count.
    private mutating func leaveAfterAttempt() {
        if batches == 0 { loop.leaveIfIsolated() }
    }

    /// A change that waited for isolation may have been dead-lettered without an attempt.
    private mutating func stopWaiting() {
        guard isWaiting else { return }
        isWaiting = false
        loop.gate.withdraw(loop.partition)
    }

    private mutating func putBack(_ changes: [LoggedChange]) {
        for change in changes { window.answer(change, .postponed) }
    }

    private mutating func process(_ changes: [LoggedChange], isIsolated: Bool, _ group: inout DiscardingTaskGroup) {
        batches += 1
        group.addTask { [loop] in await loop.process(changes, isIsolated: isIsolated) }
    }

    /// Commits an outcome. If it is unknown whether it was stored, asks until it is known.
    private mutating func commit(_ outcome: PartitionOutcome) async throws(WorkLogError) {
        do throws(WorkLogError) {
            claim = try await loop.log.commit(claim, outcome)
        } catch .unknownCommit {
            loop.environment.note(.unknownCommit(claim.lease.name))
            try await settle()
        }
        window.stored()
        loop.inbox.withLock { $0.claim = claim }
        loop.environment.note(
            .committed(partition: claim.partition, parked: outcome.parked.count, dead: outcome.dead.count))
    }

    /// Finds out whether the last commit is stored: then the version is one higher. If not, it is repeated; the version
    /// prevents a late commit from being carried out twice.
    private mutating func settle() async throws(WorkLogError) {
        var backoff = Backoff(loop.settings, loop.environment)
        while true {
            let now: Claim
            do throws(WorkLogError) {
                now = try await loop.log.refresh(claim)
            } catch .unavailable(let reason) {
                if hasLeaseExpired { throw .unavailable(reason) }
                let pause = backoff.next(.unavailable(reason))
                do { try await loop.environment.clock.sleep(for: pause) } catch { throw .fenced("cancelled") }
                continue
            }
            switch now.version {
            case claim.version + 1: claim = now
            case claim.version: throw .unavailable("the commit is not stored")
            default: throw .fenced("another commit came first")
            }
            return
        }
    }

    /// The last commit. If it is unknown whether it is stored, the next renewal shows it.
    private mutating func release() async throws(WorkLogError) {
        loop.tenure.revoke()
        var outcome = window.outcome
        outcome.releases = true
        do throws(WorkLogError) {
            _ = try await loop.log.commit(claim, outcome)
            loop.environment.note(.released(claim.lease.name))
        } catch .unknownCommit {
            loop.environment.note(.unknownCommit(claim.lease.name))
        } catch .unavailable {}
    }
}

extension PartitionLoop {
    fileprivate func leaveIfIsolated() {
        let wasIsolated = inbox.withLock { inbox in
            defer { inbox.isIsolated = false }
            return inbox.isIsolated
        }
        if wasIsolated { gate.leave(isIsolated: true) }
    }

    private func process(_ changes: [LoggedChange], isIsolated: Bool) async {
        let told = Locked(Set<Int64>())
        await processor.process(changes, tenure) { [self] change, verdict in
            guard told.withLock({ $0.insert(change.n).inserted }) else { return }
            limit.leave(1)
            inbox.withLock { $0.answers.append((change, verdict)) }
            wake.raise()
        }
        // Isolated until the answer is stored.
        if !isIsolated { gate.leave(isIsolated: false) }
        let answered = told.withLock { $0 }
        limit.leave(changes.count { !answered.contains($0.n) })
        let verdict: Verdict = tenure.isValid && !Task.isCancelled ? .failed("no answer") : .postponed
        inbox.withLock { inbox in
            for change in changes where !answered.contains(change.n) { inbox.answers.append((change, verdict)) }
            inbox.batchesEnded += 1
        }
        wake.raise()
    }
}
