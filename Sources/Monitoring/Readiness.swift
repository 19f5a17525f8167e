package import DocumentFlow
internal import GatewayClient

/// Decides whether a bot is ready, that is, does its work.
package struct Readiness: Sendable {
    /// How long the gateway may be unreachable, and how long the feed may make no progress.
    package static let tolerance: Duration = .seconds(60)

    /// When the run last finished something or had nothing to do.
    private var progressedAt: ContinuousClock.Instant
    private var mark = Mark()

    /// The counts that change when a run makes progress.
    private struct Mark: Equatable {
        var changes = 0
        var settled = 0
        var position: String?
        var safe: String?
    }

    /// - Parameter now: When the run began.
    package init(now: ContinuousClock.Instant) { progressedAt = now }

    /// Call at least every few seconds while changes are pending.
    package mutating func note(_ facts: RunFacts, now: ContinuousClock.Instant) {
        let counters = facts.counters
        let mark = Mark(
            changes: counters.changes, settled: counters.written + counters.unchanged + counters.deadLetters,
            position: facts.position?.description, safe: facts.safeSequence?.description)
        // While the gateway is unavailable, nothing can move.
        if mark != self.mark || facts.behindSince == nil || facts.outage != nil { progressedAt = now }
        self.mark = mark
    }

    /// Why the bot is not ready, for the user; nil if it is.
    package func unreadyReason(_ facts: RunFacts, now: ContinuousClock.Instant) -> String? {
        if let outage = facts.outage {
            let span = outage.began.duration(to: now)
            if span >= Self.tolerance || facts.phase == .connecting {
                return "the gateway has been unreachable for \(Self.seconds(span)): \(outage.reason)"
            }
        }
        switch facts.phase {
        case .connecting: return "not connected yet"
        case .stopping: return "stopping"
        case .onStandby, .drained: return nil
        case .catchingUp, .following: break
        }
        let span = progressedAt.duration(to: now)
        guard facts.outage == nil, facts.behindSince != nil, span >= Self.tolerance else { return nil }
        let origins = Set(facts.receivers.map(\.receiver.origin)).sorted().joined(separator: ", ")
        return origins.isEmpty
            ? "no progress for \(Self.seconds(span)), although changes are pending"
            : "no progress for \(Self.seconds(span)): changes wait for \(origins), which are unavailable"
    }

    private static func seconds(_ span: Duration) -> String { "\(span.components.seconds) s" }
}
