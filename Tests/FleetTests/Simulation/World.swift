import Fleet
import TestKit

/// A fleet, its engine, a gateway and a receiver, with everything that can go wrong.
final class World: @unchecked Sendable {
    /// Puts something between a member and its log.
    typealias Wrapper = (MemoryWorkLog<SimulatedLink>, MemoryEngine) -> any WorkLog

    let seed: UInt64
    let scheduler: Scheduler
    let gateway: SimulatedGateway
    let oracle: Oracle
    let engine: MemoryEngine
    let engineServer = SimulatedRoute.Server()
    let gatewayServer = SimulatedRoute.Server()
    let receiverServer = SimulatedRoute.Server()
    let wrap: Wrapper
    var settings = FleetSettings()
    /// How many decisions take seconds.
    let slowRules: Double
    /// What may go wrong.
    enum Trouble {
        case everything
        /// Members are killed, each after this many seconds on average, and new members start. No document is bad.
        case kills(meanLifetime: Double)
        /// Members are paused, and connections and the engine fail; no member ends. No document is bad.
        case outages
        /// Some documents always crash the process that attempts them; nothing else goes wrong.
        case fatalDocuments
    }

    let kind: Trouble
    /// Whether documents fail.
    var hasBadDocuments: Bool { if case .everything = kind { true } else { false } }
    /// The probability that a fatal document crashes the process.
    var fatality: Double {
        switch kind {
        case .everything: isTroubleFree ? 0 : 0.7
        case .fatalDocuments: 1
        case .kills, .outages: 0
        }
    }
    private var members: [SimulatedMember] = []
    private var memberCount = 0
    private(set) var isTroubleFree = false

    /// - Parameters:
    ///   - quietTime: How long no lease is granted after the engine lost commits. Nil: the correct time.
    ///   - wrap: Puts something between each member and its log.
    init(
        seed: UInt64, quietTime: Duration? = nil, _ kind: Trouble = .everything,
        wrap: @escaping Wrapper = { log, _ in log }
    ) {
        self.seed = seed
        self.kind = kind
        self.wrap = wrap
        let scheduler = Scheduler(seed: seed)
        self.scheduler = scheduler
        gateway = SimulatedGateway(documents: 50 + scheduler.random.below(250))
        let oracle = Oracle(scheduler, gateway)
        self.oracle = oracle
        engine = MemoryEngine(
            partitions: [1, 4, 8, 16, 16, 64][scheduler.random.below(6)], quietTime: quietTime, time: { scheduler.now },
            observer: { oracle.take($0) })
        oracle.engine = engine
        switch kind {
        case .everything: slowRules = scheduler.random.pick([0.01, 0.05, 0.4])
        case .fatalDocuments: slowRules = 0
        case .kills, .outages:
            oracle.hasNoBadDocuments = true
            slowRules = 0.4
        }
        // If no member ends, every counted attempt is a mistake. So all changes are isolated, and two attempts are
        // enough.
        if case .outages = kind {
            (settings.isolation.suspiciousTakeovers, settings.isolation.attempts) = (0, 2)
            // Longer than the longest trouble.
            settings.isolation.settlingTime = .seconds(60)
        }
        // Small limits are reached more often.
        if scheduler.chance(0.5) {
            settings.work.window = 2 + scheduler.random.below(30)
            settings.work.batch = 1 + scheduler.random.below(8)
            settings.work.inProgress = 1 + scheduler.random.below(20)
            settings.leader.appendLimit = 1 + scheduler.random.below(20)
        }
        if scheduler.chance(0.2) { settings.leader.backlogLimit = 10 + scheduler.random.below(100) }
    }

    /// Runs for about this number of steps, ends all faults, and waits until everything is done.
    ///
    /// - Returns: The violations; empty if there are none.
    func run(steps: Int) -> [String] {
        for _ in 0..<(1 + scheduler.random.below(5)) { join() }
        scheduleUsers()
        scheduleTrouble()
        scheduler.run { scheduler.steps >= steps || !oracle.isClean }
        endTrouble()
        let deadline = scheduler.now + .seconds(600)
        var nextCheck = scheduler.now
        var isSettled = false
        scheduler.run {
            if scheduler.now >= nextCheck {
                nextCheck = scheduler.now + .seconds(1)
                isSettled = engine.isEmpty && engine.checkpoint.sequence.flatMap(Int.init) == gateway.feed.count
                // A document may have killed a member meanwhile.
                if !isSettled, !members.contains(where: \.isAlive) { join() }
            }
            return isSettled || !oracle.isClean || scheduler.now > deadline
        }
        if isSettled {
            oracle.checkEnd()
        } else if oracle.isClean {
            oracle.reportViolation("the fleet does not settle: \(rest)")
        }
        for member in members { member.crash() }
        scheduler.run { members.allSatisfy(\.hasEnded) }
        return oracle.violations
    }

    /// What is not done.
    private var rest: String {
        "read up to \(engine.checkpoint) of \(gateway.feed.count)\n\(engine.rest)\n"
            + members.map { "\($0.owner) alive \($0.isAlive) has \($0.partitions)" }.joined(separator: "\n")
    }

    /// For a failed run.
    var report: String {
        """
        CHANGEBOT_SIMULATION_SEED=\(seed), \(scheduler.steps) steps, \(members.count) members, \
        \(engine.partitions) partitions
        \(oracle.violations.joined(separator: "\n"))
        The last things that happened:
        \(oracle.history)
        """
    }

    private func join() {
        members.removeAll { $0.hasEnded }
        members.append(SimulatedMember(self, number: memberCount))
        memberCount += 1
        oracle.note { [memberCount] in "m\(memberCount - 1) joins" }
    }

    private func endTrouble() {
        isTroubleFree = true
        for server in [engineServer, gatewayServer, receiverServer] {
            (server.isDown, server.isFrozen) = (false, false)
        }
        for member in members { member.endTrouble() }
        oracle.note { "everything is healed" }
    }

    // MARK: What happens to it

    private func scheduleUsers() {
        guard !isTroubleFree else { return }
        let burst = scheduler.chance(0.05) ? 30 : 1
        for _ in 0..<burst { gateway.ask(scheduler.random.below(gateway.documents.count)) }
        scheduler.after(scheduler.time(0.001, 0.08), scheduleUsers)
    }

    private func scheduleTrouble() {
        guard !isTroubleFree else { return }
        switch kind {
        case .kills(let meanLifetime): return scheduleKill(meanLifetime / Double(Self.killed))
        case .fatalDocuments: return
        case .everything, .outages: break
        }
        scheduler.after(scheduler.time(0.1, 4)) { [self] in
            if !isTroubleFree { trouble() }
            scheduleTrouble()
        }
    }

    /// The number of members while members are killed regularly.
    private static let killed = 3

    private func scheduleKill(_ interval: Double) {
        while members.count(where: \.isAlive) < Self.killed { join() }
        scheduler.after(scheduler.time(0, 2 * interval)) { [self] in
            guard !isTroubleFree else { return }
            let living = members.filter(\.isAlive)
            if !living.isEmpty { scheduler.random.pick(living).crash() }
            scheduleKill(interval)
        }
    }

    private func trouble() {
        let living = members.filter(\.isAlive)
        guard let member = living.isEmpty ? nil : scheduler.random.pick(living) else { return join() }
        var what = scheduler.random.below(14)
        // Without troubles that end members or roll back the engine.
        if case .outages = kind { what = 4 + scheduler.random.below(9) }
        switch what {
        case 0: if living.count < 6 { join() }
        case 1: living.count < 3 ? join() : member.stop()
        case 2, 3:
            member.crash()
            if living.count < 3 { scheduler.after(scheduler.time(0, 5)) { [self] in if !isTroubleFree { join() } } }
        case 4, 5:
            during(0.5, 15, "\(member.owner) stalls") { member.executor.isStopped = $0 && member.isAlive }
        case 6: cut(member.owner, member.engineRoute, "the engine")
        case 7: cut(member.owner, member.gatewayRoute, "the gateway")
        case 8: cut(member.owner, member.receiverRoute, "the receiver")
        case 9: during(1, 12, "\(member.owner) is slow to the engine") { member.engineRoute.isSlow = $0 }
        case 10: during(1, 12, "\(member.owner) is slow to the gateway") { member.gatewayRoute.isSlow = $0 }
        case 11: during(0.5, 8, "the engine is frozen") { [engineServer] in engineServer.isFrozen = $0 }
        case 12: during(0.5, 8, "the engine is down") { [engineServer] in engineServer.isDown = $0 }
        default: rollBack()
        }
    }

    private func cut(_ owner: String, _ route: SimulatedRoute, _ what: String) {
        let (requests, answers) = [(true, true), (true, false), (false, true)][scheduler.random.below(3)]
        during(0.5, 20, "\(owner) is cut from \(what), \(requests ? "there" : "") \(answers ? "back" : "")") {
            route.losesRequests = requests && $0
            route.losesAnswers = answers && $0
        }
    }

    private func during(_ from: Double, _ to: Double, _ what: String, _ set: @escaping (Bool) -> Void) {
        let time = scheduler.time(from, to)
        oracle.note { "\(what) for \(time)" }
        oracle.count("trouble")
        set(true)
        scheduler.after(time) { set(false) }
    }

    private func rollBack() {
        if scheduler.chance(0.1) {
            engine.wipe()
            oracle.note { "the engine loses everything" }
            return oracle.count("wiped")
        }
        let snapshot = engine.snapshot
        scheduler.after(scheduler.time(0.01, 3)) { [self] in
            guard !isTroubleFree else { return }
            engine.restore(snapshot)
            oracle.note { "the engine loses its last commits" }
            oracle.count("rolled back")
        }
    }
}
