internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON

/// The results of another document's writes so far, which determine what the next failure means.
struct WriteHistory: Sendable {
    /// Writes that the gateway neither accepted nor refused.
    var attempts = 0
    /// Consecutive conflicts: any other outcome ends them.
    var conflicts = 0
    /// Conflicts although the document still has the revision that the write named.
    private(set) var unexplainedConflicts = 0
    private var readRevision: RevisionID??

    /// Records the current revision of the document.
    mutating func note(_ lookup: DocumentLookup) {
        var revision: RevisionID?
        if case .found(let found, _) = lookup { revision = found }
        if let readRevision, readRevision == revision {
            // Only a conflict counts: other results say nothing about the revision.
            if conflicts > 0 { unexplainedConflicts += 1 }
        } else {
            unexplainedConflicts = 0
        }
        readRevision = .some(revision)
    }

    /// What the answer to a write means for the document.
    enum Advice: Equatable {
        case written(RevisionID)
        /// One of several orders may be refused: write them one by one.
        case split
        /// Read it again, and write it if that is still needed.
        case again
        /// The orders of the write can't be carried out.
        case failed(reason: String)
        /// Other clients write it constantly: postpone it.
        case postponed
    }

    /// - Parameter orders: How many orders the write was for.
    mutating func record(_ outcome: BulkOutcome, orders: Int, attemptLimit: Int) -> Advice {
        conflicts = outcome == .conflict ? conflicts + 1 : 0
        switch outcome {
        case .written(let revision): return .written(revision)
        case .rejected where orders > 1: return .split
        case .rejected: return .failed(reason: outcome.explanation)
        case .undecided: return .again
        case .conflict: return retry(outcome, unexplainedConflicts, attemptLimit)
        case .unmentioned, .failed:
            attempts += 1
            return retry(outcome, attempts, attemptLimit)
        }
    }

    private func retry(_ outcome: BulkOutcome, _ attempts: Int, _ limit: Int) -> Advice {
        guard attempts < limit else {
            let count = attempts.counted("attempt")
            return .failed(reason: "not accepted in \(count); last result: \(outcome.explanation)")
        }
        return conflicts >= AttemptLimits.conflicts && unexplainedConflicts == 0 ? .postponed : .again
    }
}

extension DocumentLookup {
    /// The revision of a document that was found; nil otherwise.
    var revision: RevisionID? { if case .found(let revision, _) = self { revision } else { nil } }

    /// The revision of the document, if it has this content.
    func revision(of content: ContentFingerprint) -> RevisionID? {
        guard case .found(let revision, let found) = self else { return nil }
        return ContentFingerprint(found.root) == content ? revision : nil
    }
}
