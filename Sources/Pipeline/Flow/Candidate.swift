internal import DocumentFlow
internal import GatewayClient
internal import Rules

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
    /// The body, as the gateway sent it. Empty: it must be read first.
    var document: [UInt8]
    private var mustBeRead = false
    /// Whether ``document`` was read by its id.
    private var wasRead = false
    /// Whether it was put off because its programs are slow: it is decided without others.
    var isSlow = false
    /// Whether it was postponed before.
    var hasWaited = false
    /// How many writes were tried, whatever became of them.
    var attempts = 0
    /// Consecutive writes that conflicted.
    private(set) var conflicts = 0
    /// Writes on which the gateway failed.
    var failures = 0
    /// Writes that conflicted although no revision other than ``revision`` was found.
    var unexplainedConflicts = 0
    /// The names of the rules that fired, after a decision.
    var rules: [String] = []
    /// Rules that failed and were skipped. Their dead letters are saved once the effects of the other rules are
    /// written.
    var skippedRules: [SkippedRule] = []
    /// How many of their dead letters are counted already.
    var countedSkips = 0
    /// Whether the rules that fired are counted already: a second decision is not.
    var isCounted = false
    /// Whether it is among the documents that matched.
    var isMatched = false
    /// Whether its write is a deletion.
    var isDeletion = false
    /// The highest number of any dead letter when the document was read. Its decision does not resolve dead letters with
    /// higher numbers: they may be about newer content.
    var highestDeadLetterNumber = Int.max
    /// Consecutive decisions whose document changed before the other documents were written.
    var outdatedDecisions = 0
    /// The content that led to its write; nil if nobody counts how often it does.
    var content: ContentFingerprint?
    /// The writes to which earlier decisions led, as they were before its last decision.
    var earlierWrites = EarlierWrites()
    /// The rules whose `put` led to it, if that is known without asking the ledger.
    var chain: RuleChain?
    /// Whether a timer was due for it: then this bot's own revisions are decided, too.
    private(set) var isOfTimer = false
    /// The times of its rules with `at:` before its last decision; nil if they were not asked for.
    var earlierTimes: [RuleTime]?
    /// The same after it; nil if there was none.
    var times: [RuleTime]?
    /// The rules whose receivers' answers are in its write; nil if there are none. Then its revision is a change that
    /// rules must see.
    var cause: RuleChain?
    /// The rules that led to the revision that its write replaces; nil if nobody asks for them. Its own revision has
    /// the same chain.
    var kept: RuleChain?
    /// Only the rules that count are asked about it: it has not changed. A change of it that is merged in is decided by
    /// all rules.
    var countsOnly = false
    /// For how many documents of a pass that counts it stands.
    var passCandidates = 0
    /// If it must be counted again: the entries of the ledger up to this number are done with it.
    var recount: Int?
    /// What its last decision says about counts; nil: nothing.
    var contributed: Counts.Contributed?
    /// The leaf revisions that the newest row of the feed names, the winner first; nil: unknown.
    var leaves: [RevisionID]?
    /// Its leaves, if there are several; nil if there are not, or if they have not been read yet.
    var conflict: Conflict?
    /// The rule that could not resolve its conflict and was skipped: the other rules see the leaf that wins.
    var unresolved: SkippedRule?
    /// Dead letters to drop once it is written or needs no change; replaced if it is dead-lettered again.
    var deadLetters: [Int] = []
    /// Called when this run has nothing more to do with it.
    var whenEnded: [@Sendable (End) -> Void] = []
    /// Whether it comes from a log, which keeps it while it waits for something.
    private(set) var isOfLog = false

    /// When its oldest change was read.
    private(set) var arrivedAt = ContinuousClock.now

    /// Bytes of the document as it was read, or as it is expected to be.
    private(set) var byteCount: Int

    /// Its share of the memory budget, in bytes, until it is settled. Nothing before its document is read.
    private(set) var cost: Int

    /// A document is in memory as it was read, as the rules see it (without `_cv`), and as it is written.
    static let copies = 3

    /// What became of a candidate.
    enum End: Sendable {
        /// Every effect is on disk, or a dead letter is.
        case finished
        /// The run stops before.
        case givenUp
        /// It is to be decided again then, as the document is then.
        case postponed(until: ContinuousClock.Instant)
    }

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
        cost = Self.copies * document.count
    }

    /// The size that a document of unknown size is expected to have.
    static let usualBytes = 4096

    /// - Parameter id: Of a document for which a timer is due.
    init(ofTimer id: DocumentID) {
        self.init(id: id, revision: nil, document: [], expectedBytes: Self.usualBytes)
        isOfTimer = true
    }

    /// Whether the document must be read first: the feed did not bring it, or it may have changed since.
    var isUnread: Bool { mustBeRead || document.isEmpty }

    /// Whether it is unknown if ``document`` expires: the feed or a list brought it.
    var lacksExpiry: Bool { !wasRead && !isDeleted && !countsOnly }

    /// Whether the feed brought it, here or to another member of the fleet.
    var isOfFeed: Bool { !tickets.isEmpty || !whenEnded.isEmpty }

    /// Whether it has just had another ten conflicts in a row.
    var isContested: Bool { conflicts > 0 && conflicts.isMultiple(of: AttemptLimits.conflicts) }

    /// Counts a write and its outcome.
    mutating func note(_ outcome: BulkOutcome) {
        attempts += 1
        conflicts = outcome == .conflict ? conflicts + 1 : 0
        if case .failed = outcome { failures += 1 }
    }

    /// The same candidate as one that a log keeps while it waits.
    ///
    /// - Parameter end: Called once.
    func ofLog(_ end: @escaping @Sendable (End) -> Void) -> Candidate {
        var candidate = self
        candidate.isOfLog = true
        candidate.whenEnded = [end]
        return candidate
    }

    func tell(_ end: End) {
        for tell in whenEnded { tell(end) }
    }

    /// Whether a retry was asked for: then this bot's own revisions are decided, too.
    var isRetried: Bool { !deadLetters.isEmpty }

    /// Whether it may have other leaf revisions. Where the feed does not say, only a retry asks: all other candidates have
    /// a row of their own.
    var mayBeInConflict: Bool {
        guard !isDeleted, !countsOnly, conflict == nil else { return false }
        return leaves.map { $0.count > 1 } ?? isRetried
    }

    /// Merges this candidate into a newer change of the same document.
    ///
    /// If one of them must be read first, so must the result: it is not known which content is newer.
    func merged(into newer: Candidate) -> Candidate {
        // A timer or a count says nothing new about the document, and the tombstone is a change of its own.
        if isDeleted, newer.isOfTimer || newer.countsOnly {
            var merged = self
            merged.absorb(newer)
            return merged
        }
        var merged = newer
        if isUnread, !newer.isDeleted { merged.dropContent() }
        merged.absorb(self)
        return merged
    }

    /// Adds the tickets and dead letters of another change of the same document. Its content is dropped.
    mutating func absorb(_ other: Candidate) {
        tickets += other.tickets
        whenEnded += other.whenEnded
        arrivedAt = min(arrivedAt, other.arrivedAt)
        deadLetters += other.deadLetters
        isCounted = isCounted || other.isCounted
        isMatched = isMatched || other.isMatched
        isOfTimer = isOfTimer || other.isOfTimer
        hasWaited = hasWaited || other.hasWaited
        isOfLog = isOfLog && other.isOfLog
        countsOnly = countsOnly && other.countsOnly
        passCandidates += other.passCandidates
        leaves = leaves ?? other.leaves
        if let other = other.recount { recount = max(recount ?? other, other) }
        sequence = sequence ?? other.sequence
    }

    /// Drops the content: it is read again before it is decided.
    mutating func dropContent() {
        mustBeRead = true
        wasRead = false
        if !isDeleted { document = [] }
    }

    /// Sets the document as it is now. ``cost`` becomes that of the document.
    mutating func setContent(_ revision: RevisionID, _ document: [UInt8], isDeleted: Bool = false) {
        self.revision = revision
        self.document = document
        self.isDeleted = isDeleted
        byteCount = document.count
        cost = Self.copies * byteCount
        mustBeRead = false
        wasRead = true
        conflict = nil
        chain = nil
        cause = nil
        kept = nil
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

    func deadLetter(_ failure: PlanFailure) -> DeadLetter { deadLetter(rule: failure.rule, reason: failure.reason) }

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
