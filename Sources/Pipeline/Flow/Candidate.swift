package import DocumentFlow
package import GatewayClient

/// A document that a rule may fire on, on its way from where it was read to its last answer.
///
/// It may stand for several changes of one document: those that came while an earlier one was being worked on are
/// merged, and the newest content is decided.
package struct Candidate: Sendable {
    /// Hold the safe sequence back, one for each change of the feed. Empty if it did not come from a feed.
    package private(set) var tickets: [SafeSequenceTracker.Ticket]
    /// Of the newest of its changes.
    package private(set) var sequence: SequenceID?
    package let id: DocumentID
    /// Of the document below: the change's, or what was read again.
    package var revision: RevisionID?
    package var isDeleted: Bool
    /// The body's own bytes. Empty: it must be read first.
    package var document: [UInt8]
    private var mustBeRead = false
    /// Writes that were tried.
    package var attempts = 0
    /// Writes of the revision above that were refused as conflicts although no other revision was found.
    var refusals = 0
    /// The names of the rules that fired, once there was a decision.
    var rules: [String] = []
    /// Rules that failed and were skipped. Their letters are kept once the effects of the others are written.
    var skippedRules: [SkippedRule] = []
    /// How many of their letters are counted.
    var countedSkips = 0
    /// Whether the counters know of it: a second decision is not counted.
    var isCounted = false
    /// Whether its write is a deletion.
    var isDeletion = false
    /// The newest dead letter of all when it was decided.
    var newestLetter = Int.max
    /// Decisions in a row whose document had changed before the other documents were written.
    var moves = 0
    /// What the content was that led to its write.
    var content: ContentFingerprint?
    /// The rules whose `put` led to it, where that is known without asking the ledger.
    var chain: RuleChain?
    /// The letters that are done with once it is written, or found to need nothing; replaced if it is dead-lettered again.
    package var letters: [Int] = []

    /// Of the document as it came, or is expected to.
    package let byteCount: Int

    /// Bytes of the memory budget that it holds, from the feed to the end: as it was read, as the rules see it (without
    /// `_cv`), and as it is written.
    private(set) var cost: Int

    /// A rule that failed for this document and was skipped (`on_error: skip`).
    struct SkippedRule: Sendable {
        let rule: String
        let reason: String
    }

    /// - Parameter expectedBytes: Of a document that is still to be read, as far as they are known.
    package init(
        ticket: SafeSequenceTracker.Ticket? = nil, sequence: SequenceID? = nil, id: DocumentID,
        revision: RevisionID?, isDeleted: Bool = false, document: [UInt8], expectedBytes: Int = 0
    ) {
        tickets = ticket.map { [$0] } ?? []
        self.sequence = sequence
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.document = document
        byteCount = max(document.count, expectedBytes)
        cost = 3 * byteCount
    }

    /// Whether the document is yet to be read: the feed did not bring it, or it may have changed since.
    var isUnread: Bool { mustBeRead || document.isEmpty && !isDeleted }

    /// Whether someone asked for another decision: then a revision of this bot's own is decided, too.
    var isRetried: Bool { !letters.isEmpty }

    /// The newer change of the same document takes over what this one stands for.
    ///
    /// If one of them must be read first, so must the result: nobody knows which content is newer.
    func merged(into newer: Candidate) -> Candidate {
        var merged = newer
        if isUnread, !newer.isDeleted { merged.letGoOfContent() }
        merged.absorb(self)
        return merged
    }

    /// Takes over what an other change of the same document stands for. Its content does not count any more.
    mutating func absorb(_ other: Candidate) {
        tickets += other.tickets
        letters += other.letters
        isCounted = isCounted || other.isCounted
        sequence = sequence ?? other.sequence
    }

    /// The content that it has does not count any more: it is read before it is decided.
    mutating func letGoOfContent() {
        mustBeRead = true
        if !isDeleted { document = [] }
    }

    /// Takes the document as it is now.
    mutating func take(_ revision: RevisionID, _ document: [UInt8], isDeleted: Bool = false) {
        self.revision = revision
        self.document = document
        self.isDeleted = isDeleted
        mustBeRead = false
        chain = nil
    }

    /// - Returns: The bytes of the memory budget that it does not hold any longer.
    mutating func giveUpBudget() -> Int {
        defer { cost = 0 }
        return cost
    }

    func deadLetter(rule: String? = nil, reason: String) -> DeadLetter {
        var letter = DeadLetter(
            sequence: sequence, id: id, revision: revision, rule: rule ?? rules.last, reason: reason,
            attempts: attempts)
        letter.replaced = letters
        return letter
    }

    /// One letter for each rule that was skipped.
    var lettersOfSkippedRules: [DeadLetter] {
        skippedRules.map { skipped in
            var letter = deadLetter(rule: skipped.rule, reason: skipped.reason)
            letter.replaced = []
            letter.isOfRuleAlone = true
            return letter
        }
    }
}
