internal import TestKit

/// What happens to the engine of a fleet, to its members, and to the way between them.
final class FleetTrouble {
    private unowned let world: World
    private let engine: SimulatedEngine
    private var numbers: SplitMix64
    /// Of this round and of the last one.
    private var copies: [SimulatedEngine.Copy] = []

    init(_ world: World, _ engine: SimulatedEngine, seed: UInt64) {
        (self.world, self.engine, numbers) = (world, engine, SplitMix64(seed: seed))
    }

    private var scheduler: Scheduler { world.scheduler }
    private var operations: Operations { world.operations }

    /// Decides what happens in a round.
    func beginRound() {
        world.faults.beginCalls()
        operations.at(.engineOutage, onceIn: 2) { [self] in beginOutage() }
        operations.at(.cutOffMember, onceIn: 2) { [self] in cutOff() }
        operations.at(.pausedMember, onceIn: 2) { [self] in pause() }
        operations.at(.memberClock, onceIn: 3) { [self] in changeClock() }
        operations.at(.engineRestore, onceIn: 2) { [self] in
            if copies.isEmpty { copyEngine() }
            operations.later { [self] in restore() }
        }
        operations.later { [self] in copyEngine() }
    }

    private func copyEngine() {
        world.story.tell("engine", "is copied")
        copies = copies.suffix(1) + [engine.copy]
    }

    /// The quiet time begins: everything works. Clocks may still be wrong.
    func endRound() {
        engine.outage = nil
        for process in world.fleet.processes {
            process.engine?.lostCalls = nil
            process.engine?.lateness = nil
            process.connection?.isCutOff = false
            resume(process)
        }
    }

    private func note(_ kind: FaultKind, _ text: String) { operations.note(kind, text) }

    /// Unreachable, or silent: then calls arrive when it continues.
    private func beginOutage() {
        guard engine.outage == nil else { return }
        let outage: SimulatedEngine.Outage = numbers.chance(2) ? .unreachable : .silent
        note(.engineOutage, "the engine is \(outage.rawValue)")
        engine.outage = outage
        scheduler.after(.milliseconds(numbers.below(numbers.pick([4_000, 60_000])))) { [self] in
            guard engine.outage != nil else { return }
            engine.outage = nil
            world.story.tell("world", "the engine works again")
        }
    }

    /// A member's network fails: at once, or after answers of the engine have become late.
    private func cutOff() {
        guard let process = world.fleet.pickProcess(), let connection = process.engine else { return }
        guard numbers.chance(2) else { return cutOff(process, connection) }
        world.story.tell("world", "the engine's answers to bot \(process.number) take a second")
        connection.lateness = .milliseconds(1_000 + numbers.below(500))
        scheduler.after(.milliseconds(numbers.below(10_000))) { [self] in
            guard connection.lateness != nil else { return }
            connection.lateness = nil
            cutOff(process, connection)
        }
    }

    /// A member does not reach the engine, or it gets no answers. It may not reach the gateway for a part of its lease.
    private func cutOff(_ process: BotProcess, _ connection: EngineConnection) {
        if numbers.chance(2), let gateway = process.connection {
            world.story.tell("world", "bot \(process.number) can't reach the gateway")
            gateway.isCutOff = true
            scheduler.after(.milliseconds(numbers.below(6_000))) { gateway.isCutOff = false }
        }
        let lost = numbers.pick([EngineConnection.LostCalls.requests, .answers])
        note(.cutOffMember, "the \(lost.rawValue) of bot \(process.number) to the engine are lost")
        connection.lostCalls = lost
        scheduler.after(.milliseconds(numbers.below(numbers.pick([5_000, 60_000])))) { [self] in
            guard connection.lostCalls != nil else { return }
            connection.lostCalls = nil
            world.story.tell("world", "bot \(process.number) reaches the engine again")
        }
    }

    /// A process does nothing for a while, then continues: a suspended machine.
    private func pause() {
        guard let process = world.fleet.pickProcess(), scheduler.suspend(process.number) else { return }
        note(.pausedMember, "bot \(process.number) is suspended")
        scheduler.after(.milliseconds(numbers.below(numbers.pick([5_000, 90_000])))) { [self] in
            resume(process)
        }
    }

    private func resume(_ process: BotProcess) {
        guard scheduler.resume(process.number) else { return }
        world.story.tell("world", "bot \(process.number) continues")
    }

    /// The clock of a machine is wrong from now on, or right again.
    private func changeClock() {
        let machine = numbers.pick(world.fleet.machines)
        let lead = machine.clockLead == 0 ? Int64(numbers.below(172_800)) - 86_400 : 0
        note(.memberClock, "the clock on the machine of bot \(machine.process?.number ?? 0) is \(lead) s fast")
        machine.clockLead = lead
    }

    /// The engine returns to an older state.
    private func restore() {
        // An older state may remember a mark that was written more often than the one that was written again.
        guard !copies.isEmpty, !operations.database.hasLostMarks else { return }
        note(.engineRestore, "the engine returns to an older state")
        operations.dropCopy()
        world.fleet.rememberRecords()
        engine.restore(numbers.pick(copies))
    }

    /// They belong to a state or database that was replaced.
    func dropCopies() { copies = [] }
}
