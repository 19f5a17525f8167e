import Fleet
import TestKit

/// One process of a simulated fleet.
final class SimulatedMember: @unchecked Sendable {
    let owner: String
    let clock: SimulatedClock
    let executor: SimulatedExecutor
    let engineRoute: SimulatedRoute
    let gatewayRoute: SimulatedRoute
    let receiverRoute: SimulatedRoute
    private(set) var isAlive = true
    /// Whether its task has ended, after a clean stop or a kill.
    private(set) var hasEnded = false
    private var member: FleetMember?
    private var task: Task<Void, Never>?
    private let oracle: Oracle

    init(_ world: World, number: Int) {
        let scheduler = world.scheduler
        owner = "m\(number)"
        oracle = world.oracle
        // All clocks differ.
        clock = SimulatedClock(scheduler: scheduler, offset: scheduler.time(-3600, 3600))
        executor = SimulatedExecutor(scheduler, number: number)
        engineRoute = SimulatedRoute(world.engineServer, scheduler, timeout: .seconds(3))
        gatewayRoute = SimulatedRoute(world.gatewayServer, scheduler, timeout: .seconds(2))
        receiverRoute = SimulatedRoute(world.receiverServer, scheduler, timeout: .seconds(2))
        start(world)
    }

    private func start(_ world: World) {
        let log = MemoryWorkLog(
            world.engine, owner: owner, link: SimulatedLink(route: engineRoute), clock: clock)
        let environment = FleetEnvironment(
            clock: clock, random: { world.scheduler.fraction() },
            note: { [owner] note in
                world.oracle.count(note.kind)
                world.oracle.note { "\(owner): \(note)" }
            })
        let processor = SimulatedProcessor(
            member: self, gateway: world.gateway, oracle: world.oracle, scheduler: world.scheduler,
            world: world)
        let feed = SimulatedFeed(gateway: world.gateway, route: gatewayRoute, clock: clock, oracle: world.oracle)
        let member = FleetMember(
            log: world.wrap(log, world.engine), feed: feed,
            task: SimulatedTask(
                member: self, gateway: world.gateway, oracle: world.oracle, scheduler: world.scheduler, world: world),
            processor: processor, settings: world.settings, environment: environment)
        self.member = member
        task = Task(executorPreference: executor) { [self] in
            do {
                try await member.run()
            } catch let error as WorkLogError {
                world.oracle.reportViolation("\(owner) ends with \(error)")
            } catch {}
            isAlive = false
            hasEnded = true
        }
    }

    /// Like SIGKILL. Its jobs run to their end, but reach no server.
    func crash() {
        guard isAlive else { return }
        oracle.note { [owner] in "\(owner) is killed" }
        oracle.count("killed")
        isAlive = false
        for route in [engineRoute, gatewayRoute, receiverRoute] { route.isClosed = true }
        executor.isStopped = false
        task?.cancel()
    }

    /// A clean stop.
    func stop() {
        oracle.note { [owner] in "\(owner) is asked to stop" }
        member?.stop()
    }

    func endTrouble() {
        executor.isStopped = false
        for route in [engineRoute, gatewayRoute, receiverRoute] {
            (route.losesRequests, route.losesAnswers, route.isSlow) = (false, false, false)
        }
    }

    var partitions: [Int] { member?.worker.partitions ?? [] }
}

extension FleetNote {
    var kind: String {
        switch self {
        case .gained(_, let takeovers): takeovers > 0 ? "taken over" : "gained"
        case .released: "released"
        case .lost: "lost"
        case .fenced: "fenced"
        case .unknownCommit: "unknown commit"
        case .unavailable: "unavailable"
        case .appended: "appended"
        case .committed: "committed"
        case .backlogFull: "backlog full"
        }
    }
}
