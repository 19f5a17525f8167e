package import DocumentFlow
internal import Encodings
package import GatewayClient
package import Locking
package import LosslessJSON

/// A monitored bot: counts its events and queries its status.
package final class MonitoredBot: RunObserver {
    /// The displayed dead letters of a bot.
    package struct DeadLetters: Sendable {
        /// One of the newest dead letters.
        package struct Entry: Sendable {
            package let number: Int
            package let documentID: String
            package let revision: String?
            package let rule: String?
            package let reason: String
            /// RFC 3339.
            package let time: String

            /// The fields of a dead letter in the state.
            package init(
                number: Int, documentID: String, revision: String?, rule: String?, reason: String, time: String
            ) {
                self.number = number
                self.documentID = documentID
                self.revision = revision
                self.rule = rule
                self.reason = reason
                self.time = time
            }
        }

        /// The newest dead letters first; at most ``limit``.
        package var newest: [Entry] = []
        /// The number of dead letters by rule; the name is empty if no rule failed.
        package var byRule: [String: Int] = [:]
        /// The maximum number of displayed dead letters.
        package static let limit = 20

        /// Creates an empty list.
        package init() {}

        var open: Int { byRule.values.reduce(0, +) }
    }

    /// The queries of the monitor.
    package struct Source: Sendable {
        /// The status of the run.
        package let facts: @Sendable () async -> RunFacts
        /// The dead letters in the state; nil if it can't be read now.
        package let deadLetters: @Sendable () async -> DeadLetters?
        /// The waiting timers and passes; nil if the state can't be read now.
        package let waiting: @Sendable () async -> Waiting?
        /// The fleet. Queries its engine only on request, for at most two seconds. Nil: the bot does not belong to a
        /// fleet.
        package let fleet: (@Sendable (_ queriesEngine: Bool) async -> FleetView?)?
        /// The databases of a bot that follows many. Nil: it follows one.
        package var databases: (@Sendable () async -> DatabasesView?)?

        /// Each closure is called at most once a second.
        package init(
            facts: @escaping @Sendable () async -> RunFacts,
            deadLetters: @escaping @Sendable () async -> DeadLetters?,
            waiting: @escaping @Sendable () async -> Waiting? = { nil },
            fleet: (@Sendable (_ queriesEngine: Bool) async -> FleetView?)? = nil
        ) {
            self.fleet = fleet
            self.facts = facts
            self.deadLetters = deadLetters
            self.waiting = waiting
        }
    }

    private struct State {
        var description: BotDescription
        /// Nil after the bot has ended, because it would retain rules and memory of the run.
        var source: Source?
        /// Why the bot has ended; nil while it runs.
        var endReason: String?
        var facts = RunFacts()
        var deadLetters = DeadLetters()
        var waiting = Waiting()
        var fleet: FleetView?
        var fleetPace = FleetPace()
        var databases: DatabasesView?
        /// The databases for which `changebot_database_skipped` has been set.
        var databasesWithGauge: Set<String> = []
        /// The partitions for which `changebot_fleet_partition_backlog_changes` has been set.
        var partitionsWithGauge: Set<Int> = []
        var readiness: Readiness
        var history: History
        var effects = RecentEffects()
        /// The rules for which `changebot_dead_letters_open` has been set.
        var rulesWithGauge: Set<String> = []
        /// The receivers for which `changebot_receiver_down_seconds` has been set.
        var receiversWithGauge: Set<ReceiverOutages.Receiver> = []
        /// The rules for which `changebot_rule_paused` has been set.
        var pausedRulesWithGauge: Set<String> = []
        /// The rules for which `changebot_backfill_open` has been set.
        var backfillsWithGauge: Set<String> = []
        /// The hash of the rules that the metrics last showed.
        var rulesShown: String?
        var deadLettersAt: ContinuousClock.Instant?
        /// Seconds since 1970; nil before the first answer.
        var lastContact: Int?
    }

    /// Shows what changed: lines that begin with `+`, `-` or a space.
    package typealias Diff = @Sendable (_ before: JSONText?, _ after: JSONText?) -> [String]

    package var needsDocuments: Bool { diff != nil }
    package var maxReportedWrites: Int { RecentEffects.limit }
    /// `--name`.
    package let name: String
    private let diff: Diff?
    /// Nil: the bot's liveness is not monitored.
    private let liveness: Liveness?
    /// Nil: metrics are not exported.
    private let metrics: BotMetrics?
    private let state: Locked<State>
    /// Raised by all changes of the status, so that no polling is needed while nothing happens.
    package let changed = Signal()
    private let refreshing = TaskLock()
    private let deadLetterQuery = SingleFlightQuery<DeadLetters>()
    private let waitingQuery = SingleFlightQuery<Waiting>()
    private let startedAt = Timestamp.now

    /// - Parameters:
    ///   - registry: Keeps the bot's metrics. Nil: there are none.
    ///   - diff: Shows what changed in documents. Nil: contents of documents are not shown.
    ///   - liveness: Is told of each sign of life. Nil: ``silence()`` never finds one missing.
    package init(
        _ description: BotDescription, source: Source, registry: PrometheusRegistry?, diff: Diff? = nil,
        liveness: Liveness? = nil, now: ContinuousClock.Instant = .now
    ) {
        self.diff = diff
        self.liveness = liveness
        name = description.name
        metrics = registry.map { BotMetrics($0, bot: description.name) }
        state = Locked(
            State(
                description: description, source: source, readiness: Readiness(now: now), history: History(now: now)))
    }

    package func note(_ event: RunEvent) {
        metrics?.note(event)
        liveness?.note(event)
        defer { changed.raise() }
        guard case .wrote(let documents) = event else { return }
        let now = Timestamp.now
        state.withLock { $0.effects.add(documents, withContent: needsDocuments, at: now) }
    }

    /// Records a finished request to the gateway. For `GatewaySettings.requestObserver`.
    package func note(_ request: RequestRecord) {
        metrics?.noteRequest(
            method: request.method, status: request.status, sent: request.sent, received: request.received)
        liveness?.noteRequest(request.target)
        let hasChanged = state.withLock { state in
            guard request.status != nil else { return true }
            let now = Timestamp.secondsNow
            defer { state.lastContact = now }
            return state.lastContact.map { Duration.seconds(now - $0) >= StatusFile.interval } ?? true
        }
        if hasChanged { changed.raise() }
    }

    /// The interval, because counting many dead letters takes a while.
    private static let deadLetterInterval: Duration = .seconds(3)

    /// The maximum time for a query of a fleet's state, which is on another machine.
    private static let maxAnswerTime: Duration = .seconds(2)

    /// Queries the bot's status. Call every few seconds while it has work, and whenever ``changed`` is raised.
    ///
    /// - Parameter queriesEngine: Whether there are readers, so that the fleet's engine is also queried, every few
    ///   seconds.
    package func refresh(now: ContinuousClock.Instant = .now, queriesEngine: Bool = false) async {
        // Refreshes run one at a time: older facts must not overwrite newer ones.
        await refreshing.withLock { await noteFacts(now: now, queriesEngine: queriesEngine) }
    }

    private func noteFacts(now: ContinuousClock.Instant, queriesEngine: Bool) async {
        guard let source = state.withLock(\.source) else { return }
        let facts = await source.facts()
        let databases = await source.databases?()
        let isUnavailable = await !noteFleet(source, now: now, queriesEngine: queriesEngine)
        let readAt = state.withLock(\.deadLettersAt)
        let isDue = !isUnavailable && readAt.map { $0.duration(to: now) >= Self.deadLetterInterval } ?? true
        async let deadLettersAnswer = isDue ? answer(source, deadLetterQuery, source.deadLetters) : nil
        async let waitingAnswer = isDue ? answer(source, waitingQuery, source.waiting) : nil
        let (deadLetters, waiting) = await (deadLettersAnswer, waitingAnswer)
        state.withLock { state in
            state.facts = facts
            state.databases = databases
            if let waiting { state.waiting = waiting }
            if let deadLetters {
                state.deadLetters = deadLetters
                state.deadLettersAt = now
            }
            state.readiness.note(facts, now: now)
            state.history.note(facts, now: now)
        }
        if let metrics { set(metrics, now) }
    }

    /// Queries a state without a limit if it is in a file, because that answers immediately.
    private func answer<Answer>(
        _ source: Source, _ inquiry: SingleFlightQuery<Answer>, _ ask: @escaping @Sendable () async -> Answer?
    ) async -> Answer? {
        source.fleet == nil ? await ask() : await inquiry.answer(within: Self.maxAnswerTime, ask)
    }

    /// - Returns: False if the fleet's engine did not answer the last query.
    private func noteFleet(_ source: Source, now: ContinuousClock.Instant, queriesEngine: Bool) async -> Bool {
        guard let fleet = source.fleet else { return true }
        let isDue = queriesEngine && state.withLock { $0.fleetPace.isDue(now: now) }
        let asked = ContinuousClock.now
        guard var view = await fleet(isDue) else { return true }
        let answered = ContinuousClock.now
        return state.withLock { state in
            if isDue {
                // Check soon whether an unavailable engine is available again.
                let span = view.engineReport == nil ? .zero : asked.duration(to: answered)
                state.fleetPace.noteAnswer(asked: now, answered: now + span)
            } else {
                view.engineReport = state.fleet?.engineReport
            }
            state.fleet = view
            return !queriesEngine || view.engineReport != nil
        }
    }

    private func set(_ metrics: BotMetrics, _ now: ContinuousClock.Instant) {
        let state = state.withLock { $0 }
        let facts = state.facts
        metrics.set(.ready, unreadyReason(state, now) == nil ? 1 : 0)
        metrics.set(.connected, state.endReason == nil && facts.isConnected ? 1 : 0)
        if let contact = state.lastContact { metrics.set(.lastContact, Double(contact)) }
        // An unknown value is NaN.
        metrics.set(.lagSequences, facts.lag.map(Double.init) ?? .nan)
        metrics.set(.lagSeconds, facts.behindSince.map { $0.duration(to: now).inSeconds } ?? 0)
        metrics.set(.checkpointAge, facts.savedAt.map { $0.duration(to: now).inSeconds } ?? .nan)
        metrics.set(.documentsInFlight, Double(facts.documentsInFlight))
        metrics.set(.bytesInFlight, Double(facts.bytesInFlight))
        metrics.set(.writeRateLimit, facts.writeRate ?? .infinity)
        metrics.set(.waitingTimers, Double(state.waiting.timerCount))
        let receiversWithGauge = set(metrics, receivers: state, now)
        let partitionsWithGauge = metrics.set(state.fleet, known: state.partitionsWithGauge)
        let databasesWithGauge = metrics.set(state.databases, known: state.databasesWithGauge)
        let hash = state.description.rules.hash
        if let former = state.rulesShown, former != hash {
            metrics.set(.rulesInfo, 0, ["hash": former])
        }
        metrics.set(.rulesInfo, 1, ["hash": hash])
        // The metric of a rule without dead letters becomes 0.
        let rules = state.rulesWithGauge.union(state.deadLetters.byRule.keys)
        for rule in rules {
            metrics.set(.openDeadLetters, Double(state.deadLetters.byRule[rule] ?? 0), ["rule": rule])
        }
        // A rule that was never paused has no metric.
        let paused = Set(state.waiting.pausedRules.filter { $0.state == .paused || $0.state == .resuming }.map(\.name))
        let pausedRules = state.pausedRulesWithGauge.union(paused)
        for rule in pausedRules { metrics.set(.pausedRule, paused.contains(rule) ? 1 : 0, ["rule": rule]) }
        let backfills = set(metrics, backfills: state)
        self.state.withLock {
            $0.pausedRulesWithGauge = pausedRules
            $0.backfillsWithGauge = backfills
            $0.rulesShown = hash
            $0.rulesWithGauge.formUnion(rules)
            $0.receiversWithGauge = receiversWithGauge
            $0.partitionsWithGauge = partitionsWithGauge
            $0.databasesWithGauge = databasesWithGauge
        }
    }

    /// Sets the metrics of backfills.
    ///
    /// - Returns: The rules whose backfills now have metrics.
    private func set(_ metrics: BotMetrics, backfills state: State) -> Set<String> {
        let backfills = state.waiting.backfills
        // A backfill that was cancelled or ended long ago is no longer listed.
        for rule in state.backfillsWithGauge.subtracting(backfills.map(\.rule)) {
            metrics.set(.openBackfill, 0, ["rule": rule])
        }
        for backfill in backfills {
            let labels: KeyValuePairs = ["rule": backfill.rule]
            metrics.set(.openBackfill, backfill.state == .waiting || backfill.state == .running ? 1 : 0, labels)
            metrics.set(.backfillRead, Double(backfill.counts.read), labels)
            metrics.set(.backfillExpected, backfill.expected.map(Double.init) ?? .nan, labels)
        }
        return state.backfillsWithGauge.union(backfills.map(\.rule))
    }

    /// Sets the metrics of receivers that are down.
    ///
    /// - Returns: The receivers that now have a metric.
    private func set(
        _ metrics: BotMetrics, receivers state: State, _ now: ContinuousClock.Instant
    ) -> Set<ReceiverOutages.Receiver> {
        let down = state.endReason == nil ? state.facts.receivers : []
        metrics.set(.receiversDown, Double(down.count))
        let seconds = Dictionary(
            down.map { ($0.receiver, $0.status.began.duration(to: now).inSeconds) }
        ) { first, _ in first }
        // The metric of a receiver that is up again becomes 0.
        let known = state.receiversWithGauge.union(seconds.keys)
        for receiver in known {
            metrics.set(
                .receiverDownSeconds, seconds[receiver] ?? 0,
                ["kind": receiver.kind.rawValue, "receiver": receiver.origin])
        }
        return known
    }

    /// Records that other rules are in force now.
    package func update(_ rules: RuleSetDescription) {
        state.withLock { $0.description.rules = rules }
        changed.raise()
    }

    /// Records that the bot has ended, with the reason.
    package func end(_ reason: String) async {
        state.withLock { $0.endReason = reason }
        await refresh()
        let state = state.withLock { state in
            state.source = nil
            return state
        }
        // Another bot with this name may take its place.
        if let hash = state.rulesShown { metrics?.set(.rulesInfo, 0, ["hash": hash]) }
    }

    /// Why the bot seems to hang; nil if it is alive or has ended. Queries the bot itself, so this call does not return
    /// if the bot can't answer.
    package func silence() async -> String? {
        guard let liveness, let source = state.withLock(\.source) else { return nil }
        return liveness.silence(await source.facts())
    }

    /// Why the bot has ended, for the user; nil while it runs.
    package var endReason: String? { state.withLock(\.endReason) }

    /// The number of dead letters in its state, as of the last refresh.
    package var openDeadLetters: Int { state.withLock(\.deadLetters.open) }

    /// The status of the run, as of the last refresh.
    package var facts: RunFacts { state.withLock(\.facts) }

    /// Why the bot is not ready, as of the last refresh; nil if it is.
    package func unreadyReason(now: ContinuousClock.Instant = .now) -> String? {
        state.withLock { unreadyReason($0, now) }
    }

    private func unreadyReason(_ state: State, _ now: ContinuousClock.Instant) -> String? {
        state.endReason.map { "ended: \($0)" } ?? state.readiness.unreadyReason(state.facts, now: now)
    }

    /// Writes the bot's status as of the last refresh: one JSON object.
    package func write(to writer: inout JSONWriter, now: ContinuousClock.Instant = .now) {
        let state = state.withLock { $0 }
        BotStatus(
            description: state.description, facts: state.facts, deadLetters: state.deadLetters,
            waiting: state.waiting, fleet: state.fleet, databases: state.databases,
            unreadyReason: unreadyReason(state, now),
            hasEnded: state.endReason != nil,
            history: state.history,
            effects: state.effects, lastContact: state.lastContact, startedAt: startedAt,
            diff: diff ?? { _, _ in [] }
        ).write(to: &writer, now: now)
    }
}
