internal import BotState
internal import Locking
internal import Logging
internal import PostgreSQL
internal import ServiceLifecycle

extension Standby {
    /// Runs `turn` until it ends, or until this member is drained; then it finishes the work under way.
    ///
    /// - Returns: True if the member was drained and the process continues; false if the process ends.
    /// - Throws: What `turn` throws.
    func runUntilDrained(_ work: @escaping @Sendable () async throws -> Void) async throws -> Bool {
        var quiet = logger
        quiet.logLevel = max(quiet.logLevel, .warning)
        // A separate group: it can be stopped without the process, and stops when the process does.
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: ActiveWork(body: work), successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup)
                ], gracefulShutdownSignals: [], logger: quiet))
        let isDrained = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                try await self.waitUntilDrained()
                isDrained.withLock { $0 = true }
                self.logger.notice("drained: finishing the current work")
                await group.triggerGracefulShutdown()
            }
            defer { tasks.cancelAll() }
            try await group.run()
        }
        return isDrained.withLock { $0 } && !Task.isShuttingDownGracefully
    }

    /// Three times per lease, renews this member's entry in the engine and asks whether it is drained.
    ///
    /// - Throws: `CancellationError`.
    private func waitUntilDrained() async throws {
        var isFirst = true
        while true {
            do {
                let isDrained = try await isDrained(renewsEntry: isFirst || sharing != nil)
                isFirst = false
                if isDrained { return }
                try await Task.sleep(for: engine.lease / 3)
            } catch {
                try Task.checkCancellation()
                // Lease renewals detect an unavailable engine. At first, the tables may still be missing.
                try await Task.sleep(for: isFirst ? .milliseconds(200) : engine.lease / 3)
            }
        }
    }

    /// - Parameter renewsEntry: Whether to renew this member's entry. The active member of a fleet that does not share
    ///   the work needs that only once: after that, its lease shows that it is alive.
    private func isDrained(renewsEntry: Bool) async throws -> Bool {
        try await queue.perform { [engine, ruleSetHash, role] connection in
            if renewsEntry { try EngineMember.renew(engine, ruleSetHash: ruleSetHash, role: role, connection) }
            try engine.counters.store(connection)
            return try EngineMember.isDrained(engine, connection)
        }
    }
}

private struct ActiveWork: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await body() }
}
