internal import DocumentFlow
internal import GatewayClient
internal import Rules

// Documents with conflicting leaf revisions: they are resolved before anything else is done to them.
extension BulkWriter {
    /// Takes out candidates whose leaves would be too much at once: all are held in memory, and each is taken to be as
    /// large as the winner.
    func takeLargeConflicts(from open: inout [Candidate]) -> [Candidate] {
        guard shared.conflicts != nil else { return [] }
        var bytes = 0
        var later: [Candidate] = []
        open.removeAll { candidate in
            guard candidate.mayBeInConflict else { return false }
            let size = candidate.byteCount * (candidate.leaves?.count ?? 2)
            guard bytes == 0 || bytes + size <= limits.bytes else {
                later.append(candidate)
                return true
            }
            bytes += size
            return false
        }
        return later
    }

    /// Reads the other leaves of candidates that may have some.
    ///
    /// - Returns: The candidates, those in conflict with their leaves. Those whose leaves can't be read are dead-lettered.
    func withConflicts(_ candidates: [Candidate]) async throws -> [Candidate] {
        guard let resolver = shared.conflicts else { return candidates }
        let listed = candidates.filter(\.mayBeInConflict).map { ListedLeaves(id: $0.id, revisions: $0.leaves) }
        guard !listed.isEmpty else { return candidates }
        let found = try await resolver.conflicts(among: listed)
        var settled = Settlement()
        var rest: [Candidate] = []
        for var candidate in candidates {
            switch candidate.mayBeInConflict ? found[candidate.id] : nil {
            case .conflict(let conflict)?:
                candidate.conflict = conflict
                candidate.unresolved = nil
                rest.append(candidate)
            case .unreadable(let reason)?:
                settled.deadLetter(candidate, candidate.deadLetter(reason: "a leaf revision can't be read: \(reason)"))
            case nil:
                candidate.leaves = []
                rest.append(candidate)
            }
        }
        try await finish(settled)
        return rest
    }

    /// Carries out the plans that resolve conflicts, and settles their candidates.
    ///
    /// - Parameter again: Receives candidates that were not in conflict after all.
    /// - Returns: The other plans.
    func resolveConflicts(_ plans: [Planner.Plan], _ again: inout [Candidate]) async throws -> [Planner.Plan] {
        let documents = plans.compactMap { plan -> ConflictingDocument? in
            guard let effect = plan.decision.resolution, let conflict = plan.candidate.conflict else { return nil }
            return ConflictingDocument(id: plan.candidate.id, conflict: conflict, policies: effect.policies)
        }
        guard !documents.isEmpty, let resolver = shared.conflicts else { return plans }
        let resolved = try await resolver.resolve(documents)
        CrashPoint.written.pass()
        await progress.count { [sent = resolved.counters] in $0.addSent(sent) }
        var settled = Settlement()
        for plan in plans where plan.decision.resolution != nil {
            var candidate = plan.candidate
            switch resolved.outcomes[candidate.id] ?? .none {
            case .resolved: settled.end(candidate, isWrite: true)
            case .left(let reason):
                let reason = "left in conflict: \(reason)"
                if let rule = plan.decision.resolution?.rule, shared.ruleSet.skipsErrors(of: rule) {
                    candidate.unresolved = Candidate.SkippedRule(rule: shared.ruleSet.names[rule], reason: reason)
                    again.append(candidate.withoutConflict)
                } else {
                    settled.deadLetter(candidate, candidate.deadLetter(reason: reason))
                }
            case .none: again.append(candidate.withoutConflict)
            }
        }
        await decideAgain(settled.decided.map(\.id))
        try await finish(settled)
        return plans.filter { $0.decision.resolution == nil }
    }
}

extension Candidate {
    /// To be decided by the rules without `resolve`.
    fileprivate var withoutConflict: Candidate {
        var candidate = self
        candidate.leaves = []
        candidate.conflict = nil
        candidate.isCounted = false
        return candidate
    }
}
