internal import NIOConcurrencyHelpers

/// The plan that a gateway follows now, and how far it has come.
final class FaultInjection: Sendable {
    /// Something that is due at a time.
    struct Appointment: Sendable {
        /// Of the fault in its plan.
        let place: Int
        let time: ContinuousClock.Instant
        let action: FaultAction
    }

    private struct State {
        var plan = FaultPlan()
        var progress: [FaultProgress] = []
        var began = ContinuousClock.now
        var offlineUntil: ContinuousClock.Instant?
    }

    private let state: NIOLockedValueBox<State>

    init(_ plan: FaultPlan? = nil) {
        state = NIOLockedValueBox(State())
        follow(plan)
    }

    /// Begins with another plan, or none. What was counted is forgotten, and the database is online.
    func follow(_ plan: FaultPlan?) {
        let plan = plan ?? FaultPlan()
        state.withLockedValue { state in
            state = State(plan: plan, progress: plan.faults.map { _ in FaultProgress() })
        }
    }

    /// How often each fault was done, by its name.
    var counts: [String: Int] {
        state.withLockedValue { state in
            Dictionary(uniqueKeysWithValues: zip(state.plan.faults.map(\.name), state.progress.map(\.done)))
        }
    }

    /// Counts a request, and tells what is due for it; nil if all goes well.
    func trouble(for request: Request, _ path: [String]) -> Trouble? {
        state.withLockedValue { state in
            guard !state.plan.faults.isEmpty else { return nil }
            let now = ContinuousClock.now
            let due = Self.due(for: request, RequestKind(path), at: now, &state)
            if let until = state.offlineUntil, until <= now { state.offlineUntil = nil }
            return due.isEmpty && state.offlineUntil == nil ? nil : Trouble(due: due)
        }
    }

    private static func due(
        for request: Request, _ kind: RequestKind, at now: ContinuousClock.Instant, _ state: inout State
    ) -> [DueFault] {
        var due: [DueFault] = []
        for (place, fault) in state.plan.faults.enumerated()
        where fault.appointedAfter == nil && fault.requests.includes(request, kind) {
            var random = SeededNumbers(seed: state.plan.seed, fault: place, request: state.progress[place].matched)
            let draw = random.share()
            guard state.progress[place].countRequest(fault.timing, elapsed: now - state.began, draw: draw) else {
                continue
            }
            due.append(DueFault(action: fault.action, random: random))
        }
        return due
    }

    /// What is due at a time, whether or not requests come; the earliest first.
    var appointments: [Appointment] {
        state.withLockedValue { state in
            state.plan.faults.enumerated().compactMap { place, fault in
                fault.appointedAfter.map {
                    Appointment(place: place, time: state.began.advanced(by: $0), action: fault.action)
                }
            }.sorted { $0.time < $1.time }
        }
    }

    /// Returns false if another plan is followed by now.
    func countDone(_ appointment: Appointment) -> Bool {
        state.withLockedValue { state in
            guard state.plan.faults.indices.contains(appointment.place),
                let delay = state.plan.faults[appointment.place].appointedAfter,
                state.began.advanced(by: delay) == appointment.time
            else { return false }
            return state.progress[appointment.place].countDone(state.plan.faults[appointment.place].timing)
        }
    }

    /// The database is offline for a time from now on.
    func goOffline(for time: Duration) {
        state.withLockedValue { $0.offlineUntil = .now.advanced(by: time) }
    }

    var isOffline: Bool { state.withLockedValue { $0.offlineUntil.map { $0 > .now } ?? false } }
}

/// A fault that is due for one request.
struct DueFault: Sendable {
    let action: FaultAction
    var random: SeededNumbers
}
