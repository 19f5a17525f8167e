internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON

/// What became of the writes of another document so far, which decides what the next failure means.
struct WriteHistory: Sendable {
    /// Writes that the gateway neither accepted nor refused.
    var attempts = 0
    /// Consecutive conflicts: any other outcome ends them.
    var conflicts = 0
    /// Conflicts although the document still has the revision that was written on.
    private(set) var unexplainedConflicts = 0
    private var readRevision: RevisionID??

    /// Records the current revision of the document.
    mutating func note(_ lookup: DocumentLookup) {
        var revision: RevisionID?
        if case .found(let found, _) = lookup { revision = found }
        if let readRevision, readRevision == revision {
            // Only a conflict is one: another outcome says nothing about the revision.
            if conflicts > 0 { unexplainedConflicts += 1 }
        } else {
            unexplainedConflicts = 0
        }
        readRevision = .some(revision)
    }

    /// What the answer to a write means for the document.
    enum Advice: Equatable {
        case written(RevisionID)
        /// Several want something of it, and one of these is refused: write for one after the other.
        case splitUp
        /// Read it, and write it if that is still needed.
        case again
        /// The orders of the write are impossible.
        case failed(reason: String)
        /// Others write it all the time: leave it alone for a while.
        case postponed
    }

    /// - Parameter orders: How many orders the write was for.
    mutating func record(_ outcome: BulkOutcome, orders: Int, attemptLimit: Int) -> Advice {
        conflicts = outcome == .conflict ? conflicts + 1 : 0
        switch outcome {
        case .written(let revision): return .written(revision)
        case .rejected where orders > 1: return .splitUp
        case .rejected: return .failed(reason: outcome.explanation)
        case .undecided: return .again
        case .conflict: return retry(outcome, unexplainedConflicts, attemptLimit)
        case .unmentioned, .failed:
            attempts += 1
            return retry(outcome, attempts, attemptLimit)
        }
    }

    private func retry(_ outcome: BulkOutcome, _ tries: Int, _ limit: Int) -> Advice {
        if tries >= limit { return .failed(reason: "not accepted \(tries.counted("time")): \(outcome.explanation)") }
        return conflicts >= AttemptLimits.conflicts && unexplainedConflicts == 0 ? .postponed : .again
    }
}

extension DocumentLookup {
    /// The revision of a document that is there; nil for others.
    var revision: RevisionID? { if case .found(let revision, _) = self { revision } else { nil } }

    /// The revision of the document, if it has this content.
    func revision(ofContent document: JSONText) -> RevisionID? {
        guard case .found(let revision, let found) = self else { return nil }
        return ContentFingerprint(found.root) == ContentFingerprint(document.root) ? revision : nil
    }
}
