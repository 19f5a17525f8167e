internal import Locking

/// Errors that a simulation puts into the delivery, to show that its checks find them. Each has the effect of one that
/// the delivery once had, or could have.
///
/// In debug builds only, and only in a process that sets ``active``.
package enum InjectedFault: String, CaseIterable, Sendable {
    /// The other documents of a decision are not written, and the changed document is.
    case skippedPut = "skipped-put"
    /// Emitted lines are not written.
    case skippedLine = "skipped-line"
    /// Each attempt gives an emitted line another id.
    case newLineID = "new-line-id"
    /// Related documents are not changed.
    case skippedRelated = "skipped-related"
    /// A pass over all documents reads none.
    case skippedPass = "skipped-pass"
    /// A pass over all documents is recorded as done when it begins.
    case earlyPassEnd = "early-pass-end"
    /// A timer of an own revision is never decided, and stays due.
    case ignoredTimer = "ignored-timer"
    /// A write that the gateway could not carry out counts as unnecessary.
    case forgottenFailure = "forgotten-failure"
    /// A decision about an outdated revision writes other documents.
    case outdatedPut = "outdated-put"
    /// A write whose answer was lost counts as done.
    case lostAnswer = "forgotten-write"
    /// The delivery does not recognise its own revisions.
    case foreignOwnWrite = "foreign-own-write"
    /// What a decision adds to totals is not recorded with it.
    case uncountedDecision = "uncounted-decision"
    /// After a conflict, a document is decided again without reading it.
    case unreadRetry = "unread-retry"
    /// A run that stops saves the sequence that it has read as its checkpoint.
    case passingStop = "passing-stop"
    /// A run that has lost its state begins at the newest sequence.
    case skippedStart = "skipped-start"

    /// When changes of a document are merged, the older one is never finished.
    case unclosedTicket = "unclosed-ticket"
    /// A deletion that waits is merged into a change whose document is read.
    case mergedTombstone = "merged-tombstone"
    /// A write that the gateway has refused counts as unnecessary.
    case acceptedRefusal = "accepted-refusal"
    /// Dead letters are not removed when the rules are applied to newer content.
    case keptDeadLetter = "kept-dead-letter"
    /// Writes that an app always undoes are repeated without an end.
    case endlessAnswer = "endless-answer"

    // Faults that the simulation found, and that are mended.
    /// A run that skips changes, because it starts at the copy of a checkpoint, does not count all documents again.
    case uncountedStart = "uncounted-start"
    /// The total of an own revision that wins again is not corrected.
    case uncountedOwnWrite = "uncounted-own-write"
    /// Rules apply to an own revision of a document in conflict.
    case foreignLeaf = "foreign-leaf"
    /// A conflict is resolved by the rule for a revision that no longer wins.
    case outdatedWinner = "outdated-winner"
    /// A conflict is resolved with leaves that the document no longer has.
    case outdatedLeaves = "outdated-leaves"
    /// A change that arrives while or after its document is read is decided, although what was read may be newer.
    case outdatedWaiting = "outdated-waiting"
    /// A timer that was cancelled while its document waited makes rules apply to an own revision.
    case cancelledTimer = "cancelled-timer"
    /// A timer of a document in conflict removes the dead letter about the conflict.
    case uncheckedConflict = "unchecked-conflict"
    /// A change that waited does not take over the leaves of a newer one.
    case forgottenLeaves = "forgotten-leaves"

    /// Dead letters are not recorded.
    case vanishedDeadLetter = "vanished-dead-letter"
    /// A change that waits for an earlier one of its document is dropped.
    case droppedChange = "dropped-change"
    /// A change is finished when it is read.
    case passingCheckpoint = "passing-checkpoint"
    /// Room in the memory budget is not returned.
    case leakedMemory = "leaked-memory"
    /// Documents from the log of a fleet take no room in the memory budget.
    case unbookedLog = "unbooked-log"
    /// What documents add to totals is not recorded if other members of a fleet count, too.
    case totalsWithoutEngine = "totals-without-engine"

    #if DEBUG
        private static let current = Locked<InjectedFault?>(nil)

        /// Nil: none.
        package static var active: InjectedFault? {
            get { current.withLock(\.self) }
            set { current.withLock { $0 = newValue } }
        }
    #endif

    package var isActive: Bool {
        #if DEBUG
            Self.active == self
        #else
            false
        #endif
    }
}
