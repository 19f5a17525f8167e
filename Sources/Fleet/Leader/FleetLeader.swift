internal import Locking

/// Reads the feed into the log while this member holds the feed's lease. Otherwise it waits for that lease.
///
/// A leader applies no rules, so a leader with old rules drops no change. A crash at any moment loses nothing: the
/// sequence is stored together with the changes before it, and the next leader continues there.
package struct FleetLeader: Sendable {
    private let log: any WorkLog
    private let feed: any LeaderFeed
    private let task: (any LeaderTask)?
    private let renewer: LeaseRenewer
    private let settings: FleetSettings
    private let environment: FleetEnvironment

    package init(
        log: any WorkLog, feed: any LeaderFeed, task: (any LeaderTask)? = nil, renewer: LeaseRenewer,
        settings: FleetSettings, environment: FleetEnvironment
    ) {
        (self.log, self.feed, self.task, self.renewer) = (log, feed, task, renewer)
        (self.settings, self.environment) = (settings, environment)
    }

    /// Leads whenever it can, until it is cancelled.
    ///
    /// - Throws: ``WorkLogError`` `.refused`, `CancellationError`.
    package func run() async throws {
        var backoff = Backoff(settings, environment)
        while true {
            do throws(WorkLogError) {
                let sentAt = environment.clock.now
                let term = try await log.lead()
                backoff.reset()
                if let term { try await lead(term, renewer.grant(term.lease, sentAt: sentAt)) }
            } catch .refused(let reason) {
                throw WorkLogError.refused(reason)
            } catch .unknownCommit {
                environment.note(.unknownCommit(.feed))
            } catch {
                try await environment.clock.sleep(for: backoff.next(error))
                continue
            }
            try await environment.clock.sleep(for: log.leaseTime / 3 * (0.5 + environment.random() / 2))
        }
    }

    /// Reads and appends until the lease is lost, and runs the leader's background work.
    private func lead(_ term: Term, _ tenure: Tenure) async throws(WorkLogError) {
        environment.note(.gained(.feed, takeovers: 0))
        defer { renewer.drop(tenure) }
        let open = LeaderTerm(term, tenure, log, settings, environment)
        guard let task else { return try await read(open) }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.read(open) }
                group.addTask {
                    try await task.work(open)
                    // The background work is done; the feed continues.
                    try await Signal().wait()
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch let error as WorkLogError {
            if case .fenced = error { return environment.note(.fenced(.feed)) }
            throw error
        } catch {}
    }

    private func read(_ term: LeaderTerm) async throws(WorkLogError) {
        var reading = FeedReading(term: term, settings: settings, environment: environment)
        while !Task.isCancelled, !term.tenure.isRevoked {
            do {
                try await reading.step(log, feed)
            } catch let error as WorkLogError {
                switch error {
                case .fenced:
                    environment.note(.fenced(.feed))
                    return
                // The stored state tells where to continue.
                case .unknownCommit, .refused: throw error
                case .unavailable: await reading.pause(error)
                }
            } catch is CancellationError {
                return
            } catch {
                await reading.pause(.unavailable("the feed: \(error)"))
            }
        }
    }
}

/// Reads the feed during one term.
private struct FeedReading {
    let term: LeaderTerm
    let environment: FleetEnvironment
    private let settings: FleetSettings
    private var backoff: Backoff
    /// Read, but not appended yet.
    private var unstored: FeedPart?
    private var answeredAt: Duration
    private var answered: String?

    init(term: LeaderTerm, settings: FleetSettings, environment: FleetEnvironment) {
        (self.term, self.settings, self.environment) = (term, settings, environment)
        backoff = Backoff(settings, environment)
        answeredAt = environment.clock.now
    }

    mutating func pause(_ error: WorkLogError) async {
        try? await environment.clock.sleep(for: backoff.next(error))
    }

    mutating func step(_ log: any WorkLog, _ feed: any LeaderFeed) async throws {
        try await saveAnsweredSequence(log, feed)
        guard try await term.hasRoom() else { return }
        if unstored == nil {
            // From then on, the log has the answered sequence.
            if term.sequence == nil, let start = try await feed.savedAnsweredSequence() {
                try await term.append([], upTo: start)
            }
            unstored = try await feed.changes(after: term.sequence, limit: settings.leader.appendLimit)
        }
        if let part = unstored, let sequence = part.sequence { try await term.append(part.entries, upTo: sequence) }
        unstored = nil
        backoff.reset()
    }

    private mutating func saveAnsweredSequence(_ log: any WorkLog, _ feed: any LeaderFeed) async throws {
        guard environment.clock.now >= answeredAt + settings.leader.answeredInterval else { return }
        answeredAt = environment.clock.now
        guard let sequence = try await log.answered()?.sequence, sequence != answered, term.tenure.isValid else {
            return
        }
        try await feed.saveAnsweredSequence(sequence)
        answered = sequence
    }
}
