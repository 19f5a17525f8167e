package import DocumentFlow
internal import Encodings
package import GatewayClient
package import Locking
package import LosslessJSON

/// One bot under observation: counts its events, and asks it where it stands.
package final class MonitoredBot: RunObserver {
    /// What the page shows of a bot's dead letters.
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

        /// The newest first; at most ``limit``.
        package var newest: [Entry] = []
        /// How many there are, by rule; the empty name if no rule failed.
        package var byRule: [String: Int] = [:]
        /// How many are shown.
        package static let limit = 20

        /// None.
        package init() {}

        var open: Int { byRule.values.reduce(0, +) }
    }

    /// What the monitor asks.
    package struct Source: Sendable {
        /// Where the run stands.
        package let facts: @Sendable () async -> RunFacts
        /// The dead letters in the state; nil if it can't be read now.
        package let deadLetters: @Sendable () async -> DeadLetters?
        /// What waits for its time; nil if the state can't be read now.
        package let waiting: @Sendable () async -> Waiting?
        /// The fleet. Asks its engine only if told so, for two seconds at most. Nil: the bot is not one of a fleet.
        package let fleet: (@Sendable (_ asksEngine: Bool) async -> FleetView?)?

        /// All are called once a second or less.
        package init(
            facts: @escaping @Sendable () async -> RunFacts,
            deadLetters: @escaping @Sendable () async -> DeadLetters?,
            waiting: @escaping @Sendable () async -> Waiting? = { nil },
            fleet: (@Sendable (_ asksEngine: Bool) async -> FleetView?)? = nil
        ) {
            self.fleet = fleet
            self.facts = facts
            self.deadLetters = deadLetters
            self.waiting = waiting
        }
    }

    private struct State {
        var description: BotDescription
        /// Nil once the bot has ended: it would keep rules and memory of the run.
        var source: Source?
        /// Why the bot has ended; nil as long as it runs.
        var end: String?
        var facts = RunFacts()
        var deadLetters = DeadLetters()
        var waiting = Waiting()
        var fleet: FleetView?
        var fleetPace = FleetPace()
        /// The partitions for which `changebot_fleet_partition_backlog_changes` has been set.
        var partitionsWithGauge: Set<Int> = []
        var readiness: Readiness
        var history: History
        var effects = RecentEffects()
        /// The rules for which `changebot_dead_letters_open` has been set.
        var rulesWithGauge: Set<String> = []
        /// The receivers for which `changebot_receiver_down_seconds` has been set.
        var receiversWithGauge: Set<ReceiverOutages.Receiver> = []
        /// The hash of the rules that the metrics have named last.
        var rulesShown: String?
        var deadLettersAt: ContinuousClock.Instant?
        /// Seconds since 1970; nil before the first answer.
        var lastContact: Int?
    }

    /// Shows what changed: lines that begin with `+`, `-` or a space.
    package typealias Diff = @Sendable (_ before: JSONText?, _ after: JSONText?) -> [String]

    package var wantsDocuments: Bool { diff != nil }
    package var wantedWrites: Int { RecentEffects.limit }
    /// `--name`.
    package let name: String
    private let diff: Diff?
    /// Nil: nobody asks whether the bot is alive.
    private let pulse: Pulse?
    /// Nil: nobody can ask for them.
    private let metrics: BotMetrics?
    private let state: Locked<State>
    /// Raised by all that may change the status, so that nobody has to ask while nothing happens.
    package let news = Signal()
    private let refreshing = TaskLock()
    private let deadLetterInquiry = Inquiry<DeadLetters>()
    private let waitingInquiry = Inquiry<Waiting>()
    private let startedAt = Timestamp.now

    /// - Parameters:
    ///   - registry: Keeps the bot's metrics. Nil: there are none.
    ///   - diff: Shows what changed in documents. Nil: contents of documents are not shown.
    ///   - pulse: Is told of each sign of life. Nil: ``silence()`` never finds one missing.
    package init(
        _ description: BotDescription, source: Source, registry: PrometheusRegistry?, diff: Diff? = nil,
        pulse: Pulse? = nil, now: ContinuousClock.Instant = .now
    ) {
        self.diff = diff
        self.pulse = pulse
        name = description.name
        metrics = registry.map { BotMetrics($0, bot: description.name) }
        state = Locked(
            State(
                description: description, source: source, readiness: Readiness(now: now), history: History(now: now)))
    }

    package func note(_ event: RunEvent) {
        metrics?.note(event)
        pulse?.note(event)
        defer { news.raise() }
        guard case .wrote(let documents) = event else { return }
        let now = Timestamp.now
        state.withLock { $0.effects.add(documents, withContent: wantsDocuments, at: now) }
    }

    /// A request to the gateway has ended. For `GatewaySettings.requestObserver`.
    package func note(_ request: RequestRecord) {
        metrics?.noteRequest(
            method: request.method, status: request.status, sent: request.sent, received: request.received)
        pulse?.noteRequest(request.target)
        let isNews = state.withLock { state in
            guard request.status != nil else { return true }
            let now = Timestamp.secondsNow
            defer { state.lastContact = now }
            return state.lastContact.map { Duration.seconds(now - $0) >= StatusFile.interval } ?? true
        }
        if isNews { news.raise() }
    }

    /// Counting many dead letters takes a while.
    private static let deadLetterInterval: Duration = .seconds(3)

    /// How long the state of a fleet may take to answer, because it is on another machine.
    private static let longestAnswer: Duration = .seconds(2)

    /// Asks the bot where it stands. Call every few seconds while it has work, and whenever ``news`` is raised.
    ///
    /// - Parameter asksEngine: Whether somebody looks, so that the engine of its fleet is asked, too: every few seconds.
    package func refresh(now: ContinuousClock.Instant = .now, asksEngine: Bool = false) async {
        // One after the other: older facts must not follow newer ones.
        await refreshing.withLock { await noteFacts(now: now, asksEngine: asksEngine) }
    }

    private func noteFacts(now: ContinuousClock.Instant, asksEngine: Bool) async {
        guard let source = state.withLock(\.source) else { return }
        let facts = await source.facts()
        let isAway = await !noteFleet(source, now: now, asksEngine: asksEngine)
        let readAt = state.withLock(\.deadLettersAt)
        let isDue = !isAway && readAt.map { $0.duration(to: now) >= Self.deadLetterInterval } ?? true
        async let lettersAnswer = isDue ? answer(source, deadLetterInquiry, source.deadLetters) : nil
        async let waitingAnswer = isDue ? answer(source, waitingInquiry, source.waiting) : nil
        let (deadLetters, waiting) = await (lettersAnswer, waitingAnswer)
        state.withLock { state in
            state.facts = facts
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

    /// A state in a file answers at once.
    private func answer<Answer>(
        _ source: Source, _ inquiry: Inquiry<Answer>, _ ask: @escaping @Sendable () async -> Answer?
    ) async -> Answer? {
        source.fleet == nil ? await ask() : await inquiry.answer(within: Self.longestAnswer, ask)
    }

    /// - Returns: False if the engine of the fleet did not answer when it was asked last.
    private func noteFleet(_ source: Source, now: ContinuousClock.Instant, asksEngine: Bool) async -> Bool {
        guard let fleet = source.fleet else { return true }
        let isDue = asksEngine && state.withLock { $0.fleetPace.isDue(now: now) }
        let asked = ContinuousClock.now
        guard var view = await fleet(isDue) else { return true }
        let answered = ContinuousClock.now
        return state.withLock { state in
            if isDue {
                // An engine that was unavailable is asked again soon.
                let span = view.standing == nil ? .zero : asked.duration(to: answered)
                state.fleetPace.noteAnswer(asked: now, answered: now + span)
            } else {
                view.standing = state.fleet?.standing
            }
            state.fleet = view
            return !asksEngine || view.standing != nil
        }
    }

    private func set(_ metrics: BotMetrics, _ now: ContinuousClock.Instant) {
        let state = state.withLock { $0 }
        let facts = state.facts
        metrics.set(.ready, objection(state, now) == nil ? 1 : 0)
        metrics.set(.connected, state.end == nil && facts.isConnected ? 1 : 0)
        if let contact = state.lastContact { metrics.set(.lastContact, Double(contact)) }
        // What is not known is no number.
        metrics.set(.lagSequences, facts.lag.map(Double.init) ?? .nan)
        metrics.set(.lagSeconds, facts.behindSince.map { $0.duration(to: now).inSeconds } ?? 0)
        metrics.set(.checkpointAge, facts.savedAt.map { $0.duration(to: now).inSeconds } ?? .nan)
        metrics.set(.documentsInFlight, Double(facts.documentsInFlight))
        metrics.set(.bytesInFlight, Double(facts.bytesInFlight))
        metrics.set(.writeRateLimit, facts.writeRate ?? .infinity)
        metrics.set(.waitingTimers, Double(state.waiting.timerCount))
        let receiversWithGauge = set(metrics, receivers: state, now)
        let partitionsWithGauge = metrics.set(state.fleet, known: state.partitionsWithGauge)
        let hash = state.description.rules.hash
        if let former = state.rulesShown, former != hash {
            metrics.set(.rulesInfo, 0, ["hash": former])
        }
        metrics.set(.rulesInfo, 1, ["hash": hash])
        // A rule whose dead letters are gone goes back to 0.
        let rules = state.rulesWithGauge.union(state.deadLetters.byRule.keys)
        for rule in rules {
            metrics.set(.openDeadLetters, Double(state.deadLetters.byRule[rule] ?? 0), ["rule": rule])
        }
        self.state.withLock {
            $0.rulesShown = hash
            $0.rulesWithGauge.formUnion(rules)
            $0.receiversWithGauge = receiversWithGauge
            $0.partitionsWithGauge = partitionsWithGauge
        }
    }

    /// Sets the metrics of receivers that are down.
    ///
    /// - Returns: The receivers that have one now.
    private func set(
        _ metrics: BotMetrics, receivers state: State, _ now: ContinuousClock.Instant
    ) -> Set<ReceiverOutages.Receiver> {
        let down = state.end == nil ? state.facts.receivers : []
        metrics.set(.receiversDown, Double(down.count))
        let seconds = Dictionary(
            down.map { ($0.receiver, $0.status.began.duration(to: now).inSeconds) }
        ) { first, _ in first }
        // One that is back goes back to 0.
        let known = state.receiversWithGauge.union(seconds.keys)
        for receiver in known {
            metrics.set(
                .receiverDownSeconds, seconds[receiver] ?? 0,
                ["kind": receiver.kind.rawValue, "receiver": receiver.origin])
        }
        return known
    }

    /// Other rules are in force now.
    package func update(_ rules: RuleSetDescription) {
        state.withLock { $0.description.rules = rules }
        news.raise()
    }

    /// The bot has ended, for this reason.
    package func end(_ reason: String) async {
        state.withLock { $0.end = reason }
        await refresh()
        let state = state.withLock { state in
            state.source = nil
            return state
        }
        // Another bot of this name may take its place.
        if let hash = state.rulesShown { metrics?.set(.rulesInfo, 0, ["hash": hash]) }
    }

    /// Why the bot seems to hang; nil if it is alive, or has ended. Asks the bot itself, so that it does not return if
    /// that can't answer.
    package func silence() async -> String? {
        guard let pulse, let source = state.withLock(\.source) else { return nil }
        return pulse.silence(await source.facts())
    }

    /// Why the bot has ended, for people; nil as long as it runs.
    package var end: String? { state.withLock(\.end) }

    /// How many dead letters its state has, as of the last refresh.
    package var openDeadLetters: Int { state.withLock(\.deadLetters.open) }

    /// Where the bot stands, as of the last refresh.
    package var facts: RunFacts { state.withLock(\.facts) }

    /// Why the bot is not ready, as of the last refresh; nil if it is.
    package func objection(now: ContinuousClock.Instant = .now) -> String? {
        state.withLock { objection($0, now) }
    }

    private func objection(_ state: State, _ now: ContinuousClock.Instant) -> String? {
        state.end.map { "ended: \($0)" } ?? state.readiness.objection(state.facts, now: now)
    }

    /// Writes where the bot stands, as of the last refresh: one JSON object.
    package func write(to writer: inout JSONWriter, now: ContinuousClock.Instant = .now) {
        let state = state.withLock { $0 }
        BotStatus(
            description: state.description, facts: state.facts, deadLetters: state.deadLetters,
            waiting: state.waiting, fleet: state.fleet, objection: objection(state, now), hasEnded: state.end != nil,
            history: state.history,
            effects: state.effects, lastContact: state.lastContact, startedAt: startedAt,
            diff: diff ?? { _, _ in [] }
        ).write(to: &writer, now: now)
    }
}
