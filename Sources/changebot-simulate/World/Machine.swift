internal import Glibc
internal import TestKit

/// A machine with the bot: its disk, and one process after the other.
final class Machine {
    private unowned let world: World
    private var numbers: SplitMix64
    let disk = Disk()
    private(set) var process: BotProcess?
    /// How many seconds its clock is fast.
    var clockLead: Int64 = 0 {
        didSet { if let process { world.scheduler.clockLeads[process.number] = clockLead } }
    }
    /// Nil: it has ended, or none was started.
    var runningProcess: BotProcess? { process.flatMap { $0.ending == nil ? $0 : nil } }
    /// The files of the state at an earlier time.
    private(set) var copy: [String: [UInt8]]?
    /// Whether the process has ended because its password is wrong.
    private var needsAdministrator = false
    /// The files with which the next process begins; nil: those of the last one.
    private var nextFiles: [String: [UInt8]]?

    init(_ world: World, seed: UInt64) {
        (self.world, numbers) = (world, SplitMix64(seed: seed))
    }

    func startProcess() {
        let number = world.fleet.nextProcessNumber()
        let directory = "state-\(number)"
        if let process {
            let losesTail = FaultKind.ofPower.contains { process.ending == $0.rawValue }
            let lost = disk.move(from: process.directory, to: directory, losesTail: losesTail, replacedBy: nextFiles)
            nextFiles = nil
            if !lost.isEmpty { world.story.tell("disk", "lost the end of \(lost.joined(separator: ", "))") }
        }
        disk.directory = directory
        let next = BotProcess(world, number: number, directory: directory)
        process = next
        if clockLead != 0 { world.scheduler.clockLeads[number] = clockLead }
        next.start(seed: numbers.next())
    }

    func kill(_ fault: FaultKind) {
        guard let process, process.ending == nil else { return }
        world.story.tell("world", "\(fault.rawValue) of bot \(process.number)")
        end(process, fault)
        restartSoon()
    }

    private func end(_ process: BotProcess, _ fault: FaultKind? = nil) {
        world.scheduler.end(process.number)
        world.fleet.pendingWaits.end(of: process.number)
        process.noteEnd(fault)
    }

    /// As a service manager does. Only once: a process ends once.
    func restartSoon() {
        world.scheduler.after(.milliseconds(numbers.below(numbers.pick([100, 10_000])))) { [self] in
            if runningProcess == nil, !world.fleet.isStopped { startProcess() }
        }
    }

    /// Until the fleet is started again.
    func halt() { if let runningProcess { end(runningProcess, .kill) } }

    /// The password is right again.
    func noteRightPassword() {
        guard needsAdministrator else { return }
        needsAdministrator = false
        restartSoon()
    }

    /// A process that has ended on its own may have been asked to.
    ///
    /// - Throws: ``Violation``.
    func noteEnd() throws {
        guard let process, let ending = process.ending, world.scheduler.isRunning(process.number) else { return }
        end(process)
        if process.isStopping { return restartSoon() }
        // The administrator who corrects the password starts it.
        guard !world.operations.passwords.mayEnd(process, at: world.scheduler.uptime) else {
            if world.operations.passwords.areEqual { return restartSoon() }
            needsAdministrator = true
            return
        }
        // The members of a fleet end if the database was replaced.
        if world.fleet.isShared, world.operations.database.isUnnoticed { return world.fleet.beginAgain() }
        throw Violation(guarantee: .running, detail: "bot \(process.number) ended: \(ending)")
    }

    // MARK: - The disk

    /// Keeps a copy of the state.
    func copyDisk() {
        guard let process, process.ending == nil else { return }
        world.story.tell("disk", "is copied")
        copy = disk.files(in: process.directory)
    }

    func dropCopy() { copy = nil }

    /// The machine is lost. Another one has a copy of the state, or nothing.
    func replaceDisk(_ fault: FaultKind) {
        nextFiles = fault == .oldDisk ? copy : [:]
        world.checks.passes.noteState(knowsSchedule: false, at: world.scheduler.uptime)
        // The bot may continue at the copy of its checkpoint in the database.
        // Without the state, the bot has the database's mark only once it has read it, and events have other ids.
        world.checks.noteOtherIDs()
        world.checks.lostTimers.formUnion(process?.openState()?.timers() ?? [])
        let letters = process?.openState()?.deadLetters() ?? []
        world.checks.lostLetters.formUnion(letters.map { "\($0.id) \($0.revision)" })
        kill(fault)
    }
}
