internal import TestKit

/// What administrators do, and what happens to whole machines: stops, new rules, restored databases and disks, changed
/// passwords, compaction.
final class Operations {
    private unowned let world: World
    private var numbers: SplitMix64

    private(set) var passwords = Passwords()
    private(set) var database = ReplacedDatabases()
    private var rulesVersion = 0
    private static let requestLimits = [1_000, 3_000]

    /// Whether there are users and trouble.
    private(set) var isActive = false
    private(set) var isGatewayAway = false

    init(_ world: World, seed: UInt64) { (self.world, numbers) = (world, SplitMix64(seed: seed)) }

    private var scheduler: Scheduler { world.scheduler }

    // MARK: - Planning

    /// Decides what happens in a round.
    func beginRound() {
        isActive = true
        at(.outage, onceIn: 3) { [self] in beginOutage() }
        at(.gracefulStop, onceIn: 2) { [self] in world.fleet.pickProcess()?.stop() }
        at(.reload, onceIn: 2) { [self] in replaceRules() }
        at(.passwordChange, onceIn: 3) { [self] in changePassword() }
        at(.compaction, onceIn: 2) { [self] in
            note(.compaction, "the gateway forgets \(world.gateway.compact()) old revisions")
        }
        at(.oldDisk, onceIn: 3) { [self] in replaceDisk(.oldDisk) }
        at(.lostDisk, onceIn: 5) { [self] in replaceDisk(.lostDisk) }
        at(.gatewayRestore, onceIn: 2) { [self] in replaceDatabase(.gatewayRestore) }
        at(.gatewayReset, onceIn: 4) { [self] in replaceDatabase(.gatewayReset) }
        if world.faults.occurs(.lostMark, onceIn: 6) { loseMarks() }
        world.gateway.skipShare = world.faults.occurs(.skippedSequence, onceIn: 2) ? 5 : 0
        if world.extent == .full { limitWrites() }
        if world.extent == .full { planTornWrite() }
        world.fleet.trouble?.beginRound()
        later { [self] in copyGateway() }
        later { [self] in
            if !database.isUnnoticed, !world.fleet.isShared { world.fleet.machines[0].copyDisk() }
        }
    }

    /// The quiet time begins: everything works.
    func endRound() {
        (isActive, isGatewayAway) = (false, false)
        for machine in world.fleet.machines { machine.disk.tearNext = nil }
        (world.gateway.skipShare, world.gateway.losesMarks) = (0, false)
        (world.gateway.requestLimit, world.gateway.failingShare) = (nil, 0)
        world.gateway.showSkipped()
        world.fleet.trouble?.endRound()
    }

    /// A moment in the active part of the round.
    func later(_ body: @escaping () -> Void) {
        scheduler.after(.milliseconds(numbers.below(numbers.pick([5_000, 60_000])))) { [self] in
            if isActive { body() }
        }
    }

    func at(_ kind: FaultKind, onceIn rounds: Int, _ body: @escaping () -> Void) {
        if world.faults.occurs(kind, onceIn: rounds) { later(body) }
    }

    func note(_ kind: FaultKind, _ text: String) {
        world.faults.note(kind)
        world.story.tell("world", text)
    }

    /// Decides which writes the gateway can't carry out in this round.
    private func limitWrites() {
        if world.faults.occurs(.requestLimit, onceIn: 2) {
            let limit = numbers.pick(Self.requestLimits)
            world.gateway.requestLimit = limit
            note(.requestLimit, "the gateway refuses several writes in a request with more than \(limit) bytes")
        }
        world.gateway.failingShare = world.faults.occurs(.failedRow, onceIn: 2) ? 20 : 0
    }

    private func planTornWrite() {
        at(.tornWrite, onceIn: 2) { [self] in
            world.fleet.machines[0].disk.tearNext = Disk.Tear(isOfLines: numbers.chance(2)) { [self] count in
                numbers.below(count + 1)
            }
        }
    }

    private func beginOutage() {
        note(.outage, "the gateway goes away")
        isGatewayAway = true
        scheduler.after(.milliseconds(numbers.below(60_000))) { [self] in
            world.story.tell("world", "the gateway is back")
            isGatewayAway = false
        }
    }

    /// By rules with the same effects: one of them has another name.
    private func replaceRules() {
        rulesVersion += 1
        note(.reload, "the rule file is replaced")
        let rules = Scenario.rules(world.extent, version: rulesVersion % 3)
        Disk.replace(World.rulesFile, by: Array(rules.utf8))
        world.checks.events.noteOtherRules(at: scheduler.uptime)
        world.checks.rates.noteOtherRules()
        for process in world.fleet.processes { process.reload() }
    }

    // MARK: - Passwords

    /// At the gateway, then in the bot's settings: soon enough for the bot, or too late.
    private func changePassword() {
        guard passwords.areEqual else { return }
        passwords.changeAtGateway(isLate: numbers.chance(3))
        note(.passwordChange, "the bot's password is changed at the gateway")
        let delay = passwords.isLate ? 15_000 + numbers.below(60_000) : numbers.below(8_000)
        scheduler.after(.milliseconds(delay)) { [self] in
            passwords.changeInSettings(at: scheduler.uptime)
            world.story.tell("world", "the password is changed in the bot's settings")
            // An administrator starts a bot that has ended.
            for machine in world.fleet.machines { machine.noteRightPassword() }
        }
    }

    // MARK: - Disks

    /// A machine is lost, and another one continues with an older copy of the state, or without any.
    private func replaceDisk(_ kind: FaultKind) {
        let machine = world.fleet.machines[0]
        guard !world.fleet.processes.isEmpty, !database.isOffline else { return }
        guard kind == .lostDisk || machine.copy != nil else { return }
        note(kind, kind == .oldDisk ? "the state is restored from an older copy" : "the machine with the state is lost")
        database.copy = nil
        if kind == .lostDisk { database.noteNoticed() }
        if world.fleet.isShared { world.fleet.loseState() } else { machine.replaceDisk(kind) }
    }

    // MARK: - Databases

    private func copyGateway() {
        guard !database.isUnnoticed, !database.isOffline else { return }
        database.copy = (world.gateway.copy, world.checks.writes, database.marks)
    }

    /// The database is restored from a copy, or created again. The gateway is unavailable for a few seconds.
    private func replaceDatabase(_ kind: FaultKind) {
        let isRestored = kind == .gatewayRestore
        guard !world.fleet.isStopped, database.mayBeReplaced(isRestored: isRestored, at: scheduler.uptime) else {
            return
        }
        let copy = isRestored ? database.copy : nil
        note(kind, isRestored ? "the database is restored from a copy" : "the database is created again")
        database.beginReplacement()
        for process in world.fleet.processes { process.connection?.closeAll() }
        scheduler.after(.milliseconds(1_000 + numbers.below(5_000))) { [self] in
            // The time at which it is online again, in microseconds.
            world.gateway.replace(by: copy?.gateway, at: Int(scheduler.uptime / 1000))
            world.checks.noteReset(world.gateway, copy: copy?.check, at: scheduler.uptime)
            world.fleet.trouble?.dropCopies()
            database.endReplacement(at: scheduler.uptime)
            for machine in world.fleet.machines { machine.dropCopy() }
            world.story.tell("world", "the database is online again")
        }
    }

    func noteMark() { database.noteMark() }

    /// The bot no longer knows how often its mark was written.
    func dropCopy() { database.copy = nil }

    /// The bot reads the feed from its beginning.
    func noteFeedFromBeginning() {
        // A new mark gives events other ids.
        if database.isUnnoticed { world.checks.noteOtherIDs() }
        database.noteNoticed()
    }

    private func loseMarks() {
        guard !database.isUnnoticed else { return }
        database.hasLostMarks = true
        world.checks.noteLostMarks()
        world.gateway.losesMarks = true
        note(.lostMark, "the gateway does not keep local documents")
    }
}
