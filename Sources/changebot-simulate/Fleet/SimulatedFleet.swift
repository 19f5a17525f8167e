internal import Locking
internal import TestKit

/// The machines of the bot: one, or those of a fleet with its engine.
final class SimulatedFleet {
    unowned let world: World
    let pendingWaits: PendingWaits
    private(set) var machines: [Machine] = []
    /// Nil: one process works alone.
    private(set) var engine: SimulatedEngine?
    private(set) var trouble: FleetTrouble?
    private var processCount = 0
    /// Timers, and documents and revisions of dead letters, of states that were replaced.
    var records: (timers: Set<StateCheck.Timer>, letters: Set<String>) = ([], [])
    /// Whether an administrator has stopped all members.
    private(set) var isStopped = false
    private var numbers: SplitMix64

    /// - Parameter machineSeed: Of the first machine.
    init(_ world: World, members: Int, machineSeed: UInt64, seed: UInt64) {
        (self.world, numbers) = (world, SplitMix64(seed: seed))
        pendingWaits = PendingWaits(world.scheduler)
        if members > 1 {
            let engine = SimulatedEngine(world, seed: numbers.next())
            (self.engine, trouble) = (engine, FleetTrouble(world, engine, seed: numbers.next()))
        }
        machines = (0..<members).map { Machine(world, seed: $0 == 0 ? machineSeed : numbers.next()) }
        Waits.observer = pendingWaits
    }

    var isShared: Bool { engine != nil }

    /// The processes that run.
    var processes: [BotProcess] { machines.compactMap(\.runningProcess) }
    var hasProcess: Bool { machines.contains { $0.runningProcess != nil } }

    func process(_ number: Scheduler.Owner) -> BotProcess? { processes.first { $0.number == number } }

    func nextProcessNumber() -> Scheduler.Owner {
        processCount += 1
        return processCount
    }

    /// One of those that run. Nil: none does.
    func pickProcess() -> BotProcess? { processes.isEmpty ? nil : numbers.pick(processes) }

    /// Starts a process on each machine that never had one.
    func start() { for machine in machines where machine.process == nil { machine.startProcess() } }

    /// An administrator stops all members, does something, and starts them.
    func whileStopped(_ body: @escaping () -> Void) {
        guard !isStopped else { return }
        isStopped = true
        world.story.tell("world", "all members are stopped")
        for machine in machines { machine.halt() }
        world.scheduler.after(.milliseconds(1_000 + numbers.below(5_000))) { [self] in
            body()
            isStopped = false
            for machine in machines { machine.restartSoon() }
        }
    }

    /// The file on the machine of the process whose work is being done is on the disk.
    func noteSync(_ descriptor: Int32) {
        let owner = world.scheduler.owner
        (machines.first { $0.process?.number == owner } ?? machines[0]).disk.noteSync(descriptor)
    }

    /// Trouble that ends processes. Call it after each step.
    func endRandomly() {
        guard hasProcess, let fault = world.faults.ofNextStep(), let process = pickProcess() else { return }
        machines.first { $0.process === process }?.kill(fault)
    }

    /// Ends processes whose machine has lost its power in this step.
    func endTornProcesses() {
        for machine in machines where machine.disk.isTorn && machine.runningProcess != nil {
            machine.kill(world.faults.note(.tornWrite))
        }
    }

    /// The state of the bot, next to what the processes read.
    func openState() -> StateCheck? { engine?.state ?? machines[0].process?.openState() }

    /// Whether the state has changed since this was last asked.
    func hasNewState() -> Bool {
        if let engine { return engine.takeCommits() }
        let disk = machines[0].disk
        defer { disk.hasSynced = false }
        return disk.hasSynced
    }
}
