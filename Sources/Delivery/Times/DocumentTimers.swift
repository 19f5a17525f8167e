package import BotState
internal import GatewayClient
package import Locking
internal import Rules

/// The timers of a bot: which documents have rules that wait for a time, or that have fired for one.
///
/// The ledger stores them; this is the run's view of them. The run and its passes over all documents share one.
package final class DocumentTimers: Sendable {
    private struct State {
        /// Documents with timers. They are not removed before the end of the run.
        var documents = BloomFilter()
        /// When the task that fires timers wakes up for a timer. Nil: not for a timer.
        var wakesAt: Int?
    }

    /// The ledger of the run.
    package let ledger: Ledger
    /// Whether this belongs to the run that owns the ledger, with all its rules.
    private let belongsToRun: Bool
    /// The rules whose times this run knows, if there may be timers of others, which are left unchanged: those of other
    /// members that share the work, or of paused rules. Nil: all timers belong to this run.
    private let knownRules: Set<String>?
    /// Whether other processes share the work and the ledger. Then any document may have timers.
    private let isShared: Bool
    private let state = Locked(State())
    /// Raised to wake the task that fires timers.
    package let changed = Signal("a changed timer")

    /// - Parameters:
    ///   - rules: The names of the run's rules with `at:`. Deletes the times of all others, unless the state is shared.
    ///     Nil: for a command that works next to the run, perhaps with other rules; it only adds times.
    ///   - paused: Those of them that do not fire.
    /// - Throws: ``StateError``.
    package init(_ ledger: Ledger, rules: [String]?, paused: Set<String> = []) async throws {
        self.ledger = ledger
        belongsToRun = rules != nil
        isShared = ledger.isShared && rules != nil
        knownRules = isShared || !paused.isEmpty ? rules.map { Set($0).subtracting(paused) } : nil
        guard !isShared else { return }
        if let rules { try await ledger.keepTimers(ofRules: rules) }
        try ledger.forEachTimedDocument { id in state.withLock { $0.documents.insert(id.hashValue) } }
    }

    /// - Parameter id: Evaluated only if any document has timers.
    func mayContain(_ id: @autoclosure () -> DocumentID) -> Bool {
        if isShared { return true }
        guard state.withLock({ !$0.documents.isEmpty }) else { return false }
        let hash = id().hashValue
        return state.withLock { $0.documents.mayContain(hash) }
    }

    /// The changes of timers that result from decisions. Record them at once: later changes already find these
    /// documents.
    ///
    /// - Parameter isWhole: Whether all rules of the run and the newest revision were decided; otherwise times are only
    ///   added.
    func changes(_ decided: [CandidateOutcomes.Ended], isWhole: Bool) -> TimeChanges {
        let isWhole = isWhole && belongsToRun
        let documents = decided.compactMap { ended in
            ended.result.times.flatMap { times in
                needsRecord(ended, times, isWhole) ? TimedDocument(id: ended.candidate.id, times: times) : nil
            }
        }
        if !documents.isEmpty {
            state.withLock { state in
                for document in documents where !document.times.isEmpty {
                    state.documents.insert(document.id.hashValue)
                }
            }
        }
        return TimeChanges(documents: documents, kind: isWhole ? .replaced(ofRules: knownRules) : .added)
    }

    /// Wakes the task that fires timers if one of these is due earlier.
    func noteRecorded(_ changes: TimeChanges) {
        let first = changes.documents.lazy.flatMap(\.times).filter { !$0.hasFired }.map(\.due).min()
        guard let first, state.withLock({ first < $0.wakesAt ?? .max }) else { return }
        changed.raise()
    }

    private func needsRecord(_ ended: CandidateOutcomes.Ended, _ times: [RuleTime], _ isWhole: Bool) -> Bool {
        guard isWhole else { return !times.isEmpty }
        if let earlier = ended.earlierTimes {
            return Set(earlier.filter { knownRules?.contains($0.rule) ?? true }) != Set(times)
        }
        return !times.isEmpty || mayContain(ended.candidate.id)
    }

    // MARK: - Firing

    /// When the next timer is due.
    package func next(after now: Int) async throws(StateError) -> Int? {
        // Set first, so that a timer that is added from now on wakes the waiting task.
        state.withLock { $0.wakesAt = nil }
        let next = try await ledger.nextTimer(after: now)
        state.withLock { $0.wakesAt = next }
        return next
    }

    /// Wakes the task that fires timers, because another process may have changed the ledger.
    package func recheck() { changed.raise() }
}
