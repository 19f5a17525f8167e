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
    private let disk: Disk
    private let users: Users
    private var numbers: SplitMix64
    private var check = WriteCheck()
    private(set) var violation: Violation?
    private(set) var isGatewayAway = false
    private(set) var isActive = false
    private(set) var process: BotProcess?
    private var processCount = 0
    let pendingWaits: PendingWaits
    var progress = ProgressCheck()

    init(_ settings: SimulationSettings) {
        var seeds = SplitMix64(seed: settings.seed)
        scheduler = Scheduler(seed: seeds.next())
        disk = Disk()
        breakage = settings.breakage
        story = Story(scheduler, isShown: settings.showsStory)
        faults = Faults(settings.faults, seed: seeds.next())
        gateway = SimulatedGateway(settings.dialect, scheduler, seed: seeds.next())
        users = Users(
            gateway, story, documents: settings.documents, limit: settings.actions, seed: seeds.next())
        pendingWaits = PendingWaits(scheduler)
        Waits.observer = pendingWaits
        SystemReplacement.install(scheduler, disk, seed: seeds.next())
        numbers = SplitMix64(seed: seeds.next())
        servers = OutsideServers(seed: seeds.next())
        gateway.noteWrite = { [unowned self] document, revision, parent in
            checking { try check.note(document, revision, replacing: parent) }
        }
        gateway.noteLocalWrite = { [unowned self] _, body in
            guard let checkpoint = body["checkpoint"], checkpoint.kind != .null else { return }
            checkCheckpoint(String(decoding: checkpoint.bytes, as: UTF8.self), "the copy of the checkpoint")
        }
        breakage?.breakGateway(gateway)
        breakage?.breakClock(scheduler)
    }

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

    private func checking(_ body: () throws -> Void) {
        do { try body() } catch let violation as Violation { fail(violation) } catch { stop("\(error)") }
    }

    // MARK: - Rounds

    /// Users and trouble for a while, then a quiet time, after which everything must be done.
    ///
    /// - Parameter limit: The step at which it ends in any case.
    func runRound(until limit: Int) {
        faults.beginRound()
        story.tell("world", "a new round")
        isActive = true
        act()
        planOutages()
        if process == nil { startProcess() }
        run(for: .milliseconds(5_000 + numbers.below(60_000)), until: limit)
        isActive = false
        isGatewayAway = false
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
        noteEnd()
        checkState()
        checkProgress()
        guard let process, process.ending == nil, let fault = faults.ofNextStep() else { return }
        kill(process, fault)
    }

    private func act() {
        guard isActive else { return }
        users.act()
        scheduler.after(users.pause()) { [self] in act() }
    }

    private func planOutages() {
        if faults.occurs(.outage, onceIn: 3) {
            scheduler.after(.milliseconds(numbers.below(60_000))) { [self] in
                guard isActive else { return }
                faults.note(.outage)
                story.tell("world", "the gateway goes away")
                isGatewayAway = true
                scheduler.after(.milliseconds(numbers.below(60_000))) { [self] in
                    story.tell("world", "the gateway is back")
                    isGatewayAway = false
                }
            }
        }
        if faults.occurs(.serverOutage, onceIn: 2) { servers.planOutage(self) }
        if faults.occurs(.clockJump, onceIn: 4) {
            scheduler.after(.milliseconds(numbers.below(60_000))) { [self] in
                faults.note(.clockJump)
                let jump = Int64(numbers.below(7_200)) - 3_600
                story.tell("world", "the wall clock jumps by \(jump) s")
                scheduler.wallLead += jump * 1_000_000_000
            }
        }
    }

    // MARK: - The process

    private func startProcess() {
        processCount += 1
        let directory = "state-\(processCount)"
        if let process {
            let losesTail = process.ending == FaultKind.powerFailure.rawValue
            let lost = disk.move(from: process.directory, to: directory, losesTail: losesTail)
            if !lost.isEmpty { story.tell("disk", "lost the end of \(lost.joined(separator: ", "))") }
        }
        let next = BotProcess(self, number: processCount, directory: directory)
        process = next
        next.start(seed: numbers.next())
    }

    private func kill(_ process: BotProcess, _ fault: FaultKind) {
        story.tell("world", "\(fault.rawValue) of bot \(process.number)")
        scheduler.end(process.number)
        pendingWaits.end(of: process.number)
        process.noteKill(fault)
        restartSoon()
    }

    /// As a service manager does. Only once: a process ends once.
    private func restartSoon() {
        scheduler.after(.milliseconds(numbers.below(numbers.pick([100, 10_000])))) { [self] in startProcess() }
    }

    private func noteEnd() {
        guard let process, process.ending != nil, scheduler.isRunning(process.number) else { return }
        scheduler.end(process.number)
        fail(Violation(guarantee: .running, detail: "bot \(process.number) ended: \(process.ending ?? "")"))
    }

    // MARK: - Checks

    private func checkState() {
        guard disk.hasSynced else { return }
        disk.hasSynced = false
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
    private func lack(of document: StoredDocument) -> String? {
        guard let winner = document.winner, !winner.isDeleted, let effect = Scenario.effect(on: winner) else {
            return nil
        }
        let letters = process?.openState()?.deadLetters() ?? []
        guard !letters.contains(where: { $0.id == document.id && $0.revision == winner.id }) else { return nil }
        return "still needs \(effect): \(winner.body.text)"
    }

    private func checkAtQuietMoment() {
        for id in gateway.ids {
            guard let document = gateway.documents[id], let lack = lack(of: document) else { continue }
            return fail(Violation(guarantee: .nothingIsLost, detail: "\(id) \(lack)"))
        }
        checking { try DeadLetterCheck.check(process?.openState()?.deadLetters() ?? [], gateway) }
        if violation == nil { story.tell("world", "everything is done") }
    }
}
