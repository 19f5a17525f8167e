package import GatewayClient

/// A document that a rule may fire on, on its way from where it was read to its last answer.
package struct Candidate: Sendable {
    /// Holds the safe sequence back. Nil if it did not come from a feed, as the next.
    package let ticket: SafeSequenceTracker.Ticket?
    package let sequence: SequenceID?
    package let id: DocumentID
    /// Of the document below: the change's, or what was read again after a conflict.
    package var revision: RevisionID?
    package var isDeleted: Bool
    /// The body's own bytes.
    package var document: [UInt8]
    /// Writes that were tried.
    package var attempts = 0
    /// The rule that fired last, once there was a decision.
    var rule: String?
    /// The letters that are done with once it is written, or found to need nothing; replaced if it is set aside again.
    package var letters: [Int] = []

    /// Of the document as it came.
    package let byteCount: Int

    /// What it takes of the memory budget, from the feed to the end: as it was read, as the rules see it (without `_cv`),
    /// and as it is written.
    var cost: Int { 3 * byteCount }

    package init(
        ticket: SafeSequenceTracker.Ticket? = nil, sequence: SequenceID? = nil, id: DocumentID,
        revision: RevisionID?, isDeleted: Bool = false, document: [UInt8]
    ) {
        self.ticket = ticket
        self.sequence = sequence
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.document = document
        byteCount = document.count
    }

    /// Whether the document is yet to be read: the feed did not bring it.
    var isUnread: Bool { document.isEmpty && !isDeleted }

    func deadLetter(rule: String? = nil, reason: String) -> DeadLetter {
        var letter = DeadLetter(
            sequence: sequence, id: id, revision: revision, rule: rule ?? self.rule, reason: reason, attempts: attempts)
        letter.replaced = letters
        return letter
    }
}
