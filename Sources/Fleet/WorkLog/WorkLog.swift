/// One member's access to the log that a fleet shares: waiting changes, leases, and positions.
///
/// Every call is one transaction. Only the engine's clock determines when a lease expires. Calls of several tasks may
/// overlap; for one claim or term, one call at a time. An abandoned call may still be carried out later: tokens,
/// versions and places prevent it from changing anything that was read meanwhile.
///
/// When the engine loses its last commits or is replaced, its incarnation changes: all leases become void, and no new
/// lease is granted for the duration of one. So a member that still relies on an old lease has stopped before another
/// member begins.
///
/// - Throws: ``WorkLogError``. Reads throw no `.unknownCommit`.
package protocol WorkLog: Sendable {
    /// The identity of this member. Different for every start of the process.
    var owner: String { get }
    /// How many partitions the log has. Fixed when it was created.
    var partitions: Int { get }
    /// How long a lease lasts. The same for all members.
    var leaseTime: Duration { get }

    /// The engine's incarnation. Changes when acknowledged commits may have been lost.
    func incarnation() async throws(WorkLogError) -> String

    // MARK: Members and leases

    /// Renews this member and all its leases.
    func renew() async throws(WorkLogError) -> Renewal
    /// Takes partitions that are free, expired, or this member's own, under new tokens.
    ///
    /// - Parameters:
    ///   - partitions: The wanted partitions, the preferred ones first.
    ///   - limit: The maximum number of partitions to take.
    func claim(_ partitions: [Int], atMost limit: Int) async throws(WorkLogError) -> [Claim]
    /// Reads the state of a partition again, for example after `.unknownCommit`.
    ///
    /// - Throws: `.fenced` if the lease is void.
    func refresh(_ claim: Claim) async throws(WorkLogError) -> Claim
    /// Releases a lease. Does nothing if it is void.
    func release(_ lease: Lease) async throws(WorkLogError)
    /// Ends the membership and releases all leases.
    func leave() async throws(WorkLogError)

    // MARK: The leader

    /// Takes the lease of the feed if it is free, expired, or this member's own. Nil: another member has it.
    func lead() async throws(WorkLogError) -> Term?
    /// Stores changes together with the sequence up to which the feed was read. Of several changes of one document,
    /// earlier ones may be missing.
    ///
    /// - Parameter sequence: Every change up to it is in `entries` or in the log. Nil: the feed was not read further.
    /// - Returns: The term with the new end of the log.
    /// - Throws: `.fenced` if the lease is void or the log does not end at `term.n`.
    func append(
        _ entries: [FeedEntry], upTo sequence: String?, _ term: Term
    ) async throws(WorkLogError) -> Term
    /// Releases the feed, so that another member can lead at once. Does nothing if the lease is void.
    func resign(_ term: Term) async throws(WorkLogError)
    /// The position up to which every change is answered. Nil: not known yet.
    func answered() async throws(WorkLogError) -> AnsweredPosition?
    /// Whether no change up to this place is left in the log, and no parked change only has to be counted.
    func hasPassed(_ n: Int64) async throws(WorkLogError) -> Bool

    // MARK: Workers

    /// Waits until there is work in one of these partitions, at most for `time`.
    ///
    /// - Returns: The partitions with work; empty if the time passed.
    func pendingWork(_ readPositions: [ReadPosition], within time: Duration) async throws(WorkLogError) -> [PendingWork]
    /// The changes of a partition after `n`, in order. Their attempts in isolation do not include those of current
    /// members.
    func next(_ claim: Claim, after n: Int64, limit: Int) async throws(WorkLogError) -> [LoggedChange]
    /// The parked changes of a partition that are due, the oldest first. Their attempts in isolation do not include
    /// those of current members.
    func due(_ claim: Claim, limit: Int) async throws(WorkLogError) -> [LoggedChange]
    /// Stores the results of changes, and deletes the changes up to the new position.
    ///
    /// - Returns: The claim with the new position and version.
    /// - Throws: `.fenced` if the lease is void or another commit came between.
    func commit(_ claim: Claim, _ outcome: PartitionOutcome) async throws(WorkLogError) -> Claim

    /// Facts for status and metrics. Reads every partition: about 100 ms for a million changes.
    func backlog() async throws(WorkLogError) -> Backlog
}

extension WorkLog {
    package func resign(_ term: Term) async throws(WorkLogError) { try await release(term.lease) }
}
