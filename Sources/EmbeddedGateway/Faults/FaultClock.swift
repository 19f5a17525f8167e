internal import Logging
internal import NIOConcurrencyHelpers

/// Does what is due at a time and not at a request: the reset of a database, and its being offline.
final class FaultClock: Sendable {
    private let router: Router
    private let task = NIOLockedValueBox<Task<Void, Never>?>(nil)

    init(_ router: Router) { self.router = router }

    /// Begins anew with the plan that is followed now.
    func restart() {
        let appointments = router.faults.appointments
        task.withLockedValue { task in
            task?.cancel()
            task = appointments.isEmpty ? nil : Task { await self.keep(appointments) }
        }
    }

    /// Waits until nothing is under way.
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
