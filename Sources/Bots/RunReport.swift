package import BotState
internal import Delivery
package import DocumentFlow
internal import FleetEngine
internal import GatewayClient

/// Progress and result of a run, available during the run and after it, however it ends.
package actor RunReport {
    private let began = ContinuousClock.now
    private var progress: RunProgress?
    private var delivery: Delivery?
    private var hasSequence = true
    private var contactRetries = 0
    /// Why nothing is delivered. `isReconnecting`: the run continues after a delivery has ended.
    private var pause = (isReconnecting: false, isOnStandby: false, isDrained: false)
    private var fleet: FleetStatusReader?
    /// How many documents a full pass will read; nil if the gateway does not say.
    package private(set) var expectedDocuments: Int?
    /// How many documents became dead letters in passes over all documents, which are counted separately from the run.
    package private(set) var deadLettersOfPasses = 0

    private var rememberedDocuments = RememberedDocuments()
    private var databases: DatabaseTotals?
    private var session: (newestAtStart: SequenceID?, remains: Remains?, taken: TakenOrders) = (nil, nil, TakenOrders())

    /// Starts the clock of the run's duration.
    package init() {}

    /// - Parameter hasSequence: Whether the run follows a feed, and so has a checkpoint to report.
    func watch(_ delivery: Delivery, hasSequence: Bool = true) {
        self.delivery = delivery
        (pause.isReconnecting, pause.isOnStandby) = (false, false)
        watch(delivery.progress, hasSequence: hasSequence)
    }

    func watch(_ progress: RunProgress, hasSequence: Bool = true) {
        self.progress = progress
        self.hasSequence = hasSequence
    }

    /// Notes that this is the report of a run on many databases.
    func watch(_ databases: DatabaseTotals) { self.databases = databases }

    /// Whether the databases are known and none of them is worked on or waits for its turn.
    var hasNoOpenDatabase: Bool { databases?.hasNoOpenDatabase ?? false }

    /// The databases of a run on many, by their names. Nil: it follows one.
    package var databaseFacts: [String: DatabaseFacts]? { databases?.databases }

    /// The database's newest sequence when its feed began to be read: all changes up to there are read before the run
    /// waits for changes. Nil if it is not known.
    var newestAtStart: SequenceID? { session.newestAtStart }

    func note(newestAtStart sequence: SequenceID?) { session.newestAtStart = sequence }

    /// What the state needs later, read when the run ended.
    var remains: Remains? { session.remains }

    func note(_ remains: Remains) { session.remains = remains }

    /// Notes that the delivery has ended and that the run continues with another one.
    package func reconnect() { pause.isReconnecting = true }

    /// Notes whether this member is on standby.
    ///
    /// - Parameter isDrained: Whether it waits because it was drained.
    func noteStandby(_ isOnStandby: Bool, isDrained: Bool = false) {
        (pause.isOnStandby, pause.isDrained) = (isOnStandby, isDrained)
    }

    /// Notes the fleet that this run belongs to. Nil: none any more.
    func watch(_ fleet: FleetStatusReader?) { self.fleet = fleet }

    /// The facts known about the fleet; nil if the run does not belong to one.
    ///
    /// - Parameter queriesEngine: Whether to ask the engine, which takes at most two seconds.
    package nonisolated func fleetFacts(queriesEngine: Bool) async -> FleetFacts? {
        guard let fleet = await fleet else { return nil }
        return await fleet.facts(queriesEngine: queriesEngine, await facts().phase)
    }

    func expect(documents: Int?) { expectedDocuments = documents }

    func noteContactRetry() { contactRetries += 1 }

    func notePass(deadLetters: Int) { deadLettersOfPasses += deadLetters }

    /// Notes the orders about rules that the run has taken up.
    func note(_ taken: TakenOrders) { session.taken = taken }

    /// The paused rules and those that make up for changes, and whether the run has taken up the latest order about each.
    /// Nil if the state is not open or can't be read now.
    package nonisolated func pausedRules() async -> [(rule: PausedRule, isTakenUp: Bool)]? {
        guard let rules = await read({ ledger throws(StateError) in try ledger.pausedRules() }) else { return nil }
        let taken = await session.taken
        return rules.map { ($0, taken.contains($0)) }
    }

    /// Whether a resumed rule, a backfill or a count is not finished. Nil if the state is not open or can't be read now.
    nonisolated func hasUnfinishedWork() async -> Bool? {
        await read { ledger throws(StateError) in
            if try ledger.hasOpenOrders() { return true }
            return try ledger.hasUnfinishedCounts()
        }
    }

    /// Backfills that are open or have ended in the last week. Nil if the state is not open or can't be read now.
    package nonisolated func backfills() async -> [Backfill]? {
        await read { ledger throws(StateError) in try ledger.backfills() }
    }

    /// Notes the rules that learn all documents now.
    func note(learning rules: [String]) { rememberedDocuments.learning = Set(rules) }

    /// Whether a delivery of this run has begun.
    var hasDelivered: Bool { delivery != nil }

    /// The sequence up to which everything is finished. Nil before a delivery has begun.
    var safeSequence: SequenceID? { get async { await progress?.safeSequence } }

    /// The counts of all deliveries of this run; the next delivery continues from them.
    func deliveredSoFar() async -> RunCounters { await progress?.counters ?? RunCounters() }

    /// All counts so far, including retries of the first contact.
    package func counters() async -> RunCounters {
        var counters = if let databases { databases.counters } else { await deliveredSoFar() }
        counters.traffic.retries += contactRetries
        return counters
    }

    /// The run's current status.
    package func facts() async -> RunFacts {
        var facts = if let databases { databases.facts } else { await delivery?.facts ?? RunFacts() }
        if pause.isReconnecting { facts.phase = .connecting }
        if pause.isOnStandby { facts.phase = pause.isDrained ? .drained : .onStandby }
        facts.counters.traffic.retries += contactRetries
        return facts
    }

    /// The newest dead letters in the state, newest first, and the number for each rule. Nil if the state is not open
    /// or can't be read now.
    package nonisolated func openDeadLetters(
        limit: Int
    ) async -> (newest: [DeadLetter], counts: [(rule: String?, count: Int)])? {
        if let databases = await databases { return ([], [(nil, databases.deadLetters)]) }
        return await read { ledger throws(StateError) in
            (try ledger.newestDeadLetters(limit: limit), try ledger.deadLetterCounts())
        }
    }

    /// The earliest pending timers, in order; the number of all pending timers; and the schedules. Nil if the state is
    /// not open or can't be read now.
    package nonisolated func waiting(
        limit: Int
    ) async -> (timers: [WaitingTimer], count: Int, schedules: [RecordedSchedule])? {
        await read { ledger throws(StateError) in
            let timers = try ledger.waitingTimers(limit: limit)
            return (timers.first, timers.count, try ledger.schedules())
        }
    }

    /// The number of documents that each rule with `changed`, `enter` or `leave` remembers, and the rules that are learning
    /// all documents now. The numbers can be some seconds old.
    package func remembered() async -> (counts: [String: Int], learning: Set<String>) {
        guard let rules = delivery?.lastSeen?.ruleNames else { return ([:], []) }
        if rememberedDocuments.isDue(now: .now) {
            let start = ContinuousClock.now
            let counted = await read { ledger throws(StateError) in try ledger.seenCounts() }
            rememberedDocuments.note(counted, duration: start.duration(to: .now), now: .now)
        }
        return (rememberedDocuments.counts(of: rules), rememberedDocuments.learning)
    }

    private nonisolated func read<Value: Sendable>(
        _ body: @escaping @Sendable (Ledger) throws(StateError) -> Value
    ) async -> Value? {
        guard let ledger = await delivery?.ledger else { return nil }
        return try? await ledger.onSeparateThread(body)
    }

    /// The summary of the run so far. It has no `last_seq` if the run does not follow the feed.
    package func summary(exitCode: Int32, isDryRun: Bool = false) async -> RunSummary {
        RunSummary(
            counters: await counters(), lastSequence: hasSequence ? await progress?.safeSequence : nil,
            duration: began.duration(to: .now), exitCode: exitCode, isDryRun: isDryRun)
    }
}
