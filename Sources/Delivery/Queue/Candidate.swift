internal import BotState
internal import DocumentFlow
package import GatewayClient

/// A document to decide, from its arrival to its end.
///
/// It may represent several changes of one document: changes that arrive while an earlier one is in progress are
/// merged, and the newest content is decided.
package struct Candidate: Sendable {
    /// Candidates with the same id are merged.
    package let id: DocumentID
    package var reason: Reason
    private(set) var acknowledgements: Acknowledgements
    var content: Content
    package var history = History()

    package init(
        _ id: DocumentID, _ content: Content, reason: Reason = Reason(),
        acknowledgements: Acknowledgements = Acknowledgements()
    ) {
        self.id = id
        self.content = content
        self.reason = reason
        self.acknowledgements = acknowledgements
    }

    /// A document that must be read.
    ///
    /// - Parameter expectedBytes: Its size, if known.
    package init(unread id: DocumentID, expectedBytes: Int = 0, reason: Reason = Reason()) {
        self.init(id, Content(nil, expectedBytes: expectedBytes), reason: reason)
    }

    /// - Parameter id: The document whose timer is due.
    package init(ofTimer id: DocumentID) {
        self.init(unread: id, expectedBytes: Content.usualBytes, reason: Reason(isTimer: true))
    }

    /// This candidate, kept by a log while it waits.
    ///
    /// - Parameter onEnd: Called once.
    package func ofLog(_ onEnd: @escaping @Sendable (Acknowledgements.Outcome) -> Void) -> Candidate {
        var candidate = self
        candidate.acknowledgements = Acknowledgements(ofLog: onEnd)
        return candidate
    }

    /// This candidate, enqueued by a background task.
    ///
    /// - Parameter onSettled: Called each time it is postponed, and when it is over.
    package func observed(_ onSettled: @escaping @Sendable (Acknowledgements.Outcome) -> Void) -> Candidate {
        var candidate = self
        candidate.acknowledgements.add(onSettled)
        return candidate
    }

    /// Whether it may have other leaf revisions. If the feed does not tell, only retried documents are checked, and those
    /// with dead letters, which may be about a conflict: all others have their own row in the feed.
    func mayBeInConflict(hasDeadLetters: @autoclosure () -> Bool) -> Bool {
        guard !content.isDeleted, !reason.countsOnly, content.conflict == nil else { return false }
        return reason.leaves.map { $0.count > 1 } ?? (reason.isRetry || hasDeadLetters())
    }

    /// The leaf revisions that the feed named. Nil if they must be requested: the document was read again, and another
    /// leaf wins now. The former winner may have been deleted, and the server may still have its body, so an outdated
    /// list could let a policy delete the only leaf that is left.
    var knownLeaves: [RevisionID]? {
        guard let leaves = reason.leaves, leaves.first == content.revision || InjectedFault.outdatedLeaves.isActive
        else { return nil }
        return leaves
    }

    // MARK: - Merging

    /// Merges this candidate into a newer change of the same document.
    ///
    /// If either must be read first, so must the result: it is unknown which content is newer.
    func merged(into newer: Candidate) -> Candidate {
        // A timer or a count brings no new content, and the tombstone is a separate change.
        if content.isDeleted, newer.reason.isTimer || newer.reason.countsOnly {
            var merged = self
            merged.merge(newer)
            return merged
        }
        var merged = newer
        if content.isUnread, !newer.content.isDeleted { merged.content.drop() }
        merged.merge(self)
        return merged
    }

    /// Adds another change of the same document. Its content is dropped.
    mutating func merge(_ other: Candidate) {
        reason.merge(other.reason)
        acknowledgements.merge(other.acknowledgements)
        history.merge(other.history)
    }

    // MARK: - Dead letters

    /// - Parameter rule: The rule that failed; nil: ``History/lastRule``.
    func deadLetter(rule: String? = nil, reason why: String) -> DeadLetter {
        var deadLetter = DeadLetter(
            sequence: reason.sequence, id: id, revision: content.revision, rule: rule ?? history.lastRule, reason: why,
            attempts: history.attempts)
        deadLetter.replaced = reason.deadLetters
        return deadLetter
    }

    /// The dead letter of a rule that was skipped.
    func deadLetter(_ skipped: SkippedRule) -> DeadLetter {
        var deadLetter = deadLetter(rule: skipped.rule, reason: skipped.reason)
        deadLetter.replaced = []
        deadLetter.concernsOnlyRule = true
        return deadLetter
    }
}
