/// One member's access to the log that a fleet shares: the changes that wait, who works on them, and how far all is.
///
/// Every call is one transaction. Leases run by the engine's clock alone. Calls of several tasks may overlap; for one
/// claim or term, one call at a time. A call that was given up may still be carried out later: tokens, versions and
/// places see to it that it then changes nothing that was read meanwhile.
///
/// When the engine loses its last commits or is replaced, its incarnation changes: all leases are void, and none is
/// granted for the time of a lease, so that a member that still trusts one has stopped before another begins.
///
/// - Throws: ``WorkLogError``. Reads throw no `.unknownCommit`.
package protocol WorkLog: Sendable {
    /// Who this member is. A new one for every start of the process.
    var owner: String { get }
    /// How many partitions the log has. Fixed when it was created.
    var partitions: Int { get }
    /// How long a lease lasts. The same for all members.
    var leaseTime: Duration { get }

    /// The state of the engine. Changes when commits that were acknowledged may be lost.
    func incarnation() async throws(WorkLogError) -> String

    // MARK: Members and leases

    /// Renews this member and all its leases.
    func renew() async throws(WorkLogError) -> Renewal
    /// Takes partitions that are free, expired, or this member's own, under new tokens.
    ///
    /// - Parameters:
    ///   - partitions: The wanted ones; the first are preferred.
    ///   - limit: How many to take at most.
    func claim(_ partitions: [Int], atMost limit: Int) async throws(WorkLogError) -> [Claim]
    /// Reads the state of a partition again, for example after `.unknownCommit`.
    ///
    /// - Throws: `.fenced` if the lease is void.
    func refresh(_ claim: Claim) async throws(WorkLogError) -> Claim
    /// Gives a lease back. If it is void, nothing happens.
    func release(_ lease: Lease) async throws(WorkLogError)
    /// Ends the membership and gives back every lease.
    func leave() async throws(WorkLogError)

    // MARK: The leader

    /// Takes the lease of the feed if it is free, expired, or this member's own. Nil: another member has it.
    func lead() async throws(WorkLogError) -> Term?
    /// Stores changes together with the sequence up to which the feed was read. One entry may be missing for every
    /// earlier change of a document that has a later one.
    ///
    /// - Parameter sequence: Every change up to it is in `entries` or in the log. Nil: the feed was not read further.
    /// - Returns: The term with the new end of the log.
    /// - Throws: `.fenced` if the lease is void or the log does not end at `term.n`.
    func append(
        _ entries: [FeedEntry], upTo sequence: String?, _ term: Term
    ) async throws(WorkLogError) -> Term
    /// Gives the feed back, so that another member can lead at once. If the lease is void, nothing happens.
    func resign(_ term: Term) async throws(WorkLogError)
    /// Up to where every change is answered. Nil: nothing is known yet.
    func answered() async throws(WorkLogError) -> Answered?
    /// Whether no change up to this place is in the log any more, and none that is only to be counted is parked.
    func hasPassed(_ n: Int64) async throws(WorkLogError) -> Bool

    // MARK: Workers

    /// Waits until something is in one of these partitions, at most for `time`.
    ///
    /// - Returns: Where something is; empty if the time passed.
    func news(_ interests: [Interest], within time: Duration) async throws(WorkLogError) -> [News]
    /// The changes of a partition after `n`, in order. Of their tries, without those of members that live.
    func next(_ claim: Claim, after n: Int64, limit: Int) async throws(WorkLogError) -> [LoggedChange]
    /// Parked changes of a partition whose time has come; the oldest first. Of their tries, without those of members that
    /// live.
    func due(_ claim: Claim, limit: Int) async throws(WorkLogError) -> [LoggedChange]
    /// Stores what happened to changes, and deletes those up to the new position.
    ///
    /// - Returns: The claim with the new position and version.
    /// - Throws: `.fenced` if the lease is void or another commit came between.
    func commit(_ claim: Claim, _ outcome: Outcome) async throws(WorkLogError) -> Claim

    /// Facts for status and metrics. Reads every partition: some 100 ms for a million changes.
    func backlog() async throws(WorkLogError) -> Backlog
}

extension WorkLog {
    package func resign(_ term: Term) async throws(WorkLogError) { try await release(term.lease) }
}
