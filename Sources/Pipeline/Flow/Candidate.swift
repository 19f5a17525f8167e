internal import DocumentFlow
internal import GatewayClient

/// A document on which a rule may fire, from reading it to its last outcome.
///
/// It may stand for several changes of one document: changes that arrive while an earlier one is in progress are
/// merged, and the newest content is decided.
struct Candidate: Sendable {
    /// Hold the safe sequence back, one per change of the feed. Empty if it is not from a feed.
    private(set) var tickets: [SafeSequenceTracker.Ticket]
    /// The sequence of its newest change; nil if it is not from a feed.
    private(set) var sequence: SequenceID?
    /// Candidates with the same id are merged.
    let id: DocumentID
    /// The revision of ``document``: from the change, or from reading it again.
    var revision: RevisionID?
    /// Whether ``document`` is a tombstone.
    var isDeleted: Bool
    /// The body, as the gateway sent it, without `_cv`. Empty: it must be read first.
    var document: [UInt8]
    private var mustBeRead = false
    /// How many writes were tried, whatever became of them.
    var attempts = 0
    /// Consecutive writes that conflicted.
    private(set) var conflicts = 0
    /// Writes on which the gateway failed.
    var failures = 0
    /// Writes refused as conflicts although no revision other than ``revision`` was found.
    var refusals = 0
    /// The names of the rules that fired, after a decision.
    var rules: [String] = []
    /// Rules that failed and were skipped. Their dead letters are saved once the effects of the other rules are
    /// written.
    var skippedRules: [SkippedRule] = []
    /// How many of their dead letters are counted already.
    var countedSkips = 0
    /// Whether it is counted already: a second decision is not.
    var isCounted = false
    /// Whether its write is a deletion.
    var isDeletion = false
    /// The highest number of any dead letter when the document was read. Its decision does not resolve dead letters with
    /// higher numbers: they may be about newer content.
    var newestDeadLetter = Int.max
    /// Consecutive decisions whose document changed before the other documents were written.
    var outdatedDecisions = 0
    /// The content that led to its write.
    var content: ContentFingerprint?
    /// The rules whose `put` led to it, if that is known without asking the ledger.
    var chain: RuleChain?
    /// Dead letters to drop once it is written or needs no change; replaced if it is dead-lettered again.
    var deadLetters: [Int] = []

    /// When its oldest change was read.
    private(set) var arrivedAt = ContinuousClock.now

    /// Bytes of the document as it arrived, or as it is expected to be.
    let byteCount: Int

    /// Its share of the memory budget, in bytes, until it is settled: the document as it was read, as the rules see it
    /// (without `_cv`), and as it is written.
    private(set) var cost: Int

    /// A rule that failed for this document and was skipped (`on_error: skip`).
    struct SkippedRule: Sendable {
        let rule: String
        let reason: String
    }

    /// - Parameter expectedBytes: The size of a document that is still to be read, as far as it is known.
    init(
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

    /// Whether the document must be read first: the feed did not bring it, or it may have changed since.
    var isUnread: Bool { mustBeRead || document.isEmpty && !isDeleted }

    /// Whether it has just had another ten conflicts in a row.
    var isContested: Bool { conflicts > 0 && conflicts.isMultiple(of: AttemptLimits.conflicts) }

    /// Counts a write and its outcome.
    mutating func note(_ outcome: BulkOutcome) {
        attempts += 1
        conflicts = outcome == .conflict ? conflicts + 1 : 0
        if case .failed = outcome { failures += 1 }
    }

    /// Whether a retry was asked for: then this bot's own revisions are decided, too.
    var isRetried: Bool { !deadLetters.isEmpty }

    /// Merges this candidate into a newer change of the same document.
    ///
    /// If one of them must be read first, so must the result: it is not known which content is newer.
    func merged(into newer: Candidate) -> Candidate {
        var merged = newer
        if isUnread, !newer.isDeleted { merged.dropContent() }
        merged.absorb(self)
        return merged
    }

    /// Adds the tickets and dead letters of another change of the same document. Its content is dropped.
    mutating func absorb(_ other: Candidate) {
        tickets += other.tickets
        arrivedAt = min(arrivedAt, other.arrivedAt)
        deadLetters += other.deadLetters
        isCounted = isCounted || other.isCounted
        sequence = sequence ?? other.sequence
    }

    /// Drops the content: it is read again before it is decided.
    mutating func dropContent() {
        mustBeRead = true
        if !isDeleted { document = [] }
    }

    /// Sets the document as it is now.
    mutating func setContent(_ revision: RevisionID, _ document: [UInt8], isDeleted: Bool = false) {
        self.revision = revision
        self.document = document
        self.isDeleted = isDeleted
        mustBeRead = false
        chain = nil
    }

    /// - Returns: The bytes of the memory budget that it no longer holds.
    mutating func releaseBudget() -> Int {
        defer { cost = 0 }
        return cost
    }

    func deadLetter(rule: String? = nil, reason: String) -> DeadLetter {
        var deadLetter = DeadLetter(
            sequence: sequence, id: id, revision: revision, rule: rule ?? rules.last, reason: reason,
            attempts: attempts)
        deadLetter.replaced = deadLetters
        return deadLetter
    }

    /// One dead letter per skipped rule.
    var deadLettersOfSkippedRules: [DeadLetter] {
        skippedRules.map { skipped in
            var deadLetter = deadLetter(rule: skipped.rule, reason: skipped.reason)
            deadLetter.replaced = []
            deadLetter.isOfRuleAlone = true
            return deadLetter
        }
    }
}
