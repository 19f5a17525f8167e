internal import HTTPServing
internal import NIOConcurrencyHelpers

/// The current fault plan of a gateway, and its progress.
final class FaultInjection: Sendable {
    /// A fault that is due at a fixed time.
    struct ScheduledFault: Sendable {
        /// The fault's position in its plan.
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

    /// Starts another plan (nil: none). Counts are reset, and the database is online.
    func follow(_ plan: FaultPlan?) {
        let plan = plan ?? FaultPlan()
        state.withLockedValue { state in
            state = State(plan: plan, progress: plan.faults.map { _ in FaultProgress() })
        }
    }

    /// How often each fault has occurred, by its name.
    var counts: [String: Int] {
        state.withLockedValue { state in
            Dictionary(uniqueKeysWithValues: zip(state.plan.faults.map(\.name), state.progress.map(\.done)))
        }
    }

    /// Counts a request and returns the faults that are due for it. Nil if there are none.
    func dueFaults(for request: Request, _ path: [String]) -> DueFaults? {
        state.withLockedValue { state in
            guard !state.plan.faults.isEmpty else { return nil }
            let now = ContinuousClock.now
            let due = Self.due(for: request, RequestKind(path), at: now, &state)
            if let until = state.offlineUntil, until <= now { state.offlineUntil = nil }
            return due.isEmpty && state.offlineUntil == nil ? nil : DueFaults(due: due)
        }
    }

    private static func due(
        for request: Request, _ kind: RequestKind, at now: ContinuousClock.Instant, _ state: inout State
    ) -> [DueFault] {
        var due: [DueFault] = []
        for (place, fault) in state.plan.faults.enumerated()
        where fault.scheduledAfter == nil && fault.requests.includes(request, kind) {
            var random = SeededNumbers(seed: state.plan.seed, fault: place, request: state.progress[place].matched)
            let draw = random.share()
            guard state.progress[place].countRequest(fault.timing, elapsed: now - state.began, draw: draw) else {
                continue
            }
            due.append(DueFault(action: fault.action, random: random))
        }
        return due
    }

    /// The faults that are due at fixed times, the earliest first.
    var scheduledFaults: [ScheduledFault] {
        state.withLockedValue { state in
            state.plan.faults.enumerated().compactMap { place, fault in
                fault.scheduledAfter.map {
                    ScheduledFault(place: place, time: state.began.advanced(by: $0), action: fault.action)
                }
            }.sorted { $0.time < $1.time }
        }
    }

    /// Counts the fault as done. Returns false if another plan has replaced it.
    func countDone(_ scheduledFault: ScheduledFault) -> Bool {
        state.withLockedValue { state in
            guard state.plan.faults.indices.contains(scheduledFault.place),
                let delay = state.plan.faults[scheduledFault.place].scheduledAfter,
                state.began.advanced(by: delay) == scheduledFault.time
            else { return false }
            return state.progress[scheduledFault.place].countDone(state.plan.faults[scheduledFault.place].timing)
        }
    }

    /// Takes the database offline for this time.
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
