internal import BotState
internal import Locking
internal import Logging
internal import PostgreSQL
internal import ServiceLifecycle

extension Standby {
    /// Runs `turn` until it ends, or until this member is drained: then it finishes what is under way.
    ///
    /// - Returns: True if it was drained, and the process goes on; false if it ends.
    /// - Throws: What `turn` throws.
    func whileNotDrained(_ turn: @escaping @Sendable () async throws -> Void) async throws -> Bool {
        var quiet = logger
        quiet.logLevel = max(quiet.logLevel, .warning)
        // A group of its own: it can be stopped without the process, and is stopped with it.
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: Turn(body: turn), successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup)
                ], gracefulShutdownSignals: [], logger: quiet))
        let isDrained = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                try await self.untilDrained()
                isDrained.withLock { $0 = true }
                self.logger.notice("drained: finishing the work under way")
                await group.triggerGracefulShutdown()
            }
            defer { tasks.cancelAll() }
            try await group.run()
        }
        return isDrained.withLock { $0 } && !Task.isShuttingDownGracefully
    }

    /// Three times in a lease, tells the others that this member is there, and asks whether it is drained.
    ///
    /// - Throws: `CancellationError`.
    private func untilDrained() async throws {
        var isFirst = true
        while true {
            do {
                let isDrained = try await isDrained(tellsOthers: isFirst || sharing != nil)
                isFirst = false
                if isDrained { return }
                try await Task.sleep(for: engine.lease / 3)
            } catch {
                try Task.checkCancellation()
                // Renewals find out whether the engine answers. The first member has to create the tables.
                try await Task.sleep(for: isFirst ? .milliseconds(200) : engine.lease / 3)
            }
        }
    }

    /// - Parameter tellsOthers: Not needed again by who runs alone: its lease does it.
    private func isDrained(tellsOthers: Bool) async throws -> Bool {
        try await queue.perform { [engine, ruleSetHash, role] connection in
            if tellsOthers { try EngineMember.renew(engine, ruleSetHash: ruleSetHash, role: role, connection) }
            try engine.tally.store(connection)
            return try EngineMember.isDrained(engine, connection)
        }
    }
}

private struct Turn: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await body() }
}
