package import GatewayClient

/// A change that could not be processed and was recorded instead, so that the feed could continue.
package struct DeadLetter: Sendable, Equatable {
    /// Its sequence in the feed; nil if the document did not come from a feed.
    package var sequence: SequenceID?
    /// Empty if the row had no id.
    package var id: DocumentID
    /// The revision that failed; nil if it is not known.
    package var revision: RevisionID?
    /// The rule that failed; nil if none did (the gateway refused the write, the body is not JSON).
    package var rule: String?
    /// The problem, for the user.
    package var reason: String
    /// How many writes were attempted, including those of the dead letters that this one replaces.
    package var attempts: Int
    /// The numbers of the dead letters that this one replaces, after a retry of the document.
    package var replaced: [Int] = []
    /// Whether only this rule failed, and the effects of the others were written (`on_error: skip`). There is at most
    /// one per document and rule.
    package var concernsOnlyRule = false
    /// Set by the ledger; nil before the dead letter is saved.
    package var ledgerRecord: LedgerRecord?

    /// What the ledger adds to a dead letter.
    package struct LedgerRecord: Sendable, Equatable {
        /// Identifies the dead letter; never reused.
        package let number: Int
        /// UTC (RFC 3339).
        package let deadLetteredAt: String
        /// The hash of the rules in force; empty if it is not known.
        package let ruleSetHash: String
    }

    /// - Parameter rule: Nil if no rule failed.
    package init(
        sequence: SequenceID?, id: DocumentID, revision: RevisionID?, rule: String? = nil, reason: String,
        attempts: Int = 0
    ) {
        self.sequence = sequence
        self.id = id
        self.revision = revision
        self.rule = rule
        self.reason = reason
        self.attempts = attempts
    }
}
