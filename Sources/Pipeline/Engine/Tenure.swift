internal import Locking

/// How long this process may act for its fleet.
///
/// Its clock is its own, and it counts from the moment at which the last good renewal was *sent*, less a margin: when
/// another member can take over, this one has stopped, even if it stood still meanwhile.
package final class Tenure: Sendable {
    private enum State {
        case valid(until: ContinuousClock.Instant)
        case lost(String)
    }

    private let state: Monitor<State>

    /// Renewed at `sent`, by `lease` less `margin`.
    init(sent: ContinuousClock.Instant, lease: Duration) {
        state = Monitor(.valid(until: Self.end(sent, lease)))
    }

    /// Before the lease is over for others, nothing may be begun for so long: a request takes its time.
    static let margin: Duration = .seconds(1)

    private static func end(_ sent: ContinuousClock.Instant, _ lease: Duration) -> ContinuousClock.Instant {
        sent + max(lease - margin, lease / 2)
    }

    func renew(sent: ContinuousClock.Instant, lease: Duration) {
        state.quietly { state in
            if case .valid = state { state = .valid(until: Self.end(sent, lease)) }
        }
    }

    /// It does not come back.
    func lose(_ reason: String) {
        state.with { state in
            if case .valid = state { state = .lost(reason) }
        }
    }

    /// When it ends, unless it is renewed; nil if it has been lost.
    var end: ContinuousClock.Instant? {
        state.quietly { if case .valid(let end) = $0 { end } else { nil } }
    }

    /// Must be asked before anything is done that others would notice.
    ///
    /// - Throws: ``StateError/fenced(_:)``.
    package func require(now: ContinuousClock.Instant = .now) throws(StateError) {
        switch state.quietly({ $0 }) {
        case .lost(let reason): throw .fenced(reason)
        case .valid(let end) where now >= end:
            throw .fenced("the lease was not renewed in time")
        case .valid: return
        }
    }

    /// Returns when it is lost.
    ///
    /// - Throws: ``StateError/fenced(_:)``, or `CancellationError`.
    func untilLost() async throws {
        await state.wait { if case .lost = $0 { true } else { false } }
        try Task.checkCancellation()
        try require(now: .now)
    }
}
