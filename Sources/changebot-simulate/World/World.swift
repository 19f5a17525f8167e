internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import TestKit

/// A gateway, its users, and a bot, on one clock.
final class World {
    static let gatewayBase = "http://gateway.example:4985"
    static let databaseName = "todo"

    let scheduler: Scheduler
    let story: Story
    let faults: Faults
    let gateway: SimulatedGateway
    let servers: OutsideServers
    let breakage: Breakage?
    let extent: Scenario.Extent
    let users: Users
    private var numbers: SplitMix64
    var checks = Checks()
    private(set) var violation: Violation?
    // Set by the initializer, which they need.
    private(set) var fleet: SimulatedFleet!
    private(set) var operations: Operations!

    init(_ settings: SimulationSettings) {
        var seeds = SplitMix64(seed: settings.seed)
        scheduler = Scheduler(seed: seeds.next())
        (breakage, extent) = (settings.breakage, settings.rules)
        // The first pass over all documents is due 15 s later.
        if extent == .full { scheduler.wallLead += 25_000_000_000 }
        story = Story(scheduler, isShown: settings.showsStory)
        faults = Faults(
            extent == .full ? settings.faults : settings.faults.without(FaultKind.ofFullRules), seed: seeds.next())
        gateway = SimulatedGateway(settings.dialect, scheduler, seed: seeds.next())
        users = Users(
            gateway, story, settings, seed: seeds.next())
        let systemSeed = seeds.next()
        numbers = SplitMix64(seed: seeds.next())
        servers = OutsideServers(seed: seeds.next())
        let machineSeed = seeds.next()
        operations = Operations(self, seed: seeds.next())
        fleet = SimulatedFleet(self, members: settings.members, machineSeed: machineSeed, seed: seeds.next())
        SystemReplacement.install(scheduler, seed: systemSeed) { [weak self] in self?.fleet.noteSync($0) }
        gateway.observer.noteWrite = { [unowned self] document, revision, parent in
            checking {
                checks.related.note(document, revision)
                checks.passes.note(document, at: scheduler.uptime)
                checks.letters.note(document, revision, at: scheduler.uptime)
                checks.doors.note(document)
                try checks.chains.note(document, revision, trouble: faults.counts.values.reduce(0, +))
                undo(document, revision, parent)
                contradict(document, revision)
                if revision.author != .user, !revision.isReplicated {
                    try checks.events.checkWrite(document, replacing: parent)
                    try checks.lines.checkWrite(document, replacing: parent)
                    try checks.times.checkWrite(document, revision, replacing: parent, scheduler)
                    try checks.related.checkMark(document, replacing: parent, gateway)
                    try checks.decisions.checkWrite(document, revision, replacing: parent)
                    if let parent, !parent.isDeleted, Scenario.isItem(parent.body),
                        !Scenario.isTagged(revision, after: parent)
                    {
                        return try checks.related.checkItem(document, revision, replacing: parent)
                    }
                }
                try checks.writes.note(document, revision, replacing: parent)
            }
        }
        servers.receiver.note = { [unowned self] request, isAccepted in
            checking {
                if Scenario.isDoorEvent(request) { return try checks.doors.note(request, gateway) }
                try checks.events.note(request, isAccepted: isAccepted, gateway)
            }
        }
        fleet.machines[0].disk.lines.note = { [unowned self] line in
            checking { try checks.lines.note(line, from: scheduler.owner, gateway) }
        }
        gateway.observer.noteLocalWrite = { [unowned self] path, body in
            guard !path.hasPrefix(Connection.markOfPasses), let checkpoint = body["checkpoint"],
                checkpoint.kind != .null
            else { return }
            checkCheckpoint(String(decoding: checkpoint.bytes, as: UTF8.self), "the copy of the checkpoint")
        }
        gateway.observer.noteLookup = { [unowned self] in checks.decisions.noteLookup($0, $1, by: $2) }
        gateway.observer.noteRead = { [unowned self] document, process in
            checking { try checks.repetitions.noteRead(document, by: process, at: scheduler.uptime) }
        }
        gateway.observer.noteFeedFromBeginning = { [unowned self] in operations.noteFeedFromBeginning() }
        gateway.observer.noteSkip = { [unowned self] sequence in
            faults.note(.skippedSequence)
            story.tell("gateway", "the feed passes \(sequence), and will show it later")
        }
        gateway.refuses = Scenario.refusesWrite
        breakage?.breakDelivery()
        breakage?.breakGateway(gateway)
        breakage?.breakClock(scheduler)
        fleet.machines[0].disk.lines.keepsHalfLines = breakage == .halfLine
    }

    var isActive: Bool { operations.isActive }
    var isGatewayAway: Bool { operations.isGatewayAway }

    /// The bot has got a feed.
    func noteFeed(until last: String, _ process: BotProcess) {
        process.noteFeed()
        if let breakage { breakage.noteFeed(until: last, stateIn: process.directory) }
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
        if extent == .full { scheduler.inertia = numbers.pick([0, 0, 80, 95]) }
        operations.beginRound()
        act()
        planOutages()
        fleet.start()
        // Members of a fleet take many steps in a second.
        let longest = fleet.isShared ? numbers.pick([1_000, 15_000, 60_000]) : 60_000
        run(for: .milliseconds(5_000 + numbers.below(longest)), until: limit)
        operations.endRound()
        servers.comeBack()
        faults.endRound()
        story.tell("world", "quiet")
        actLate()
        // The longest answer takes two minutes, and a document may be written 30 times a minute.
        let quiet = fleet.isShared && !faults.mayOccur ? Duration.seconds(120) : .seconds(400)
        let end = scheduler.uptime + quiet.nanoseconds
        // Members of a fleet ask the engine all the time: the quiet time ends early if everything is done.
        let part = fleet.isShared ? Duration.seconds(10) : quiet
        var found: Violation?
        repeat {
            run(for: part, until: limit)
            guard scheduler.step < limit, violation == nil else { return }
            found = violationAtQuietMoment()
        } while found != nil && scheduler.uptime < end
        if let found { return fail(found) }
        story.tell("world", "everything is done")
    }

    private func run(for span: Duration, until limit: Int) {
        let end = scheduler.uptime + span.nanoseconds
        while scheduler.uptime < end, scheduler.step < limit, violation == nil { runStep() }
    }

    private func runStep() {
        guard scheduler.runStep() else { return stop("no progress: nothing is ready, and nothing waits for a time") }
        fleet.endTornProcesses()
        checking {
            for machine in fleet.machines { try machine.noteEnd() }
            try MemoryCheck.check(fleet.processes)
        }
        checkState()
        checkProgress()
        fleet.endRandomly()
    }

    private func act() {
        guard isActive else { return }
        users.act()
        scheduler.after(users.pause()) { [self] in act() }
    }

    /// Users do a little in the quiet time, when nothing that follows can hide that it is missed.
    private func actLate() {
        guard extent != .basic else { return }
        // The longest answer takes two minutes. The quiet time of a fleet may be short.
        scheduler.after(fleet.isShared ? .seconds(1) : .seconds(210)) { [self] in
            if !isActive { users.actLate() }
        }
    }

    private func planOutages() {
        if faults.occurs(.serverOutage, onceIn: 2) { servers.planOutage(self) }
        if faults.occurs(.clockJump, onceIn: 4) {
            scheduler.after(.milliseconds(numbers.below(60_000))) { [self] in
                faults.note(.clockJump)
                let jump = Int64(numbers.below(7_200)) - 3_600
                story.tell("world", "the wall clock jumps by \(jump) s")
                checks.times.noteJump(scheduler)
                checks.passes.noteJump(scheduler)
                scheduler.wallLead += jump * 1_000_000_000
            }
        }
    }

    // MARK: - Checks

    private func checkState() {
        guard fleet.hasNewState(), fleet.hasProcess, let state = fleet.openState() else { return }
        if !fleet.isShared {
            if extent == .full { checks.passes.noteState(knowsSchedule: state.knowsSchedule, at: scheduler.uptime) }
            let letters = state.deadLetters(onlyNew: true)
            checks.letters.note(letters, at: scheduler.uptime)
            checking { try checkDeadLetters(letters, except: []) }
        }
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
        guard !operations.database.isUnnoticed, !operations.database.isOffline else { return }
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
    func lack(of document: StoredDocument, isFinal: Bool = false) -> String? {
        let letters = fleet.openState()?.deadLetters() ?? []
        let isDeadLetter = letters.contains { $0.id == document.id && $0.revision == document.winner?.id }
        if let loser = Scenario.losers(of: document).first, !isDeadLetter {
            return "is still in conflict: \(loser.id.short) \(loser.body.text)"
        }
        guard let winner = document.winner, !winner.isDeleted || Scenario.saysFarewell(winner),
            let effect = Scenario.effect(on: winner),
            !Scenario.waitsForPass(winner)
        else { return nil }
        if checks.isExcused(document, winner) { return nil }
        if let due = Scenario.time(of: winner) {
            if due > scheduler.wallSeconds - TimeCheck.delay { return nil }
            // A checkpoint does not wait for timers.
            let timer = StateCheck.Timer(id: document.id, due: due)
            if !isFinal, fleet.openState()?.timers().contains(timer) == true { return nil }
        }
        if effect == .event, checks.events.isAccepted(document, winner) || checks.lines.isOnDisk(document, winner) {
            return nil
        }
        guard !isDeadLetter else { return nil }
        return "still needs \(effect): \(winner.body.text)"
    }

    private func checkDeadLetters(_ letters: [StateCheck.Letter], except crashed: Set<String>) throws {
        try DeadLetterCheck.check(letters, gateway, except: crashed, isTooLong: checks.related.mayBeTooLong)
    }

    private func violationAtQuietMoment() -> Violation? {
        do {
            try checkAtQuietMoment()
            return nil
        } catch let violation as Violation { return violation } catch {
            return Violation(guarantee: .simulation, detail: "\(error)")
        }
    }

    /// Whether there is nothing to find about a revision, because its decision was lost, or is a dead letter.
    private func isUndecided(_ document: StoredDocument, _ revision: StoredRevision) -> Bool {
        checks.isExcused(document, revision)
            || fleet.openState()?.deadLetters().contains { $0.id == document.id && $0.revision == revision.id } == true
    }

    private func checkAtQuietMoment() throws {
        guard !operations.database.isUnnoticed else {
            throw Violation(guarantee: .reset, detail: "the bot has not read the new database from its beginning")
        }
        try checkLogAtQuietMoment()
        for id in gateway.ids {
            guard let document = gateway.documents[id], let lack = lack(of: document, isFinal: true) else { continue }
            throw Violation(guarantee: .nothingIsLost, detail: "\(id) \(lack)")
        }
        try MemoryCheck.checkAtQuietMoment(fleet.processes)
        try TotalCheck.checkAtQuietMoment(gateway)
        try checks.related.checkAtQuietMoment(gateway)
        try checks.passes.checkAtQuietMoment(gateway, scheduler)
        try checks.doors.checkAtQuietMoment(gateway, fleet.openState(), isUndecided)
        try checks.times.checkAtQuietMoment(gateway, fleet.openState(), scheduler, isUndecided)
        if !fleet.isShared {
            try CheckpointCheck.checkAtQuietMoment(
                gateway, fleet.openState(), checks.passes.changes, copies: !operations.database.hasLostMarks)
        }
        let letters = fleet.openState()?.deadLetters() ?? []
        try checkDeadLetters(letters, except: fleet.engine?.commits.dead ?? [])
        if !fleet.isShared { try checks.letters.checkObsolete(letters, gateway, at: scheduler.uptime) }
    }
}
