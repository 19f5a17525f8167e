internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import TestKit

/// A gateway, its users, and a bot, on one clock.
final class World {
    static let gatewayBase = "http://gateway.example:4985"
    static let databaseName = "todo"
    static let rulesFile = "rules.yaml"

    let scheduler: Scheduler
    let story: Story
    let faults: Faults
    let gateway: SimulatedGateway
    let servers: OutsideServers
    let breakage: Breakage?
    private let users: Users
    private var numbers: SplitMix64
    var checks = Checks()
    private(set) var violation: Violation?
    // Set by the initializer, which they need.
    private(set) var machine: Machine!
    private(set) var operations: Operations!

    init(_ settings: SimulationSettings) {
        var seeds = SplitMix64(seed: settings.seed)
        scheduler = Scheduler(seed: seeds.next())
        breakage = settings.breakage
        story = Story(scheduler, isShown: settings.showsStory)
        faults = Faults(settings.faults, seed: seeds.next())
        gateway = SimulatedGateway(settings.dialect, scheduler, seed: seeds.next())
        users = Users(
            gateway, story, documents: settings.documents, limit: settings.actions, seed: seeds.next())
        let systemSeed = seeds.next()
        numbers = SplitMix64(seed: seeds.next())
        servers = OutsideServers(seed: seeds.next())
        machine = Machine(self, seed: seeds.next())
        operations = Operations(self, seed: seeds.next())
        Waits.observer = machine.pendingWaits
        SystemReplacement.install(scheduler, machine.disk, seed: systemSeed)
        gateway.noteWrite = { [unowned self] document, revision, parent in
            checking {
                if revision.author != .user, !checks.writes.isResolution(document, revision) {
                    try checks.events.checkWrite(document, replacing: parent)
                    try checks.times.checkWrite(document, replacing: parent, scheduler)
                }
                try checks.writes.note(document, revision, replacing: parent)
            }
        }
        servers.receiver.note = { [unowned self] request, isAccepted in
            checking { try checks.events.note(request, isAccepted: isAccepted, gateway) }
        }
        gateway.noteLocalWrite = { [unowned self] _, body in
            guard let checkpoint = body["checkpoint"], checkpoint.kind != .null else { return }
            checkCheckpoint(String(decoding: checkpoint.bytes, as: UTF8.self), "the copy of the checkpoint")
        }
        gateway.noteFeedFromBeginning = { [unowned self] in operations.noteFeedFromBeginning() }
        gateway.noteSkip = { [unowned self] sequence in
            faults.note(.skippedSequence)
            story.tell("gateway", "the feed passes \(sequence), and will show it later")
        }
        breakage?.breakDelivery()
        breakage?.breakGateway(gateway)
        breakage?.breakClock(scheduler)
    }

    /// What is checked while the simulation runs.
    struct Checks {
        var writes = WriteCheck()
        var events = EventCheck()
        var times = TimeCheck()
        var logins = LoginCheck()
        var progress = ProgressCheck()
        /// What was lost with a machine: documents and revisions of dead letters, and timers.
        var lostLetters: Set<String> = []
        var lostTimers: Set<StateCheck.Timer> = []

        func isExcused(_ document: StoredDocument, _ revision: StoredRevision) -> Bool {
            if lostLetters.contains("\(document.id) \(revision.id)") { return true }
            return Scenario.time(of: revision).map { lostTimers.contains(StateCheck.Timer(id: document.id, due: $0)) }
                ?? false
        }
    }

    var process: BotProcess? { machine.process }
    var isActive: Bool { operations.isActive }
    var isGatewayAway: Bool { operations.isGatewayAway }

    /// The bot has got a feed.
    func noteFeed(until last: String) {
        if let breakage, let process { breakage.noteFeed(until: last, stateIn: process.directory) }
    }

    var userActions: [String: Int] { users.actions }

    /// Ends the simulation, because it can't go on.
    func stop(_ reason: String) { fail(Violation(guarantee: .simulation, detail: reason)) }

    private func fail(_ violation: Violation) {
        if self.violation == nil { self.violation = violation }
    }

    func checking(_ body: () throws -> Void) {
        do { try body() } catch let violation as Violation { fail(violation) } catch { stop("\(error)") }
    }

    // MARK: - Rounds

    /// Users and trouble for a while, then a quiet time, after which everything must be done.
    ///
    /// - Parameter limit: The step at which it ends in any case.
    func runRound(until limit: Int) {
        faults.beginRound()
        story.tell("world", "a new round")
        operations.beginRound()
        act()
        planOutages()
        if process == nil { machine.startProcess() }
        run(for: .milliseconds(5_000 + numbers.below(60_000)), until: limit)
        operations.endRound()
        servers.comeBack()
        faults.endRound()
        story.tell("world", "quiet")
        // The longest answer takes two minutes, and a document may be written 30 times a minute.
        run(for: .seconds(400), until: limit)
        if scheduler.step < limit, violation == nil { checkAtQuietMoment() }
    }

    private func run(for span: Duration, until limit: Int) {
        let end = scheduler.uptime + span.nanoseconds
        while scheduler.uptime < end, scheduler.step < limit, violation == nil { runStep() }
    }

    private func runStep() {
        guard scheduler.runStep() else { return stop("no progress: nothing is ready, and nothing waits for a time") }
        checking { try machine.noteEnd() }
        checkState()
        checkProgress()
        guard let process, process.ending == nil, let fault = faults.ofNextStep() else { return }
        machine.kill(fault)
    }

    private func act() {
        guard isActive else { return }
        users.act()
        scheduler.after(users.pause()) { [self] in act() }
    }

    private func planOutages() {
        if faults.occurs(.serverOutage, onceIn: 2) { servers.planOutage(self) }
        if faults.occurs(.clockJump, onceIn: 4) {
            scheduler.after(.milliseconds(numbers.below(60_000))) { [self] in
                faults.note(.clockJump)
                let jump = Int64(numbers.below(7_200)) - 3_600
                story.tell("world", "the wall clock jumps by \(jump) s")
                checks.times.noteJump(scheduler)
                scheduler.wallLead += jump * 1_000_000_000
            }
        }
    }

    // MARK: - Checks

    private func checkState() {
        guard machine.disk.hasSynced else { return }
        machine.disk.hasSynced = false
        guard let process, process.ending == nil, let state = process.openState() else { return }
        do { if let checkpoint = try state.newCheckpoint() { checkCheckpoint(checkpoint, "the checkpoint") } } catch {
            story.tell("state", "\(error)")
        }
    }

    /// Everything up to a checkpoint is done.
    private func checkCheckpoint(_ text: String, _ name: String) {
        guard let position = gateway.positions.position(text) else {
            return fail(Violation(guarantee: .checkpoint, detail: "\(name) is \(text), which is no sequence"))
        }
        story.tell("state", "\(name) is \(text)")
        // It is from the database that was replaced.
        guard !operations.isResetUnnoticed, !operations.isDatabaseOffline else { return }
        for id in gateway.ids {
            guard let document = gateway.documents[id], gateway.hasPassed(document, position),
                let lack = lack(of: document)
            else { continue }
            return fail(
                Violation(
                    guarantee: .checkpoint, detail: "\(name) is \(text), but \(id) at \(document.sequence) \(lack)"))
        }
    }

    /// What a document still needs from the bot; nil if it is as the rules want it, or a dead letter.
    ///
    /// - Parameter isFinal: Whether timers have had time to fire, too.
    private func lack(of document: StoredDocument, isFinal: Bool = false) -> String? {
        if let loser = Scenario.losers(of: document).first {
            return "is still in conflict: \(loser.id.short) \(loser.body.text)"
        }
        guard let winner = document.winner, !winner.isDeleted, let effect = Scenario.effect(on: winner) else {
            return nil
        }
        if checks.isExcused(document, winner) { return nil }
        if let due = Scenario.time(of: winner) {
            if due > scheduler.wallSeconds - TimeCheck.delay { return nil }
            // A checkpoint does not wait for timers.
            let timer = StateCheck.Timer(id: document.id, due: due)
            if !isFinal, process?.openState()?.timers().contains(timer) == true { return nil }
        }
        if effect == .event, checks.events.isAccepted(document, winner) { return nil }
        let letters = process?.openState()?.deadLetters() ?? []
        guard !letters.contains(where: { $0.id == document.id && $0.revision == winner.id }) else { return nil }
        return "still needs \(effect): \(winner.body.text)"
    }

    private func checkAtQuietMoment() {
        guard !operations.isResetUnnoticed else {
            return fail(
                Violation(guarantee: .reset, detail: "the bot has not read the new database from its beginning"))
        }
        for id in gateway.ids {
            guard let document = gateway.documents[id], let lack = lack(of: document, isFinal: true) else { continue }
            return fail(Violation(guarantee: .nothingIsLost, detail: "\(id) \(lack)"))
        }
        checking { try TotalCheck.checkAtQuietMoment(gateway) }
        checking { try checks.times.checkAtQuietMoment(gateway, process?.openState(), scheduler, checks.isExcused) }
        checking { try DeadLetterCheck.check(process?.openState()?.deadLetters() ?? [], gateway) }
        if violation == nil { story.tell("world", "everything is done") }
    }
}
