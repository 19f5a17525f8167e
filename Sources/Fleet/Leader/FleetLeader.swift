internal import Locking

/// Reads the feed into the log while this member holds the lease of the feed, and waits for that lease otherwise.
///
/// It knows no rules, so one with old rules drops nothing. A crash at any moment loses nothing: the sequence is stored
/// together with the changes before it, and whoever leads next reads on from there.
package struct FleetLeader: Sendable {
    private let log: any WorkLog
    private let feed: any FeedSource
    private let keeper: LeaseKeeper
    private let settings: FleetSettings
    private let environment: FleetEnvironment

    package init(
        log: any WorkLog, feed: any FeedSource, keeper: LeaseKeeper, settings: FleetSettings,
        environment: FleetEnvironment
    ) {
        (self.log, self.feed, self.keeper) = (log, feed, keeper)
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
                if let term { try await lead(term, keeper.grant(term.lease, sentAt: sentAt)) }
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

    /// Reads and appends until the lease is lost.
    private func lead(_ term: Term, _ tenure: Tenure) async throws(WorkLogError) {
        environment.note(.gained(.feed, takeovers: 0))
        defer { keeper.drop(tenure) }
        var reading = FeedReading(term: term, tenure: tenure, settings: settings, environment: environment)
        while !Task.isCancelled, !tenure.isRevoked {
            do {
                try await reading.step(log, feed)
            } catch let error as WorkLogError {
                switch error {
                case .fenced:
                    environment.note(.fenced(.feed))
                    return
                // What is stored tells where to go on.
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

/// One term of a leader.
private struct FeedReading {
    var term: Term
    let tenure: Tenure
    let settings: FleetSettings
    let environment: FleetEnvironment
    private var backoff: Backoff
    /// What was read and is not appended yet.
    private var unstored: FeedPart?
    /// Changes in the log at most. Nil: not known yet.
    private var backlog: Int?
    private var answeredAt: Duration
    private var answered: String?

    init(term: Term, tenure: Tenure, settings: FleetSettings, environment: FleetEnvironment) {
        (self.term, self.tenure, self.settings, self.environment) = (term, tenure, settings, environment)
        backoff = Backoff(settings, environment)
        answeredAt = environment.clock.now
    }

    mutating func pause(_ error: WorkLogError) async {
        try? await environment.clock.sleep(for: backoff.next(error))
    }

    mutating func step(_ log: any WorkLog, _ feed: any FeedSource) async throws {
        try await recordAnswered(log, feed)
        guard try await hasRoom(log) else { return }
        if unstored == nil {
            if term.sequence == nil { term.sequence = try await feed.recordedAnswered() }
            unstored = try await feed.changes(after: term.sequence, limit: settings.appendLimit)
        }
        if let part = unstored, let sequence = part.sequence {
            term = try await log.append(part.entries, upTo: sequence, term)
            backlog = (backlog ?? 0) + part.entries.count
            if !part.entries.isEmpty { environment.note(.appended(part.entries.count)) }
        }
        unstored = nil
        backoff.reset()
    }

    /// Counts only when what was appended since the last count may be too much.
    private mutating func hasRoom(_ log: any WorkLog) async throws -> Bool {
        if let backlog, backlog <= settings.backlogLimit { return true }
        let counted = try await log.backlog().entries
        backlog = counted
        guard counted > settings.backlogLimit else { return true }
        environment.note(.backlogFull(counted))
        try await environment.clock.sleep(for: settings.poll)
        return false
    }

    private mutating func recordAnswered(_ log: any WorkLog, _ feed: any FeedSource) async throws {
        guard environment.clock.now >= answeredAt + settings.answeredInterval else { return }
        answeredAt = environment.clock.now
        guard let sequence = try await log.answered(), sequence != answered, tenure.isValid else { return }
        try await feed.recordAnswered(sequence)
        answered = sequence
    }
}
