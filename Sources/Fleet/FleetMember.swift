internal import Locking

/// One process of a fleet. It renews its leases, leads if no other member does, and works on its share of the
/// partitions.
package final class FleetMember: Sendable {
    /// What a member may do.
    package enum Role: String, Sendable, CaseIterable {
        case auto, reader, worker
    }

    private let log: any WorkLog
    private let environment: FleetEnvironment
    private let role: Role
    private let renewer: LeaseRenewer
    private let leader: FleetLeader
    /// Knows which partitions this member works on.
    package let worker: FleetWorker
    private let stopped = Signal()
    private let beforeLeaving = Locked<@Sendable () async -> Void>({})

    /// - Parameter log: Must know the same role: a reader gets no share of the partitions.
    package init(
        log: any WorkLog, feed: any LeaderFeed, task: (any LeaderTask)? = nil, processor: any Processor,
        role: Role = .auto,
        settings: FleetSettings = FleetSettings(), environment: FleetEnvironment = FleetEnvironment()
    ) {
        (self.log, self.environment, self.role) = (log, environment, role)
        renewer = LeaseRenewer(log: log, settings: settings, environment: environment)
        leader = FleetLeader(
            log: log, feed: feed, task: task, renewer: renewer, settings: settings, environment: environment)
        worker = FleetWorker(
            log: log, processor: processor, renewer: renewer, settings: settings, environment: environment)
    }

    /// Whether this member may cause effects now: its lease was renewed recently enough.
    package var mayAct: Bool { renewer.isTrusted }

    /// Sets what is called after the work has stopped and before this process leaves the fleet.
    package func setBeforeLeaving(_ body: @escaping @Sendable () async -> Void) { beforeLeaving.withLock { $0 = body } }

    /// Finishes the changes under way, releases all leases, and lets ``run()`` return.
    package func stop() {
        worker.stop()
        stopped.raise()
    }

    /// Works until ``stop()``. Cancelling ends it at once and releases nothing: the leases expire.
    ///
    /// - Throws: ``WorkLogError`` `.refused`, `CancellationError`.
    package func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.renewer.run() }
            if role != .worker { group.addTask { try await self.leadUntilStopped() } }
            if role != .reader { group.addTask { try await self.worker.run() } }
            // The renewals end only with an error, the other tasks when they are stopped.
            for _ in 0..<(role == .auto ? 2 : 1) { try await group.next() }
            group.cancelAll()
        }
        await beforeLeaving.withLock { $0 }()
        // If the engine does not answer, the membership expires.
        do { try await log.leave() } catch {}
    }

    private func leadUntilStopped() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.leader.run() }
            group.addTask { try await self.stopped.wait() }
            try await group.next()
            group.cancelAll()
        }
    }
}
