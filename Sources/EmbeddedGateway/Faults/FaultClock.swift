internal import Logging
internal import NIOConcurrencyHelpers

/// Runs the faults that are due at fixed times instead of at a request: resets and offline periods.
final class FaultClock: Sendable {
    private let router: Router
    private let task = NIOLockedValueBox<Task<Void, Never>?>(nil)

    init(_ router: Router) { self.router = router }

    /// Starts over with the current plan.
    func restart() {
        let scheduledFaults = router.faults.scheduledFaults
        task.withLockedValue { task in
            task?.cancel()
            task = scheduledFaults.isEmpty ? nil : Task { await self.keep(scheduledFaults) }
        }
    }

    /// Stops, and waits for a running fault to finish.
    func stop() async {
        let running = task.withLockedValue { task in
            task?.cancel()
            defer { task = nil }
            return task
        }
        await running?.value
    }

    private func keep(_ scheduledFaults: [FaultInjection.ScheduledFault]) async {
        for scheduledFault in scheduledFaults {
            do {
                try await Task.sleep(until: scheduledFault.time, clock: .continuous)
                guard router.faults.countDone(scheduledFault) else { continue }
                try await router.changeDatabase(scheduledFault.action)
            } catch is CancellationError {
                return
            } catch {
                router.logger.error("the database was not changed", metadata: ["error": "\(error)"])
            }
        }
    }
}
