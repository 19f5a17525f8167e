internal import DocumentFlow
internal import Fleet
internal import GatewayClient
internal import Locking
internal import Logging
internal import Rules

/// What only one of several members may do, and the one that reads the feed does: it brings documents whose time has come
/// or that must be counted again to whoever has their partition, writes totals, and runs the passes of scheduled rules.
///
/// All of it is in the state. So whoever leads next goes on with it; what is done twice changes nothing.
final class LeaderWork: LeaderDuty {
    /// How often it looks for what other members have noted.
    private static let interval: Duration = .seconds(1)

    private let delivery: Delivery
    private let ruleSet: RuleSet
    private let counts: Counts?
    private let pass: CountsPass?
    private let info: DatabaseInfo
    private let runPasses: @Sendable () async throws -> Void
    private let logger: Logger
    private let failure = Monitor<(any Error)?>(nil)

    /// - Parameters:
    ///   - counts: Nil: no rule counts.
    ///   - pass: Counts all documents.
    ///   - info: Says where the feed ends, if it must be read instead of a list of the documents.
    ///   - runPasses: Runs the passes that are due, one at a time, until it is cancelled.
    init(
        _ delivery: Delivery, _ ruleSet: RuleSet, counts: Counts?, pass: CountsPass?,
        info: DatabaseInfo, runPasses: @escaping @Sendable () async throws -> Void, logger: Logger
    ) {
        self.delivery = delivery
        self.ruleSet = ruleSet
        self.counts = counts
        self.pass = pass
        self.info = info
        self.runPasses = runPasses
        self.logger = logger
    }

    /// Returns never, unless something has gone wrong that no retry can mend.
    ///
    /// - Throws: That, or `CancellationError`.
    func untilFailed() async throws {
        await failure.wait { $0 != nil }
        try Task.checkCancellation()
        if let error = failure.quietly({ $0 }) { throw error }
    }

    func work(_ term: LeaderTerm) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.again { try await self.keepCounts(term) } }
            group.addTask { try await self.again { try await self.fireTimers(term) } }
            group.addTask { try await self.again { try await self.runPasses() } }
            defer { group.cancelAll() }
            // They return if there is nothing to do for them.
            while try await group.next() != nil {}
        }
    }

    /// Begins again after errors of the engine. The end of the tenure is noticed by whoever cancels this.
    private func again(_ body: @escaping @Sendable () async throws -> Void) async throws {
        while true {
            do { return try await body() } catch let error as WorkLogError {
                guard case .unavailable = error else { throw error }
            } catch let error as StateError {
                switch error {
                case .engineUnavailable, .fenced, .locked: break
                default: failure.with { $0 = $0 ?? error }
                }
            } catch is RunIsStopping {
                // Somebody else goes on with it.
                return
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                failure.with { $0 = $0 ?? error }
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    // MARK: - Times

    /// So many times are read at once.
    private static let timersAtOnce = 1_000

    /// Brings documents whose time has come. Each time is brought once, and again only after a while.
    private func fireTimers(_ term: LeaderTerm) async throws {
        let rules = ruleSet.timedRules
        guard !rules.isEmpty else { return }
        var brought = BroughtTimers()
        while true {
            let now = delivery.settings.now()
            brought.begin(now: now, .now)
            var last: WaitingTimer?
            while try await term.hasRoom() {
                let due = try await delivery.ledger.timers(
                    from: brought.start, dueBy: now, ofRules: rules, after: last, limit: Self.timersAtOnce)
                let ids = Set(brought.new(among: due).map { DocumentKey($0.id.text) }).sorted()
                if !ids.isEmpty {
                    try await term.append(ids.map { FeedEntry(.due, $0) })
                    logger.debug("the time of rules has come", metadata: [LogKey.documents: "\(ids.count)"])
                }
                brought.note(due)
                last = due.last
                guard due.count < Self.timersAtOnce else { continue }
                brought.end()
                break
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    // MARK: - Counts

    /// When all members know which rules are counted.
    private static let timeToLearn = Counts.othersInterval * 3
    /// How long it waits after totals were written: changes that come meanwhile are one write.
    private static let totalsInterval: Duration = .milliseconds(200)

    /// Documents that others ask to have counted again are brought at once, but not those of a short time ago: a member
    /// with other rules asks again for each.
    private static let recountInterval: Duration = .seconds(5)

    private func keepCounts(_ term: LeaderTerm) async throws {
        guard let counts, let pass else { return try await forgetCounts() }
        var writer = delivery.makeTotalsWriter(counts)
        var recounts = Recounts()
        while true {
            let incomplete = try await counts.look()
            try await bring(&recounts, term)
            if !incomplete.isEmpty {
                try await Task.sleep(for: Self.timeToLearn)
                try await countAll(incomplete, counts, pass, &recounts, term)
            }
            if counts.isComplete { _ = try await writer.writeAll() }
            try await Task.sleep(for: Self.totalsInterval)
            // Own changes are noticed at once, those of others by looking.
            try await counts.changed.wait(until: .now + Self.interval)
        }
    }

    /// Without rules that count: those that no member has any more are not to be counted.
    private func forgetCounts() async throws {
        while true {
            try await delivery.ledger.dropUnusedCounts(otherThan: [])
            try await Task.sleep(for: Self.recountInterval)
        }
    }

    /// The documents that must be counted again.
    private struct Recounts {
        /// When some were last brought.
        var broughtAt: ContinuousClock.Instant?
        /// The place of the last one in the log.
        var end: Int64 = 0
    }

    /// Brings the documents that must be counted again.
    ///
    /// - Returns: Whether there are any.
    @discardableResult
    private func bring(_ recounts: inout Recounts, _ term: LeaderTerm) async throws -> Bool {
        let newest = try await delivery.ledger.newestRecount()
        guard newest > 0 else { return false }
        if let last = recounts.broughtAt, last.duration(to: .now) < Self.recountInterval { return true }
        recounts.broughtAt = .now
        var last = 0
        // Not those that come meanwhile.
        while last < newest, try await term.hasRoom() {
            let next = try await delivery.ledger.recounts(after: last, limit: Counts.recountLimit)
            guard let end = next.last else { break }
            let ids = Set(next.map { DocumentKey($0.id.text) }).sorted()
            recounts.end = try await term.append(ids.map { FeedEntry(.uncounted, $0) })
            // From here on, the log has them.
            try await delivery.ledger.dropRecounts(next)
            last = end.number
        }
        return true
    }

    /// Brings all documents that may add anything, and waits until they are counted.
    private func countAll(
        _ rules: [Int], _ counts: Counts, _ pass: CountsPass, _ recounts: inout Recounts, _ term: LeaderTerm
    ) async throws {
        // A rule that came meanwhile is not among them.
        guard counts.incomplete == rules else { return }
        let names = pass.begin()
        try await delivery.ledger.restartCounts(rules)
        let intake = pass.makeIntake()
        let end = Locked<Int64>(0)
        try await pass.read(info) { documents in
            let ids = try await intake.toBeCounted(documents, counts).map { DocumentKey($0.id.text) }
            guard !ids.isEmpty else { return }
            while try await !term.hasRoom() {}
            let n = try await term.append(ids.map { FeedEntry(.uncounted, $0) })
            end.withLock { $0 = n }
        }
        // Members with other rules ask again for what they could not count: before they pass it.
        var isCounted = false
        while !isCounted {
            try await Task.sleep(for: Self.interval / 4)
            // Nobody asks for rules that no member has any more.
            _ = try await counts.look()
            let hasPassed = try await term.hasPassed(max(end.withLock { $0 }, recounts.end))
            isCounted = try await !bring(&recounts, term) && hasPassed
        }
        // Another rule may have come meanwhile.
        guard try await counts.look() == rules else { return }
        try await pass.complete(names)
    }
}
