internal import TestKit

/// What administrators do, and what happens to whole machines: stops, new rules, restored databases and disks, changed
/// passwords, compaction.
final class Operations {
    private unowned let world: World
    private var numbers: SplitMix64

    /// The password of the bot's user at the gateway, and the one in the bot's settings.
    private(set) var passwords = (gateway: "secret-0", bot: "secret-0")
    /// Whether the settings are changed so late that the bot may end before.
    private var isPasswordLate = false
    private var passwordCount = 0
    private var rulesVersion = 0

    /// Whether there are users and trouble.
    private(set) var isActive = false
    private(set) var isGatewayAway = false
    /// Whether the gateway's database is being replaced.
    private(set) var isDatabaseOffline = false
    /// Whether the bot has not noticed yet that the database was replaced.
    private(set) var isResetUnnoticed = false
    private var lastReset: Int64 = .min / 2
    private var gatewayCopy: (gateway: SimulatedGateway.Copy, check: WriteCheck, marks: Int)?
    /// How often the bot was told that its mark is written.
    private var marks = 0
    /// Whether the gateway ever lost marks. From then on the bot can't be sure to notice a reset.
    private var hasLostMarks = false

    init(_ world: World, seed: UInt64) { (self.world, numbers) = (world, SplitMix64(seed: seed)) }

    private var scheduler: Scheduler { world.scheduler }

    // MARK: - Planning

    /// Decides what happens in a round.
    func beginRound() {
        isActive = true
        at(.outage, onceIn: 3) { [self] in beginOutage() }
        at(.gracefulStop, onceIn: 2) { [self] in world.process?.stop() }
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
        later { [self] in copyGateway() }
        later { [self] in
            if !isResetUnnoticed { world.machine.copyDisk() }
        }
    }

    /// The quiet time begins: everything works.
    func endRound() {
        (isActive, isGatewayAway) = (false, false)
        (world.gateway.skipShare, world.gateway.losesMarks) = (0, false)
        world.gateway.showSkipped()
    }

    /// A moment in the active part of the round.
    private func later(_ body: @escaping () -> Void) {
        scheduler.after(.milliseconds(numbers.below(numbers.pick([5_000, 60_000])))) { [self] in
            if isActive { body() }
        }
    }

    private func at(_ kind: FaultKind, onceIn rounds: Int, _ body: @escaping () -> Void) {
        if world.faults.occurs(kind, onceIn: rounds) { later(body) }
    }

    private func note(_ kind: FaultKind, _ text: String) {
        world.faults.note(kind)
        world.story.tell("world", text)
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
        Disk.replace(World.rulesFile, by: Array(Scenario.rules(version: rulesVersion % 3).utf8))
        world.process?.reload()
    }

    // MARK: - Passwords

    /// At the gateway, then in the bot's settings: soon enough for the bot, or too late.
    private func changePassword() {
        guard passwords.gateway == passwords.bot else { return }
        passwordCount += 1
        passwords.gateway = "secret-\(passwordCount)"
        isPasswordLate = numbers.chance(3)
        note(.passwordChange, "the bot's password is changed at the gateway")
        let delay = isPasswordLate ? 15_000 + numbers.below(60_000) : numbers.below(8_000)
        scheduler.after(.milliseconds(delay)) { [self] in
            passwords.bot = passwords.gateway
            world.story.tell("world", "the password is changed in the bot's settings")
            isPasswordLate = false
            // An administrator starts a bot that has ended.
            world.machine.noteRightPassword()
        }
    }

    /// Whether a process may end now, because its password is refused: at its start at once, later ten seconds after the
    /// first refusal.
    func mayEnd(_ process: BotProcess) -> Bool {
        passwords.gateway != passwords.bot && (isPasswordLate || !process.hasFollowed)
    }

    // MARK: - Disks

    /// A machine is lost, and another one continues with an older copy of the state, or without any.
    private func replaceDisk(_ kind: FaultKind) {
        guard let process = world.process, process.ending == nil, !isDatabaseOffline else { return }
        guard kind == .lostDisk || world.machine.copy != nil else { return }
        note(kind, kind == .oldDisk ? "the state is restored from an older copy" : "the machine with the state is lost")
        gatewayCopy = nil
        if kind == .lostDisk { isResetUnnoticed = false }
        world.machine.replaceDisk(kind)
    }

    // MARK: - Databases

    private func copyGateway() {
        guard !isResetUnnoticed, !isDatabaseOffline else { return }
        gatewayCopy = (world.gateway.copy, world.checks.writes, marks)
    }

    /// The database is restored from a copy, or created again. The gateway is unavailable for a few seconds.
    ///
    /// The bot does not notice resets that follow each other within ten minutes, nor a copy with the newest mark: see
    /// "A reset is noticed".
    private func replaceDatabase(_ kind: FaultKind) {
        let copy = kind == .gatewayRestore ? gatewayCopy : nil
        guard !hasLostMarks, !isResetUnnoticed, !isDatabaseOffline,
            scheduler.uptime - lastReset > Duration.seconds(1_200).nanoseconds,
            // The bot knows that its mark was written since, even if it was killed after the last time.
            kind == .gatewayReset || copy.map({ marks >= $0.marks + 2 }) == true
        else { return }
        note(kind, kind == .gatewayRestore ? "the database is restored from a copy" : "the database is created again")
        isDatabaseOffline = true
        world.process?.connection?.closeAll()
        scheduler.after(.milliseconds(1_000 + numbers.below(5_000))) { [self] in
            // The time at which it is online again, in microseconds.
            world.gateway.replace(by: copy?.gateway, at: Int(scheduler.uptime / 1000))
            world.checks.events.noteReset()
            world.checks.writes.noteReset(world.gateway.documents, copy: copy?.check)
            (isDatabaseOffline, isResetUnnoticed, lastReset, gatewayCopy) = (false, true, scheduler.uptime, nil)
            world.machine.dropCopy()
            world.story.tell("world", "the database is online again")
        }
    }

    func noteMark() { marks += 1 }

    /// The bot reads the feed from its beginning.
    func noteFeedFromBeginning() {
        // A new mark gives events other ids.
        if isResetUnnoticed { world.checks.events.noteReset() }
        isResetUnnoticed = false
    }

    private func loseMarks() {
        guard !isResetUnnoticed else { return }
        hasLostMarks = true
        world.checks.events.comparesIDs = false
        world.gateway.losesMarks = true
        note(.lostMark, "the gateway does not keep local documents")
    }
}
