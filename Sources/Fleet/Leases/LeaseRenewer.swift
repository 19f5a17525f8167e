package import Locking

/// Renews the leases of a member, and knows which of them are still valid.
///
/// Renews every third of the lease's duration, in a separate task and preferably on a separate connection, so that no
/// other call delays it. If the engine does not answer, the tenures expire.
package final class LeaseRenewer: Sendable {
    /// A renewal that was answered, and when it was sent.
    package struct Answer: Sendable {
        package let sentAt: Duration
        package let renewal: Renewal
    }

    private struct State {
        var tenures: [LeaseName: Tenure] = [:]
        var latest: Answer?
    }

    private let log: any WorkLog
    private let settings: FleetSettings
    private let environment: FleetEnvironment
    private let state = Locked(State())
    /// Raised after each answered renewal.
    package let renewed = Signal()

    package init(log: any WorkLog, settings: FleetSettings, environment: FleetEnvironment) {
        (self.log, self.settings, self.environment) = (log, settings, environment)
    }

    /// Renews until it is cancelled.
    ///
    /// - Throws: ``WorkLogError`` `.refused`, `CancellationError`.
    package func run() async throws {
        var backoff = Backoff(settings, environment)
        while true {
            let sentAt = environment.clock.now
            var next = sentAt + log.leaseTime / 3
            do throws(WorkLogError) {
                evaluate(try await log.renew(), sentAt: sentAt)
                backoff.reset()
            } catch .refused(let reason) {
                throw WorkLogError.refused(reason)
            } catch {
                next = min(environment.clock.now + backoff.next(error), next)
            }
            try await environment.clock.sleep(until: next)
        }
    }

    /// The latest answer. Nil before the first.
    package var latest: Answer? { state.withLock(\.latest) }

    /// Whether the last answered renewal is recent enough for this member to cause effects.
    package var isTrusted: Bool {
        latest.map { environment.clock.now < deadline($0.sentAt) } ?? false || InjectedFleetFault.ignoredLease.isActive
    }

    /// Registers a lease that was granted.
    ///
    /// - Parameters:
    ///   - sentAt: When the call that was granted the lease was sent.
    ///   - changed: Raised when the tenure is prolonged or revoked.
    package func grant(_ lease: Lease, sentAt: Duration, changed: Signal? = nil) -> Tenure {
        let tenure = Tenure(lease, until: deadline(sentAt), clock: environment.clock, changed: changed)
        state.withLock { $0.tenures.updateValue(tenure, forKey: lease.name) }?.revoke()
        return tenure
    }

    /// Revokes a tenure. Call this before the lease is released, not after.
    package func drop(_ tenure: Tenure) {
        tenure.revoke()
        state.withLock { state in
            if state.tenures[tenure.lease.name] === tenure { state.tenures[tenure.lease.name] = nil }
        }
    }

    private func deadline(_ sentAt: Duration) -> Duration { sentAt + log.leaseTime - settings.margin }

    private func evaluate(_ renewal: Renewal, sentAt: Duration) {
        let leases = Set(renewal.leases)
        let (kept, lost) = state.withLock { state in
            state.latest = Answer(sentAt: sentAt, renewal: renewal)
            let tenures = state.tenures.values.sorted { "\($0.lease.name)" < "\($1.lease.name)" }
            let kept = tenures.filter { leases.contains($0.lease) }
            // Leases granted while the renewal was under way are left out: the engine may have answered before the
            // grant.
            let lost = tenures.filter { !leases.contains($0.lease) && $0.grantedAt < sentAt }
            for tenure in lost { state.tenures[tenure.lease.name] = nil }
            return (kept, lost)
        }
        for tenure in kept { tenure.extend(until: deadline(sentAt)) }
        for tenure in lost {
            tenure.revoke()
            environment.note(.lost(tenure.lease.name))
        }
        renewed.raise()
    }
}
