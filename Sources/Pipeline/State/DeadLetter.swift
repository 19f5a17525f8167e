package import GatewayClient

/// A change that was dead-lettered, so that the feed could go on.
package struct DeadLetter: Sendable, Equatable {
    package var sequence: SequenceID?
    package var id: DocumentID
    package var revision: RevisionID?
    /// The rule that failed; nil if none did (the gateway refused the write, the body was not JSON).
    package var rule: String?
    package var reason: String
    /// How often a write was tried.
    package var attempts: Int
    /// The letters that this one takes the place of: those of a document that was tried again.
    package var replaced: [Int] = []
    /// Whether only the rule failed, and the effects of the others were written (`on_error: skip`). There is one such
    /// letter of each document and rule.
    package var isOfRuleAlone = false
    /// What the state adds; nil until it has the letter.
    package var filing: Filing?

    /// What is known of a letter that lies in the state.
    package struct Filing: Sendable, Equatable {
        /// Stays the same as long as the letter is there, and is not given again.
        package let number: Int
        /// UTC (RFC 3339).
        package let deadLetteredAt: String
        /// The rules that were in force; empty if that is not known.
        package let ruleSetHash: String
    }

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
