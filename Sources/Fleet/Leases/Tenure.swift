package import Locking

/// How long this process may rely on a lease: until shortly before it can expire in the engine.
///
/// The deadline is the time at which the last successful renewal was *sent*, plus the lease's duration, minus a margin.
/// It needs no further answer, so a process that was paused knows at once that its tenure is over. Past the deadline no
/// effect may start: check right before each effect, without awaiting anything in between.
package final class Tenure: Sendable {
    private struct State {
        var deadline: Duration
        var isRevoked = false
    }

    package let lease: Lease
    /// When this process learned of the grant.
    let grantedAt: Duration
    private let clock: any FleetClock
    private let state: Locked<State>
    /// Raised when the tenure is prolonged or revoked.
    private let changed: Signal?

    /// - Parameters:
    ///   - deadline: By `clock`.
    ///   - changed: Raised when the tenure is prolonged or revoked.
    package init(_ lease: Lease, until deadline: Duration, clock: any FleetClock, changed: Signal? = nil) {
        self.lease = lease
        self.clock = clock
        self.changed = changed
        grantedAt = clock.now
        state = Locked(State(deadline: deadline))
    }

    /// Whether an effect may start now.
    package var isValid: Bool { isValid(at: clock.now) }

    /// Whether an effect may start at `time`.
    package func isValid(at time: Duration) -> Bool {
        state.withLock { !$0.isRevoked && time < $0.deadline } || InjectedFleetFault.ignoredLease.isActive
    }

    /// Whether the lease is known to be lost or was released. Stays true.
    package var isRevoked: Bool { state.withLock(\.isRevoked) }

    /// Until when effects may start, by this process's clock.
    package var deadline: Duration { state.withLock(\.deadline) }

    /// Moves the deadline forward; never back.
    func extend(until deadline: Duration) {
        state.withLock { $0.deadline = max($0.deadline, deadline) }
        changed?.raise()
    }

    /// Ends the tenure at once.
    func revoke() {
        state.withLock { $0.isRevoked = true }
        changed?.raise()
    }
}
