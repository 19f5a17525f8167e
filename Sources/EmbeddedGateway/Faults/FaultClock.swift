internal import Logging
internal import NIOConcurrencyHelpers

/// Runs the faults that are due at fixed times and not at a request: resets and offline periods.
final class FaultClock: Sendable {
    private let router: Router
    private let task = NIOLockedValueBox<Task<Void, Never>?>(nil)

    init(_ router: Router) { self.router = router }

    /// Starts over with the current plan.
    func restart() {
        let appointments = router.faults.appointments
        task.withLockedValue { task in
            task?.cancel()
            task = appointments.isEmpty ? nil : Task { await self.keep(appointments) }
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

    private func keep(_ appointments: [FaultInjection.Appointment]) async {
        for appointment in appointments {
            do {
                try await Task.sleep(until: appointment.time, clock: .continuous)
                guard router.faults.countDone(appointment) else { continue }
                try await router.changeDatabase(appointment.action)
            } catch is CancellationError {
                return
            } catch {
                router.logger.error("the database was not changed", metadata: ["error": "\(error)"])
            }
        }
    }
}
