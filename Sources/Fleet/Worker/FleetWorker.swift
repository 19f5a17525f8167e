internal import Locking

/// Works on this member's partitions: claims free ones up to its share, and releases those beyond it.
///
/// There is no coordinator: every member computes its share from the number of live members.
package final class FleetWorker: Sendable {
    private let log: any WorkLog
    private let processor: any Processor
    private let renewer: LeaseRenewer
    private let settings: FleetSettings
    private let environment: FleetEnvironment
    private let loops = Locked<[Int: PartitionLoop]>([:])
    private let gate = IsolationGate()
    private let limit: WorkLimit
    private let isStopping = Locked(false)
    /// Raised when ``run()`` has something to do.
    private let wake: Signal

    package init(
        log: any WorkLog, processor: any Processor, renewer: LeaseRenewer, settings: FleetSettings,
        environment: FleetEnvironment
    ) {
        (self.log, self.processor, self.renewer) = (log, processor, renewer)
        (self.settings, self.environment) = (settings, environment)
        wake = renewer.renewed
        limit = WorkLimit(settings.work.inProgress, minBatch: settings.work.minBatch)
    }

    /// Finishes the changes under way, releases all partitions, and lets ``run()`` return.
    package func stop() {
        isStopping.withLock { $0 = true }
        wake.raise()
    }

    /// The partitions of this member, ascending.
    package var partitions: [Int] { loops.withLock { $0.keys.sorted() } }

    /// Works until ``stop()``. Cancelling ends it at once and releases nothing.
    ///
    /// - Throws: ``WorkLogError`` `.refused`, `CancellationError`.
    package func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { try await self.watch() }
            var evaluatedAt: Duration?
            while true {
                let all = current
                if isStopping.withLock({ $0 }) {
                    if all.isEmpty { break }
                    for loop in all { loop.drain() }
                } else if let answer = renewer.latest, answer.sentAt != evaluatedAt {
                    evaluatedAt = answer.sentAt
                    try await balance(answer, &group)
                }
                try await environment.clock.wait(for: wake, until: nil)
            }
            group.cancelAll()
        }
    }

    /// In the order of the partitions, so that a simulation is reproducible.
    private var current: [PartitionLoop] { loops.withLock { loops in loops.keys.sorted().compactMap { loops[$0] } } }

    /// Tells the loops of new changes in the log.
    private func watch() async throws {
        do { try await watchForWork() } catch is CancellationError {}
    }

    private func watchForWork() async throws {
        var backoff = Backoff(settings, environment)
        while !isStopping.withLock({ $0 }) {
            let readPositions = current.compactMap(\.readPosition)
            do {
                let pending =
                    readPositions.isEmpty ? [] : try await log.pendingWork(readPositions, within: settings.poll)
                backoff.reset()
                let told = loops.withLock { loops in
                    pending.compactMap { pending in loops[pending.partition].map { ($0, pending) } }
                }
                for (loop, pending) in told { loop.take(pending) }
                let pause = pending.isEmpty && !readPositions.isEmpty ? .zero : settings.poll / 10
                try await environment.clock.sleep(for: pause)
            } catch let error as WorkLogError {
                if case .refused = error { throw error }
                try await environment.clock.sleep(for: backoff.next(error))
            }
        }
    }

    // MARK: Shares

    private func balance(
        _ answer: LeaseRenewer.Answer, _ group: inout ThrowingDiscardingTaskGroup<any Error>
    ) async throws {
        let share = Partitioning.share(of: log.partitions, among: answer.renewal.workers)
        let all = current
        let working = all.filter { !$0.isDraining && !$0.tenure.isRevoked }
        // Leases without a loop: the answer to a grant was lost, or a loop was fenced.
        let unexpected = answer.renewal.leases.filter { lease in
            guard case .partition(let number) = lease.name else { return false }
            return !all.contains { $0.partition == number }
        }
        if working.count > share { giveBack(working.count - share, of: working) }
        let room = max(0, share - working.count)
        let strayPartitions = unexpected.compactMap(\.name.partition)
        if room > 0 {
            let here = Set(all.map(\.partition))
            var wanted = Set(strayPartitions + answer.renewal.free).subtracting(here)
            if InjectedFleetFault.unclaimedPartition.isActive { wanted.remove(0) }
            let preferred = Partitioning.rendezvous(wanted.sorted(), for: log.owner)
            try await claim(preferred, atMost: room, &group)
        }
        let held = Set(partitions)
        for lease in unexpected where !held.contains(lease.name.partition ?? -1) { await giveBack(lease) }
    }

    private func giveBack(_ count: Int, of working: [PartitionLoop]) {
        let preferred = Partitioning.rendezvous(working.map(\.partition), for: log.owner)
        let excess = Set(preferred.suffix(count))
        for loop in working where excess.contains(loop.partition) { loop.drain() }
    }

    private func giveBack(_ lease: Lease) async {
        // If this fails, the next renewal shows the lease again.
        do { try await log.release(lease) } catch {}
    }

    private func claim(
        _ partitions: [Int], atMost most: Int, _ group: inout ThrowingDiscardingTaskGroup<any Error>
    ) async throws {
        guard !partitions.isEmpty else { return }
        let sentAt = environment.clock.now
        let claims: [Claim]
        do throws(WorkLogError) {
            claims = try await log.claim(partitions, atMost: most)
        } catch .refused(let reason) {
            throw WorkLogError.refused(reason)
        } catch {
            // The next renewal shows which leases were granted.
            return
        }
        for claim in claims {
            environment.note(.gained(claim.lease.name, takeovers: claim.takeovers))
            let changed = Signal()
            let tenure = renewer.grant(claim.lease, sentAt: sentAt, changed: changed)
            let loop = PartitionLoop(
                claim, tenure, wake: changed, log: log, processor: processor, gate: gate, limit: limit,
                settings: settings, environment: environment)
            loops.withLock { $0[claim.partition] = loop }
            group.addTask {
                defer { self.remove(loop) }
                try await loop.run()
            }
        }
    }

    private func remove(_ loop: PartitionLoop) {
        renewer.drop(loop.tenure)
        loops.withLock { loops in
            if loops[loop.partition] === loop { loops[loop.partition] = nil }
        }
        if isStopping.withLock({ $0 }) { wake.raise() }
    }
}

extension LeaseName {
    /// Nil: the lease of the feed.
    var partition: Int? {
        guard case .partition(let number) = self else { return nil }
        return number
    }
}
